"""Which of PyTorch's OpInfos are tested, and a call of one under reproducible()."""

import pytest

pytest.importorskip("expecttest", reason="expecttest, which PyTorch's samples need, is not installed")
import aten_exact  # noqa: E402
import aten_rows  # noqa: E402, F401
import aten_steps  # noqa: E402, F401
import opinfo_names as names  # noqa: E402
from opinfo_cases import DATABASE  # noqa: E402

import repmath.torch as rt  # noqa: E402

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
TESTED = [name for name in DATABASE if name not in {*names.OUTSIDE, *names.WITHOUT_SAMPLES}]
# Those of the clamps, and of numbers on the left, are no errors of PyTorch's operators, but of its reference implementations.
REFUSING = [name for name in TESTED if DATABASE[name].error_inputs_func and not name.startswith(("clamp_", "__r"))]
CALLS, DONE = aten_exact.Calls(), set()


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """The samples are small: threads only cost time."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def in_the_block(name, refused, call, calls=CALLS):
    """What the call returns inside; None where it is refused for the known reason."""
    try:
        with calls, rt.reproducible():
            return call()
    except rt.UncoveredOperatorError as error:
        refused.append(str(error))
        assert name in names.REFUSED and names.REFUSED[name] in str(error)
        return None
