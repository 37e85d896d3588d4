/* NumPy ufuncs over the C library. Only ufuncs.c uses NumPy's C API; the Cython module calls these few functions. */
#pragma once

#include <Python.h>
#include <stddef.h>

/* The compiler of this build. */
#if defined(__clang__)
#define RM_PY_COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define RM_PY_COMPILER "gcc " __VERSION__
#else
#define RM_PY_COMPILER "unknown"
#endif

/* Import NumPy's C API. Returns -1 with an exception set. */
int rm_py_import_numpy(void);

/* The address of an array's first element, and the strides of its axes; 0 for those below `most` that it has not. Returns -1
 * with TypeError where it is no array. Its __array_interface__ makes a description of the format besides, which takes
 * microseconds. */
int rm_py_layout(PyObject *array, int most, size_t *base, ptrdiff_t *stride);

/* A dict of name -> ufunc: one for each line of functions.def. NULL with an exception set. */
PyObject *rm_py_elementwise_ufuncs(void);

/* Sets the Python function that is asked before a ufunc of the dict runs while scopes of random rounding are open: a function
 * of the ufunc and its arguments, which returns NotImplemented where none is open here, and without arguments raises where
 * one is. Returns -1 with an exception set. */
int rm_py_set_scoped(PyObject *ufuncs, PyObject *function);

/* Adds to the number of scopes that are open. */
void rm_py_open_scopes(long more);

/* A dict of name -> gufunc: sum, dot, matmul, matmul_bias. NULL with an exception set. */
PyObject *rm_py_reduction_gufuncs(void);

/* The same under a rounding mode (RM_ROUND_UP ...), for float32 and float64. NULL with an exception set. */
PyObject *rm_py_rounded_ufuncs(int mode);

/* A dict of name -> ufunc: the powers with an integer (repmath/powers.h), to nearest for mode -1, or for float32 and float64
 * under a rounding mode. NULL with an exception set. */
PyObject *rm_py_power_ufuncs(int mode);

/* As the two functions below, for these: the first argument is what is promoted, and other integers beside it become
 * int64. */
int rm_py_promote_powers_to_double(PyObject *ufuncs);
int rm_py_add_bfloat16_powers(PyObject *ufuncs, PyObject *dtype_class);

/* Make integers and bool become float64 in every ufunc of the dict. Returns -1 with an exception set. */
int rm_py_promote_to_double(PyObject *ufuncs);

/* Add the bfloat16 loops to the ufuncs of the dict, for this DType class; a Python number beside one is bfloat16 too. Returns
 * -1 with an exception set. */
int rm_py_add_bfloat16(PyObject *ufuncs, PyObject *dtype_class);

/* Add loops of an 8-bit format (RM_PY_E4M3FN ... of float8.h) to the ufuncs of one argument. Returns -1 with an exception
 * set. */
int rm_py_add_float8(PyObject *ufuncs, PyObject *dtype_class, int format);

/* Gives the gufuncs for which it exists a loop for bfloat16. -1 with an exception. */
int rm_py_add_bfloat16_reductions(PyObject *gufuncs, PyObject *dtype_class);

/* The C library's functions of arrays for a line of functions.def, by RM_FORMAT_...; they are of another type, by the number
 * of arguments, which is returned: 0 for a name that there is not. */
typedef void rm_py_function(void);
int rm_py_functions(const char *name, rm_py_function **of_format);

/* 1 when both are exact ndarrays of one and the same type, float32 or float64: nothing has to be converted. */
int rm_py_same_float(PyObject *a, PyObject *b);
