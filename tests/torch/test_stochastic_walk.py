"""stochastic() over PyTorch's own samples, strictly: what runs under reproducible() runs there, and every operator that rounds floats has numbers of arrays."""

import pytest

pytest.importorskip("expecttest", reason="expecttest, which PyTorch's samples need, is not installed")

from opinfo_runs import TESTED  # noqa: E402
from stochastic_calls import SLOW, WALKED, WITHOUT, walk  # noqa: E402

from repmath.torch import _stochastic_operators  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.sample(25)
@pytest.mark.parametrize("mode", ["stochastic", "up_down"])
@pytest.mark.parametrize("name", [n for n in TESTED if not n.startswith(WITHOUT)])
def test_samples(name, mode):
    walk(name, mode, WALKED[:3] if name in SLOW else WALKED)


def test_an_operator_without_a_number_is_seen(monkeypatch):
    """The control: exp taken for one that selects by the block, not by the table."""
    monkeypatch.setattr(_stochastic_operators, "_ROUNDS", _stochastic_operators._ROUNDS - {"exp.default"})
    with pytest.raises(AssertionError, match="exp"):
        walk("exp", "stochastic", WALKED[:1])
