"""The fixture of the attacks, and what a failed one prints."""

import pytest
from attack import SECONDS, Attack  # noqa: E402


@pytest.fixture
def attack(request):
    sharing = sum("attack" in getattr(item, "fixturenames", ()) for item in request.session.items)
    made = Attack(SECONDS / max(1, sharing))
    yield made
    print(
        f"the last seed was {getattr(made, 'last', made.seed)}: REPMATH_FUZZ_SEED={getattr(made, 'last', made.seed)} repeats it"
    )
