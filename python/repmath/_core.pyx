# cython: language_level=3, freethreading_compatible=True, embedsignature=True
"""The C library seen from Python: ufuncs, threads, the instruction set. Argument unpacking only."""

import os

cdef extern from "ufuncs.h":
    int rm_py_import_numpy() except -1
    dict rm_py_elementwise_ufuncs()
    dict rm_py_reduction_gufuncs()
    dict rm_py_rounded_ufuncs(int rule)
    int rm_py_promote_to_double(object ufuncs) except -1
    int rm_py_add_bfloat16(object ufuncs, object dtype_class) except -1
    int rm_py_add_float8(object ufuncs, object dtype_class, int format) except -1
    bint rm_py_same_float(object a, object b)

cdef extern from "float8.h":
    int RM_PY_E4M3FN, RM_PY_E5M2
    unsigned char rm_py_float8_round(double x, int format) nogil

cdef extern from "repmath/repmath.h":
    ctypedef int rm_status
    const char *rm_version()
    const char *rm_isa()
    rm_status rm_isa_status()
    int rm_isa_available(const char *name)
    rm_status rm_set_num_threads(int n)
    int rm_get_num_threads()
    int RM_SPEC_VERSION
    int RM_ROUND_NEAREST, RM_ROUND_TOWARD_ZERO, RM_ROUND_DOWN, RM_ROUND_UP

cdef extern from "ufuncs.h":
    const char *RM_PY_COMPILER

SPEC_VERSION = RM_SPEC_VERSION
COMPILER = RM_PY_COMPILER.decode()
# Every name that some build of the library has, best first; rm_isa_available knows which of them run here.
_ISA_NAMES = ("avx512", "avx2", "neon", "base")


def isa():
    """The name of the build in use."""
    return rm_isa().decode()


def available_isas():
    """The names of the builds that this CPU can run, best first."""
    return tuple(name for name in _ISA_NAMES if rm_isa_available(name.encode()))


def library_version():
    """The version of the C library."""
    return rm_version().decode()


def get_num_threads():
    """The number of threads that one call may use.

    Returns
    -------
    int
        At first REPMATH_NUM_THREADS, OMP_NUM_THREADS or the CPUs of this
        process. It never changes a result.
    """
    return rm_get_num_threads()


def set_num_threads(n):
    """Set the number of threads that one call may use.

    Parameters
    ----------
    n : int
        From 1 to 4096. It never changes a result.

    Raises
    ------
    ValueError
        `n` is out of range.
    TypeError
        `n` is not an integer.
    """
    # A bool or a float here is a slip, not a number of threads.
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise TypeError(f"n must be an integer, not {type(n).__name__}")
    n = n.__index__()
    if not 1 <= n <= 4096 or rm_set_num_threads(n) != 0:
        raise ValueError(f"n must be from 1 to 4096, not {n}")


def _check_isa():
    if rm_isa_status() != 0:
        raise ImportError(
            f"REPMATH_ISA={os.environ.get('REPMATH_ISA')!r} names a build that does not exist or that this CPU "
            f"cannot run; available: {', '.join(available_isas())}"
        )


_check_isa()
rm_py_import_numpy()
ufuncs = rm_py_elementwise_ufuncs()
gufuncs = rm_py_reduction_gufuncs()
# rule -> name -> ufunc, for float32 and float64
rounded = {
    "nearest": rm_py_rounded_ufuncs(RM_ROUND_NEAREST),
    "toward_zero": rm_py_rounded_ufuncs(RM_ROUND_TOWARD_ZERO),
    "down": rm_py_rounded_ufuncs(RM_ROUND_DOWN),
    "up": rm_py_rounded_ufuncs(RM_ROUND_UP),
}
for _ufuncs in (ufuncs, *rounded.values()):
    rm_py_promote_to_double(_ufuncs)


def add_bfloat16(dtype_class):
    """Give every elementwise ufunc a loop for this DType class, whose elements are bfloat16."""
    rm_py_add_bfloat16(ufuncs, dtype_class)


_FLOAT8 = {"float8_e4m3fn": RM_PY_E4M3FN, "float8_e5m2": RM_PY_E5M2}


def add_float8(name, dtype_class):
    """Give every elementwise ufunc of one argument a loop for this DType class, whose elements are of this 8-bit format."""
    rm_py_add_float8(ufuncs, dtype_class, _FLOAT8[name])


def round_float8(name, const double[::1] x, unsigned char[::1] codes):
    """Round float64 numbers to the codes of an 8-bit format."""
    cdef int format = _FLOAT8[name]
    cdef Py_ssize_t i
    with nogil:
        for i in range(x.shape[0]):
            codes[i] = rm_py_float8_round(x[i], format)


def same_float(a, b):
    """Whether both are ndarrays of one type, float32 or float64, so that nothing needs converting."""
    return rm_py_same_float(a, b)
