"""Arrays in the memory of a GPU. DLPack gives access to them. librepmath_cuda computes with them if it has the function; otherwise they are
copied to main memory.

`_library` calls the library and `_array` has the arrays. `_ufuncs` and `_calls` are for them what NumPy's ufuncs and `_core` are for
arrays in main memory. `_staging` goes through main memory.
"""

from . import _ufuncs  # noqa: F401  registers what arrays do with ufuncs
