"""The fixture of the attacks, and what a failed one prints."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from attack import SECONDS, Attack  # noqa: E402


@pytest.fixture
def attack(request):
    sharing = sum("attack" in getattr(item, "fixturenames", ()) for item in request.session.items)
    made = Attack(SECONDS / max(1, sharing))
    yield made
    print(
        f"the last seed was {getattr(made, 'last', made.seed)}: REPMATH_FUZZ_SEED={getattr(made, 'last', made.seed)} repeats it"
    )
