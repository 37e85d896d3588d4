"""Draws by rejection (specification, section 6a).

Every decision is taken by vectors of binary64 numbers where a bound on their errors allows it, and else exactly: counts by rational numbers,
gamma numbers by enclosures that widen. Values are rounded in the same way. So what vectors leave undecided changes the time and no bit."""
