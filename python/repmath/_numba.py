"""The elementwise functions in code that numba compiles: `repmath.exp(x)` of numbers and arrays. numba calls `init` by the package's
entry point before it compiles anything.

float32 gives float32; float64, integers and what they are mixed with give float64, where a literal is a float64 of numba's.
"""

import functools
from typing import Any

from . import _core
from ._config import c_function


def init() -> None:
    """Tell numba of each function."""
    import numba
    from numba.core import types
    from numba.extending import overload

    def format_of(*arguments: Any) -> str | None:
        kinds = [a.dtype if isinstance(a, types.Array) else a for a in arguments]
        if all(kind == types.float32 for kind in kinds):
            return "f32"
        known = (types.Integer, types.Boolean)
        good = all(kind in (types.float32, types.float64) or isinstance(kind, known) for kind in kinds)
        return "f64" if good else None

    @functools.cache
    def compiled(name: str, fmt: str) -> Any:
        """A function of arrays and numbers that compiled code calls."""
        one, kind = c_function(name, fmt), {"f32": "f4", "f64": "f8"}[fmt]
        bodies = {1: lambda x: one(x), 2: lambda x, y: one(x, y), 3: lambda x, y, z: one(x, y, z)}
        nin = _core.ufuncs[name].nin
        return numba.vectorize([f"{kind}({', '.join([kind] * nin)})"])(bodies[nin])

    def tell(name: str, ufunc: Any) -> None:
        def call(*arguments: Any) -> Any:
            fmt = format_of(*arguments)
            return fmt and compiled(name, fmt)

        def one(x: Any) -> Any:
            f = call(x)
            return f and (lambda x: f(x))

        def two(x: Any, y: Any) -> Any:
            f = call(x, y)
            return f and (lambda x, y: f(x, y))

        def three(x: Any, y: Any, z: Any) -> Any:
            f = call(x, y, z)
            return f and (lambda x, y, z: f(x, y, z))

        typed = {1: one, 2: two, 3: three}[ufunc.nin]
        typed.__annotations__ = {}  # numba wants the signature of what it returns
        overload(ufunc)(typed)

    for name, ufunc in _core.ufuncs.items():
        tell(name, ufunc)
