# cython: language_level=3, freethreading_compatible=True, binding=False, auto_pickle=False
"""The C library as Python calls it: this file has the library's settings and what all functions share, _bindings has the functions by topic.

The functions unpack their arguments; callers have checked them. Declarations of C are in _core.pxd."""

import os

from libc.string cimport memchr, memcmp, memcpy, memset

SPEC_VERSION = RM_SPEC_VERSION
COMPILER = RM_PY_COMPILER.decode()
# Every name that some build of the library has, best first; rm_isa_available knows which of them run here.
_ISA_NAMES = ("amx", "avx512bf16", "avx512", "avx2", "neon", "base")


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
            f"cannot run; available: {', '.join(available_isas())} "
            "(docs/c-api.md#what-do-the-floating-point-environment-and-the-variables-change)"
        )


_check_isa()
rm_py_import_numpy()


def status_message(int status):
    """What a status of the C library says."""
    return rm_status_message(status).decode()


cdef _raise(rm_status status):
    """MemoryError or ValueError for a status that is not 0."""
    if status != 0:
        message = status_message(status)
        raise MemoryError(message) if rm_status_code(status) == RM_ERR_MEMORY else ValueError(message)


cdef ptrdiff_t[4] _SIZES
_SIZES[:] = [2, 2, 4, 8]  # bytes, by RM_FORMAT_...

_FORMATS = {
    "f16": (RM_FORMAT_F16, 2), "bf16": (RM_FORMAT_BF16, 2), "f32": (RM_FORMAT_F32, 4), "f64": (RM_FORMAT_F64, 8)
}
ERR_INDEX = RM_ERR_INDEX


cdef struct View:
    size_t base
    ptrdiff_t stride[5]


cdef View _view(array):
    """The address and the strides of an array; none for None."""
    cdef View v
    memset(&v, 0, sizeof(v))
    if array is not None:
        rm_py_layout(array, 5, &v.base, v.stride)
    return v


cdef class Environment:
    """Inside `with`, this thread has the default floating-point environment; then again its own."""

    cdef fenv_t saved

    def __enter__(self):
        fegetenv(&self.saved)
        fesetenv(FE_DFL_ENV)

    def __exit__(self, *error):
        fesetenv(&self.saved)


include "_bindings/ufuncs.pxi"
include "_bindings/reductions.pxi"
include "_bindings/products.pxi"
include "_bindings/linalg.pxi"
include "_bindings/nn.pxi"
include "_bindings/random.pxi"
include "_bindings/rounding.pxi"
include "_bindings/fft.pxi"
include "_bindings/exact_sum.pxi"
include "_bindings/optim.pxi"
include "_bindings/torch.pxi"
include "_bindings/torch_lists.pxi"
include "_bindings/torch_steps.pxi"
include "_bindings/torch_reductions.pxi"
include "_bindings/torch_moves.pxi"
include "_bindings/torch_making.pxi"
include "_bindings/torch_layers.pxi"
include "_bindings/torch_norms.pxi"
include "_bindings/torch_products.pxi"
include "_bindings/torch_attention.pxi"
include "_bindings/torch_windows.pxi"
include "_bindings/torch_distances.pxi"
include "_bindings/torch_losses.pxi"
include "_bindings/torch_samples.pxi"
include "_bindings/torch_margins.pxi"
include "_bindings/torch_bags.pxi"
include "_bindings/torch_draws.pxi"
include "_bindings/torch_fractional.pxi"
include "_bindings/torch_special.pxi"
include "_bindings/torch_modes.pxi"
include "_bindings/torch_decompositions.pxi"
include "_bindings/torch_spaced.pxi"
include "_bindings/torch_segments.pxi"
