"""A floating-point environment in which subnormal numbers are zeros, as other libraries leave it behind."""

import contextlib
import ctypes
import ctypes.util
import platform

import pytest


@contextlib.contextmanager
def flushing():
    """Results and arguments that are subnormal count as zeros in this thread, by <fenv.h>: x86-64 keeps MXCSR at the end of fenv_t."""
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("only the layout of x86-64 is known here")
    libm = ctypes.CDLL(ctypes.util.find_library("m"))
    own, changed = (ctypes.c_uint32 * 8)(), (ctypes.c_uint32 * 8)()
    assert libm.fegetenv(own) == 0
    changed[:] = own[:]
    changed[7] |= 0x8040
    assert libm.fesetenv(changed) == 0
    try:
        yield
    finally:
        libm.fesetenv(own)
