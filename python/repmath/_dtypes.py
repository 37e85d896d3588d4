"""The dtypes that are supported, how they are promoted, and which conversions are exact."""

import functools
from typing import Any

import numpy as np

F16 = np.dtype(np.float16)
F32 = np.dtype(np.float32)
F64 = np.dtype(np.float64)

try:
    import ml_dtypes
except ImportError:  # bfloat16 arrays cannot exist then
    BF16 = None
    FLOAT8: dict[str, np.dtype[Any]] = {}
else:
    BF16 = np.dtype(ml_dtypes.bfloat16)
    # The two 8-bit formats of the Open Compute Project: results by table, for functions of one argument.
    FLOAT8 = {name: np.dtype(getattr(ml_dtypes, name)) for name in ("float8_e4m3fn", "float8_e5m2")}

# name -> dtype, of the formats that exist here
FORMATS = {"f16": F16, "f32": F32, "f64": F64} | ({} if BF16 is None else {"bf16": BF16})
# the other way round
NAMES = {dtype: name for name, dtype in FORMATS.items()}


def register(core: Any, dlpack: Any) -> None:
    """Completes the extension modules: adds loops for bfloat16 and the 8-bit formats, and their DLPack type codes."""
    if BF16 is not None:
        core.add_bfloat16(type(BF16))
        dlpack.add_types(ml_dtypes)
    for name, dtype in FLOAT8.items():
        core.add_float8(name, type(dtype))


def is_integer(dtype: np.dtype[Any]) -> bool:
    """Whether elements are bool or integers."""
    return dtype.kind in "bui"


def beyond_f64(a: np.ndarray[Any, Any]) -> bool:
    """Whether `a` has integers that need more than the 53 bits of float64."""
    return bool(is_integer(a.dtype) and a.dtype.itemsize == 8 and a.size and (a.max() > 2**53 or a.min() < -(2**53)))


def check_held(name: str, a: np.ndarray[Any, Any]) -> None:
    """Raise TypeError for a dtype that is not supported, ValueError for integers that float64 does not hold."""
    check(name, a.dtype)
    if beyond_f64(a):
        raise ValueError(f"{name} has integers beyond 2**53; convert them to float64, which rounds them, or scale them")


def is_float(dtype: np.dtype[Any]) -> bool:
    """Whether elements are of one of the four formats, in either byte order."""
    return dtype in NAMES or dtype.newbyteorder("=") in NAMES


def check(name: str, dtype: np.dtype[Any]) -> None:
    """Raise TypeError, naming the argument, for a type that has no exact reduction."""
    if not (is_float(dtype) or is_integer(dtype)):
        raise TypeError(
            f"{name} has dtype {dtype}; exact reductions exist for float16, bfloat16, float32, float64, integers and bool"
        )


@functools.lru_cache(256)
def common(*dtypes: np.dtype[Any]) -> np.dtype[Any]:
    """The format of a result: the smallest that holds every operand's format; float64 when all are integers."""
    floats = [d.newbyteorder("=") for d in dtypes if not is_integer(d)]
    if not floats:
        return F64
    # An integer beside floats counts as NumPy has it: int8 beside float32 is float32, int64 is float64.
    integers = [d.newbyteorder("=") for d in dtypes if is_integer(d)]
    # float16 and bfloat16 hold neither the other; float32 holds both.
    result = F32 if len({F16, BF16} & set(floats)) == 2 else floats[0]
    for d in floats + integers:
        if result == BF16 and d.kind in "bui":  # of which NumPy knows nothing
            result = F32 if d.itemsize <= 2 else F64
        else:
            result = np.result_type(result, d)
    return result if result in NAMES else F64
