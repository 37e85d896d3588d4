"""Special functions of arrays of one format: `repmath.special`, and PyTorch's operators, are these.

Each is taken in double-double, or a series in it, with a bound (src/special); what this leaves undecided is enclosed by whole numbers until it rounds one way."""
