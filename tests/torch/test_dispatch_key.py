"""How PyTorch's dispatcher reaches the library: by a key, which passes views, or as a mode beside other modes and tensors that handle operators."""

import asyncio
import threading

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode  # noqa: E402
from torch.utils import _python_dispatch  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

import repmath.torch as rt  # noqa: E402
from repmath import _core  # noqa: E402
from repmath.torch import _dispatch_key  # noqa: E402
from repmath.torch._aten.table import FUNCTIONS, OPERATORS  # noqa: E402

F = torch.nn.functional

# PyTorch's exp differs from the rounded value at one of these, as the control below shows.
X = torch.linspace(-20, 20, 4001)


class Seen(TorchDispatchMode):
    """The operators that a mode sees, of those that the tests are about."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.__name__ in ("view.default", "exp.default", "sin.default"):
            self.names.append(func.__name__)
        return func(*args, **(kwargs or {}))


def included():
    return torch._C._dispatch_tls_is_dispatch_key_included(_dispatch_key.KEY)


def own(t):
    """exp by the library."""
    return torch.from_numpy(_core.ufuncs["exp"](t.numpy()))


def test_control():
    assert not torch.equal(torch.exp(X), own(X))


def test_the_key_is_included_inside_alone():
    assert not included()
    with rt.reproducible():
        assert included() and torch.equal(torch.exp(X), own(X))
        with rt.reproducible():
            assert included()
        assert included()
        seen = []
        thread = threading.Thread(target=lambda: seen.append((included(), torch.equal(torch.exp(X), own(X)))))
        thread.start()
        thread.join()
        assert seen == [(False, False)]
    assert not included() and not torch.equal(torch.exp(X), own(X))


def test_what_passes_is_views_and_memory():
    """Nothing that the dispatcher passes reads elements: of each such operator all results are views of arguments, or are zeros or not set."""
    passed = [f for f, function in FUNCTIONS.items() if function is None and _dispatch_key.reads_nothing(f)]
    names = {str(f) for f in passed}
    assert {
        "aten.view.default",
        "aten.t.default",
        "aten.expand.default",
        "aten.empty_like.default",
        "aten.detach.default",
    } <= names
    for overload in passed:
        assert OPERATORS[overload].way == "moves"
        views = all(r.alias_info is not None for r in overload._schema.returns)
        assert views or any(word in str(overload) for word in ("empty", "zeros", "is_same_size", "_unsafe_view")), overload
        writes = any(a.alias_info is not None and a.alias_info.is_write for a in overload._schema.arguments)
        assert not writes or overload is torch.ops.aten.as_strided_.default, overload  # which changes the shape alone
    assert not names & {
        "aten.clone.default",
        "aten.cat.default",
        "aten.copy_.default",
        "aten.embedding.default",
        "aten.zero_.default",
    }


def test_views_do_not_reach_the_library():
    """A block counts the operators whose parameters it looks at: those that it is called for."""
    with rt.reproducible() as block:
        x, before = torch.ones(3, 4), block._looks
        assert (
            x.t().shape == (4, 3)
            and x.view(12).expand(2, 12).detach()[0].shape == (12,)
            and torch.empty(3).shape == x[:, 0].shape
        )
        assert block._looks == before
        torch.exp(x)
        assert block._looks == before - 1


def test_a_mode_that_is_entered_inside_sees_the_operators():
    with rt.reproducible():
        with Seen() as seen:
            assert not included()
            made = torch.exp(X.view(-1, 1)).view(-1)
            with Seen() as inner:
                torch.sin(X)
            assert torch.equal(torch.exp(X), own(X))
        assert torch.equal(made, own(X))
        assert seen.names == [
            "view.default",
            "exp.default",
            "view.default",
            "sin.default",
            "exp.default",
        ] and inner.names == ["sin.default"]
        assert included()  # it is left
    assert torch._C._len_torch_dispatch_stack() == 0


def test_a_mode_inside_of_a_mode_at_work():
    """While a mode handles an operator it is out of PyTorch's stack; a mode that comes and goes meanwhile must not hide it from later operators."""

    class Busy(Seen):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            with Seen():
                pass
            return super().__torch_dispatch__(func, types, args, kwargs)

    with rt.reproducible(), Busy() as busy:
        assert torch.equal(torch.exp(X), own(X)) and torch.equal(torch.exp(X), own(X))
    assert busy.names == ["exp.default"] * 2


def test_a_mode_outside():
    with Seen() as seen:
        with rt.reproducible():
            assert torch.equal(torch.exp(X), own(X))
            X.view(-1, 1)
        torch.exp(X)
    assert seen.names[-1] == "exp.default" and "view.default" in seen.names


def test_modes_are_disabled_with_the_others():
    with rt.reproducible():
        with _python_dispatch._disable_current_modes() as modes:
            assert [type(m).__name__ for m in modes] == ["_Dispatch"]
            assert not torch.equal(torch.exp(X), own(X))
        assert included() and torch.equal(torch.exp(X), own(X))
        with Seen() as seen:
            with _python_dispatch._disable_current_modes() as modes:
                assert len(modes) == 2 and not torch.equal(torch.exp(X), own(X))
            assert torch.equal(torch.exp(X), own(X))
        assert seen.names == ["exp.default"] and included()


def test_the_mode_is_found_in_the_stack():
    with rt.reproducible():
        (mode,) = _python_dispatch._get_current_dispatch_mode_stack()
        assert _python_dispatch._get_current_dispatch_mode() is mode and torch._C._len_torch_dispatch_stack() == 1
        with Seen() as seen:
            assert _python_dispatch._get_current_dispatch_mode_stack() == [mode, seen]
        assert _python_dispatch._get_current_dispatch_mode_stack() == [mode] and included()


def test_fake_tensors():
    with rt.reproducible():
        with FakeTensorMode():
            t = torch.ones(3, 4) @ torch.empty(4, 2)
            assert isinstance(t, FakeTensor) and t.shape == (3, 2)
        assert included()
        assert isinstance(t.t().contiguous() + 1, FakeTensor)  # its mode has been left
        assert included() and torch.equal(torch.exp(X), own(X))
    with FakeTensorMode(), rt.reproducible():
        assert isinstance(torch.ones(3).exp(), FakeTensor)


class Wrapped(torch.Tensor):
    """A tensor that handles its operators by those of what it holds."""

    @staticmethod
    def __new__(cls, held):
        made = torch.Tensor._make_wrapper_subclass(cls, held.shape, dtype=held.dtype)
        made.held = held
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return cls(func(*(a.held if isinstance(a, cls) else a for a in args), **(kwargs or {})))


def test_tensors_that_handle_operators():
    with rt.reproducible():
        made = torch.exp(Wrapped(X).view(-1, 1))
        assert type(made) is Wrapped and torch.equal(made.held.view(-1), own(X)) and included()


def test_errors_leave_the_key():
    with rt.reproducible():
        with pytest.raises(RuntimeError):
            torch.exp(X) @ torch.ones(3)
        with pytest.raises(rt.UncoveredOperatorError):
            torch.linalg.eigvals(torch.eye(2))
        assert not torch._C._dispatch_tls_is_dispatch_key_excluded(_dispatch_key.KEY)
        assert torch.equal(torch.exp(X), own(X))


def test_a_task_outside_of_the_block():
    """It runs in the thread that has the key, and gets PyTorch's operators, composed ones and replaced functions too."""

    async def main():
        turn, inside = asyncio.Event(), asyncio.Event()

        async def without():
            await inside.wait()
            assert included()
            made = torch.exp(X), F.softsign(X), F.cross_entropy(X.view(1, -1), torch.tensor([3]))
            turn.set()
            return made

        task = asyncio.create_task(without())
        with rt.reproducible():
            inside.set()
            await turn.wait()
            ours = torch.exp(X), F.softsign(X), F.cross_entropy(X.view(1, -1), torch.tensor([3]))
        return await task, ours

    theirs, ours = asyncio.run(main())
    want = torch.exp(X), F.softsign(X), F.cross_entropy(X.view(1, -1), torch.tensor([3]))
    assert all(map(torch.equal, theirs, want)) and torch.equal(ours[0], own(X))


def test_functions_are_as_they_were_afterwards():
    owners = (torch, ("tensor", "as_tensor", "asarray")), (torch.Tensor, ("item", "new_tensor", "__setitem__"))
    before = [getattr(o, name) for o, names in owners for name in names]
    codes = F.softsign.__code__, F.kl_div.__code__
    with rt.reproducible():
        assert torch.tensor is not before[0] and torch.Tensor.item is not before[3] and F.softsign.__code__ is not codes[0]
        assert F.kl_div(torch.ones(2, 2), torch.ones(2, 2), reduction="batchmean") == -2
    assert [getattr(o, name) for o, names in owners for name in names] == before
    assert (F.softsign.__code__, F.kl_div.__code__) == codes
    assert "item" not in vars(torch.Tensor)


def test_a_linear_map_rounds_once_in_any_layout():
    """Of an input that is not contiguous and of four axes: PyTorch would add the bias to the rounded product."""
    torch.manual_seed(3)
    w, b = torch.randn(6, 40), torch.randn(6) * 1e-3
    x = torch.randn(40, 5, 3, 7).permute(1, 2, 3, 0)
    want = rt.functional.linear(x.reshape(-1, 40), w, b).view(5, 3, 7, 6)
    with rt.reproducible():
        for input, wanted in ((x, want), (x[0], want[0]), (x[0, 0], want[0, 0]), (x.contiguous(), want)):
            assert torch.equal(F.linear(input, w, b), wanted)
        assert not torch.equal(torch.matmul(x, w.t()) + b, want)  # control
        with torch.inference_mode():
            assert torch.equal(F.linear(x, w, b), want)
