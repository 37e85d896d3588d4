"""Libraries that are namespaces of functions of arrays: NumPy, SciPy, PyTorch, repmath, and any other that Python imports."""

import contextlib
import importlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .cases import Case, Group
from .formats import unsigned

# Other names of an operation, tried after its own. A name with a dot is in a part of the namespace.
NAMES = {
    "asin": ("arcsin",),
    "acos": ("arccos",),
    "atan": ("arctan",),
    "asinh": ("arcsinh",),
    "acosh": ("arccosh",),
    "atanh": ("arctanh",),
    "atan2": ("arctan2",),
    "pow": ("power",),
    "sigmoid": ("expit",),
    "log_sigmoid": ("log_expit", "logsigmoid"),
    "lgamma": ("gammaln",),
    "digamma": ("psi",),
    "divide": ("true_divide",),
    "dot": ("vecdot",),
    "norm": ("linalg.norm", "linalg.vector_norm"),
    "cumsum": ("cumulative_sum",),
}
RANDOM = {"words32": "bits", "words64": "bits", "integers": "randint"}


class Missing(Exception):
    """The library has no such operation in this format; the text says why, where there is something to say."""


class Namespace:
    """A module with functions of arrays, as NumPy's and those of the array API are."""

    where: tuple[str, ...] = ()  # parts that are searched too
    formats: tuple[str, ...] = ("f64", "f32", "f16", "bf16")

    def __init__(self, module: str) -> None:
        self.name = module
        self.modules = [importlib.import_module(m) for m in (module, *self.where)]

    # what others override

    def array(self, bits: np.ndarray, fmt: str) -> Any:
        x = np.array(bits, unsigned(fmt)).view(dtype(fmt))
        return self.modules[0].asarray(x) if hasattr(self.modules[0], "asarray") else x

    def bits(self, result: Any, kind: str) -> np.ndarray:
        found = np.asarray(result)
        wanted = dtype(kind)
        if found.dtype != wanted:
            raise Missing(f"it gives {found.dtype}")
        return np.ascontiguousarray(found).reshape(-1).view(unsigned(kind))

    def versions(self) -> dict[str, str]:
        first = self.name.partition(".")[0]
        found = {first: str(getattr(importlib.import_module(first), "__version__", "unknown"))}
        return {**found, "numpy": np.__version__}

    def simd(self) -> str:
        """The instruction set that the library says it uses."""
        return ""

    def own(self, operation: str) -> Callable[..., Any] | None:
        """What has another form here than its name in the namespace."""
        return None

    def block(self) -> contextlib.AbstractContextManager[Any]:
        """What the calls are made in."""
        return contextlib.nullcontext()

    # the suite's calls

    def find(self, operation: str) -> Callable[..., Any]:
        own = self.own(operation)
        if own is not None:
            return own
        for name in (operation, *NAMES.get(operation, ())):
            for module in self.modules:
                found: Any = module
                for part in name.split("."):
                    found = getattr(found, part, None)
                if callable(found):
                    return found
        raise Missing("")

    def run(self, group: Group) -> list[tuple[str, np.ndarray]]:
        """The bits of all results, under the name of what gave them."""
        if group.family == "random":
            return [(self.name, np.concatenate([self.draw(group, case) for case in group.calls]))]
        if group.format not in self.formats:
            raise Missing("no such format")
        call = self.find(group.operation)
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings(), self.block():
                warnings.simplefilter("ignore")
                if group.family in ("function", "power"):
                    x = [
                        self.array(a, k) if k != "i64" else a.view(np.int64)
                        for a, k in zip(group.arguments, group.kinds, strict=True)
                    ]
                    found = self.bits(call(*x), group.result)
                else:
                    found = np.concatenate([self.bits(call(*self.operands(group, c)), group.result) for c in group.calls])
        except (TypeError, NotImplementedError, RuntimeError) as error:  # what libraries raise for a format that they lack
            raise Missing(str(error).splitlines()[0][:100]) from error
        if found.size != group.expected.size:
            raise Missing(f"it gives {found.size} results for {group.expected.size}")
        return [(self.name, found)]

    def operands(self, group: Group, case: Case) -> list[Any]:
        x = [self.array(a, group.format) for a in case.arrays]
        if group.operation == "matmul":
            m, n, k = (case.parameters[name] for name in "mnk")
            return [x[0].reshape(m, k), x[1].reshape(k, n)]
        return x

    def draw(self, group: Group, case: Case) -> np.ndarray:
        raise Missing("no stateless generator")


def dtype(kind: str) -> np.dtype:
    if kind == "bf16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(f"{ {'f': 'f', 'u': 'u', 'i': 'i'}[kind[0]] }{int(kind[1:]) // 8}")


class NumPy(Namespace):
    formats = ("f64", "f32", "f16")  # NumPy has no bf16

    def simd(self) -> str:
        from numpy._core._multiarray_umath import __cpu_features__ as features

        return " ".join(
            name for name in ("AVX512_SPR", "AVX512_SKX", "X86_V4", "AVX2", "X86_V3", "ASIMD") if features.get(name)
        )


class SciPy(Namespace):
    where = ("scipy.special",)
    formats = ("f64", "f32")

    def find(self, operation: str) -> Callable[..., Any]:
        found = super().find(operation)
        if not isinstance(found, np.ufunc):
            raise Missing("")
        return found

    def array(self, bits: np.ndarray, fmt: str) -> Any:
        return np.array(bits, unsigned(fmt)).view(dtype(fmt))


class Repmath(Namespace):
    def versions(self) -> dict[str, str]:
        import repmath

        return {**super().versions(), "specification": str(repmath.config()["specification"])}

    def simd(self) -> str:
        import repmath

        return str(repmath.config()["isa"])

    def draw(self, group: Group, case: Case) -> np.ndarray:
        import repmath.random as r

        p = dict(case.parameters)
        n, place = p.pop("n"), {"stream": p.pop("stream"), "offset": p.pop("first", 0)}
        seed, operation = p.pop("seed"), group.operation
        if operation == "block":
            raise Missing("only in C")
        if operation == "permutation":
            return self.bits(r.permutation(seed, n, **place), "i64")
        if operation in ("words32", "words64", "uniform", "normal", "truncated_normal", "integers"):
            place["dtype"] = dtype(group.result)
        if operation == "integers":
            p = {"low": p["low"], "high": p["last"] + 1}
        found = getattr(r, RANDOM.get(operation, operation))(seed, n, **p, **place)
        return self.bits(found if operation != "bernoulli" else np.asarray(found).view(np.uint8), group.result)


class PyTorch(Namespace):
    """PyTorch's functions, those of torch.special and torch.nn.functional among them, and the derivatives that take x."""

    where = ("torch.special", "torch.nn.functional")

    def __init__(self, name: str) -> None:
        super().__init__("torch")
        self.name, self.torch = name, self.modules[0]

    def array(self, bits: np.ndarray, fmt: str) -> Any:
        if fmt == "bf16":
            return self.torch.from_numpy(np.array(bits, np.uint16).view(np.int16)).view(self.torch.bfloat16)
        return self.torch.from_numpy(np.array(bits, unsigned(fmt)).view(dtype(fmt)))

    def bits(self, result: Any, kind: str) -> np.ndarray:
        names = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16"}
        if result.dtype is not getattr(self.torch, names[kind]):
            raise Missing(f"it gives {result.dtype}")
        whole = {8: self.torch.int64, 4: self.torch.int32, 2: self.torch.int16}[result.element_size()]
        return result.contiguous().reshape(-1).view(whole).numpy().view(unsigned(kind))

    def simd(self) -> str:
        return str(self.torch.backends.cpu.get_cpu_capability())

    def own(self, operation: str) -> Callable[..., Any] | None:
        torch, aten = self.torch, self.torch.ops.aten
        return {
            "gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
            "var": lambda x: torch.var(x, correction=0),
            "std": lambda x: torch.std(x, correction=0),
            "cumsum": lambda x: torch.cumsum(x, 0),
            "silu_backward": aten.silu_backward,
            "gelu_backward": aten.gelu_backward,
            "gelu_tanh_backward": lambda g, x: aten.gelu_backward(g, x, approximate="tanh"),
            "softplus_backward": lambda g, x: aten.softplus_backward(g, x, 1, 20),
        }.get(operation)


class Reproducible(PyTorch):
    """PyTorch's functions inside of repmath.torch.reproducible()."""

    def block(self) -> contextlib.AbstractContextManager[Any]:
        return importlib.import_module("repmath.torch").reproducible()


KNOWN: dict[str, type[Namespace]] = {
    "numpy": NumPy,
    "scipy": SciPy,
    "repmath": Repmath,
    "torch": PyTorch,
    "repmath.torch": Reproducible,
}


def of(name: str) -> Namespace:
    """The library of this name, whose module is imported."""
    return KNOWN.get(name, Namespace)(name)
