"""Arrays in the memory of a GPU: seen through DLPack, computed with by librepmath_cuda where it has the function, otherwise in main memory.

`_library` calls the library, `_array` has the arrays, `_ufuncs` and `_calls` are what NumPy's ufuncs and `_core` are to arrays in
main memory, `_staging` is the way through main memory.
"""

from . import _ufuncs  # noqa: F401  registers what arrays do with ufuncs
