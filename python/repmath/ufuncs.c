/* NumPy ufuncs over the C library: loops, and the static arrays that NumPy keeps pointers to.
 *
 * Loops and tables come from functions.def. The loops need no GIL; the C functions raise the IEEE flags in this thread's
 * status word, which NumPy reads after the loop and turns into its warnings. */
#include "ufuncs.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/dtype_api.h>
#include <numpy/ufuncobject.h>
#include <repmath/repmath.h>

int rm_py_import_numpy(void) {
  if (PyArray_ImportNumPyAPI() < 0) return -1;
  return PyUFunc_ImportUFuncAPI();
}

/* A status other than RM_OK cannot come from arguments NumPy has checked; it is memory or the ISA. Called without the GIL. */
static void fail(rm_status status) {
  PyGILState_STATE gil = PyGILState_Ensure();
  if (!PyErr_Occurred())
    PyErr_SetString(rm_status_code(status) == RM_ERR_MEMORY ? PyExc_MemoryError : PyExc_RuntimeError,
                    rm_status_message(status));
  PyGILState_Release(gil);
}

/* ---- elementwise ------------------------------------------------------------------------------------------------- */

#define LOOP(name, fmt, ctype)                                                                                         \
  static void name##_##fmt(char **args, npy_intp const *n, npy_intp const *stride, void *data) {                       \
    (void)data;                                                                                                        \
    rm_status status = rm_v##name##_##fmt(n[0], (const ctype *)args[0], stride[0], (ctype *)args[1], stride[1]);       \
    if (status != RM_OK) fail(status);                                                                                 \
  }
/* bfloat16 is not a builtin type of NumPy: its loop has the newer signature. */
#define LOOP_BF16(name)                                                                                                \
  static int name##_bf16(PyArrayMethod_Context *context, char *const *args, npy_intp const *n, npy_intp const *stride, \
                         NpyAuxData *data) {                                                                           \
    (void)context, (void)data;                                                                                         \
    rm_status status =                                                                                                 \
        rm_v##name##_bf16(n[0], (const rm_bf16 *)args[0], stride[0], (rm_bf16 *)args[1], stride[1]);                   \
    if (status == RM_OK) return 0;                                                                                     \
    fail(status);                                                                                                      \
    return -1;                                                                                                         \
  }
#define RM_FUNCTION(name, NAME, hard, doc)                                                                                   \
  LOOP(name, f16, rm_f16)                                                                                              \
  LOOP(name, f32, float)                                                                                               \
  LOOP(name, f64, double)                                                                                              \
  LOOP_BF16(name)
#include "../../crlibm/functions.def"
#undef RM_FUNCTION

/* In this order: the first type that holds an argument exactly is chosen. */
static const char types_unary[] = {NPY_HALF, NPY_HALF, NPY_FLOAT, NPY_FLOAT, NPY_DOUBLE, NPY_DOUBLE};
#define RM_FUNCTION(name, NAME, hard, doc) static PyUFuncGenericFunction loops_##name[] = {name##_f16, name##_f32, name##_f64};
#include "../../crlibm/functions.def"
#undef RM_FUNCTION
static void *no_data[3];

static const struct {
  const char *name, *doc;
  PyUFuncGenericFunction *loops;
  PyArrayMethod_StridedLoop *loop_bf16;
} functions[] = {
#define RM_FUNCTION(name, NAME, hard, text)                                                                                   \
  {#name,                                                                                                               \
   "The " text ", elementwise and correctly rounded.\n\n"                                                               \
   "The value of the definition over the reals, rounded once to nearest, ties to even.\n\n"                             \
   "Parameters\n----------\n"                                                                                           \
   "x : array_like\n"                                                                                                   \
   "    Of float16, float32, float64 or bfloat16 (ml_dtypes), any shape. Integers\n"                                    \
   "    and bool are converted to float64 first (exact up to 2**53).\n"                                                 \
   "out, where, casting, order, dtype, subok, signature\n"                                                              \
   "    As for every NumPy ufunc. An `out` narrower than the loop's type is\n"                                          \
   "    allowed by casting and rounds a second time; `dtype=` does not.\n\n"                                            \
   "Returns\n-------\n"                                                                                                 \
   "y : ndarray or scalar\n"                                                                                            \
   "    Of the shape and type of `x`. A NaN is the canonical quiet NaN.\n\n"                                            \
   "Raises\n------\n"                                                                                                   \
   "TypeError\n"                                                                                                        \
   "    `x` is longdouble, complex or not a number: there is no such function.\n"                                       \
   "ValueError\n"                                                                                                       \
   "    `out` is read-only or not of the broadcast shape.\n",                                                           \
   loops_##name, name##_bf16},
#include "../../crlibm/functions.def"
#undef RM_FUNCTION
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static int put(PyObject *dict, const char *name, PyObject *value) {
  int failed = !value || PyDict_SetItemString(dict, name, value) < 0;
  Py_XDECREF(value);
  return failed ? -1 : 0;
}

PyObject *rm_py_elementwise_ufuncs(void) {
  PyObject *dict = PyDict_New();
  if (!dict) return NULL;
  for (int i = 0; i < FUNCTIONS; i++)
    if (put(dict, functions[i].name,
            PyUFunc_FromFuncAndData(functions[i].loops, no_data, types_unary, 3, 1, 1, PyUFunc_None, functions[i].name,
                                    functions[i].doc, 0)) < 0) {
      Py_DECREF(dict);
      return NULL;
    }
  return dict;
}

/* Without `dtype=` the loop is the float64 one; with it, that type's. */
static int to_double(PyObject *ufunc, PyArray_DTypeMeta *const given[], PyArray_DTypeMeta *const signature[],
                     PyArray_DTypeMeta *chosen[]) {
  (void)ufunc, (void)given;
  PyArray_DTypeMeta *type = signature[0] ? signature[0] : signature[1] ? signature[1] : &PyArray_DoubleDType;
  for (int i = 0; i < 2; i++) {
    chosen[i] = i == 1 && signature[1] ? signature[1] : type;
    Py_INCREF((PyObject *)chosen[i]);
  }
  return 0;
}

int rm_py_promote_to_double(PyObject *ufuncs, PyObject *dtype_class) {
  int failed = 0;
  PyObject *promoter = PyCapsule_New((void *)to_double, "numpy._ufunc_promoter", NULL);
  PyObject *given = PyTuple_Pack(2, dtype_class, Py_None);
  if (!promoter || !given) failed = -1;
  for (int i = 0; i < FUNCTIONS && !failed; i++) {
    PyObject *ufunc = PyDict_GetItemString(ufuncs, functions[i].name);
    failed = !ufunc || PyUFunc_AddPromoter(ufunc, given, promoter) < 0 ? -1 : 0;
  }
  Py_XDECREF(promoter);
  Py_XDECREF(given);
  return failed;
}

int rm_py_add_bfloat16(PyObject *ufuncs, PyObject *dtype_class) {
  PyArray_DTypeMeta *types[2] = {(PyArray_DTypeMeta *)dtype_class, (PyArray_DTypeMeta *)dtype_class};
  for (int i = 0; i < FUNCTIONS; i++) {
    PyType_Slot slots[] = {{NPY_METH_strided_loop, (void *)functions[i].loop_bf16}, {0, NULL}};
    PyArrayMethod_Spec spec = {functions[i].name, 1, 1, NPY_NO_CASTING, 0, types, slots};
    PyObject *ufunc = PyDict_GetItemString(ufuncs, functions[i].name);
    if (!ufunc || PyUFunc_AddLoopFromSpec(ufunc, &spec) < 0) return -1;
  }
  return 0;
}

/* ---- reductions -------------------------------------------------------------------------------------------------- */

/* A gufunc's loop gets the outer length, then the core lengths; the outer strides, then the core strides. */
#define REDUCTION_LOOPS(fmt, ctype)                                                                                    \
  static void sum_##fmt(char **p, npy_intp const *n, npy_intp const *s, void *data) {                                  \
    (void)data;                                                                                                        \
    for (npy_intp i = 0; i < n[0]; i++) {                                                                              \
      rm_status status = rm_sum_##fmt(n[1], (const ctype *)(p[0] + i * s[0]), s[2], (ctype *)(p[1] + i * s[1]));       \
      if (status != RM_OK) {                                                                                           \
        fail(status);                                                                                                  \
        return;                                                                                                        \
      }                                                                                                                \
    }                                                                                                                  \
  }                                                                                                                    \
  static void dot_##fmt(char **p, npy_intp const *n, npy_intp const *s, void *data) {                                  \
    (void)data;                                                                                                        \
    for (npy_intp i = 0; i < n[0]; i++) {                                                                              \
      rm_status status = rm_dot_##fmt(n[1], (const ctype *)(p[0] + i * s[0]), s[3], (const ctype *)(p[1] + i * s[1]),  \
                                      s[4], (ctype *)(p[2] + i * s[2]));                                               \
      if (status != RM_OK) {                                                                                           \
        fail(status);                                                                                                  \
        return;                                                                                                        \
      }                                                                                                                \
    }                                                                                                                  \
  }                                                                                                                    \
  /* Core lengths n, k, m: rows, terms, columns. */                                                                    \
  static void matmul_##fmt(char **p, npy_intp const *n, npy_intp const *s, void *data) {                               \
    (void)data;                                                                                                        \
    for (npy_intp i = 0; i < n[0]; i++) {                                                                              \
      rm_status status = rm_matmul_strided_##fmt(n[1], n[3], n[2], (const ctype *)(p[0] + i * s[0]), s[3], s[4],       \
                                                 (const ctype *)(p[1] + i * s[1]), s[5], s[6], NULL, 0,                \
                                                 (ctype *)(p[2] + i * s[2]), s[7], s[8]);                              \
      if (status != RM_OK) {                                                                                           \
        fail(status);                                                                                                  \
        return;                                                                                                        \
      }                                                                                                                \
    }                                                                                                                  \
  }                                                                                                                    \
  static void matmul_bias_##fmt(char **p, npy_intp const *n, npy_intp const *s, void *data) {                          \
    (void)data;                                                                                                        \
    for (npy_intp i = 0; i < n[0]; i++) {                                                                              \
      rm_status status = rm_matmul_strided_##fmt(                                                                      \
          n[1], n[3], n[2], (const ctype *)(p[0] + i * s[0]), s[4], s[5], (const ctype *)(p[1] + i * s[1]), s[6],      \
          s[7], (const ctype *)(p[2] + i * s[2]), s[8], (ctype *)(p[3] + i * s[3]), s[9], s[10]);                      \
      if (status != RM_OK) {                                                                                           \
        fail(status);                                                                                                  \
        return;                                                                                                        \
      }                                                                                                                \
    }                                                                                                                  \
  }
REDUCTION_LOOPS(f32, float)
REDUCTION_LOOPS(f64, double)

static PyUFuncGenericFunction loops_sum[] = {sum_f32, sum_f64};
static PyUFuncGenericFunction loops_dot[] = {dot_f32, dot_f64};
static PyUFuncGenericFunction loops_matmul[] = {matmul_f32, matmul_f64};
static PyUFuncGenericFunction loops_matmul_bias[] = {matmul_bias_f32, matmul_bias_f64};
/* Long enough for three inputs; a gufunc of fewer operands has its own, since each type starts at a multiple of them. */
static const char types2[] = {NPY_FLOAT, NPY_FLOAT, NPY_DOUBLE, NPY_DOUBLE};
static const char types3[] = {NPY_FLOAT, NPY_FLOAT, NPY_FLOAT, NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE};
static const char types4[] = {NPY_FLOAT,  NPY_FLOAT,  NPY_FLOAT,  NPY_FLOAT,
                              NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE};

PyObject *rm_py_reduction_gufuncs(void) {
  static const struct {
    const char *name, *signature;
    PyUFuncGenericFunction *loops;
    const char *types;
    int inputs;
  } gufuncs[] = {
      {"sum", "(k)->()", loops_sum, types2, 1},
      {"dot", "(k),(k)->()", loops_dot, types3, 2},
      {"matmul", "(n?,k),(k,m?)->(n?,m?)", loops_matmul, types3, 2},
      {"matmul_bias", "(n?,k),(k,m?),(m?)->(n?,m?)", loops_matmul_bias, types4, 3},
  };
  PyObject *dict = PyDict_New();
  if (!dict) return NULL;
  for (size_t i = 0; i < sizeof gufuncs / sizeof *gufuncs; i++)
    if (put(dict, gufuncs[i].name,
            PyUFunc_FromFuncAndDataAndSignature(gufuncs[i].loops, no_data, gufuncs[i].types, 2, gufuncs[i].inputs, 1,
                                                PyUFunc_None, gufuncs[i].name, NULL, 0, gufuncs[i].signature)) < 0) {
      Py_DECREF(dict);
      return NULL;
    }
  return dict;
}

int rm_py_same_float(PyObject *a, PyObject *b) {
  if (!PyArray_CheckExact(a) || !PyArray_CheckExact(b)) return 0;
  int type = PyArray_TYPE((PyArrayObject *)a);
  return (type == NPY_FLOAT || type == NPY_DOUBLE) && PyArray_TYPE((PyArrayObject *)b) == type;
}
