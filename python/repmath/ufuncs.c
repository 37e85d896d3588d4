/* NumPy ufuncs over the C library: loops, and the static arrays that NumPy keeps pointers to.
 *
 * Loops and tables come from functions.def. The loops need no GIL; the C functions raise the IEEE flags in this thread's
 * status word, which NumPy reads after the loop and turns into its warnings. */
#include "ufuncs.h"

#include "float8.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int rm_py_layout(PyObject *array, int most, size_t *base, ptrdiff_t *stride) {
  if (!PyArray_Check(array)) {
    PyErr_SetString(PyExc_TypeError, "what is no array has no elements in memory");
    return -1;
  }
  PyArrayObject *const a = (PyArrayObject *)array;
  *base = (size_t)PyArray_DATA(a);
  for (int k = 0; k < most; k++) stride[k] = k < PyArray_NDIM(a) ? PyArray_STRIDE(a, k) : 0;
  return 0;
}

/* A status other than RM_OK cannot come from arguments NumPy has checked; it is memory or the ISA. Called without the GIL. */
static void fail(rm_status status) {
  PyGILState_STATE gil = PyGILState_Ensure();
  if (!PyErr_Occurred())
    PyErr_SetString(rm_status_code(status) == RM_ERR_MEMORY ? PyExc_MemoryError : PyExc_RuntimeError,
                    rm_status_message(status));
  PyGILState_Release(gil);
}

/* ---- scopes of random rounding ------------------------------------------------------------------------------------ */

/* How many are open in all threads. While there are any, `scoped` is asked first: a Python function of a ufunc and its
 * arguments, which returns NotImplemented where none is open here; without arguments it raises where one is. */
static _Atomic long open_scopes;
static PyObject *scoped;

/* CPython's vectorcall (PEP 590), which the limited API of the oldest Python does not name: the positional arguments, their
 * number with a flag at the top, and a tuple of the names of those that follow. */
typedef PyObject *vectorcall(PyObject *callable, PyObject *const *args, size_t flagged, PyObject *names);
static vectorcall *plain_call;

/* Of `scoped`, with the ufunc before its arguments. */
static PyObject *ask(PyObject *ufunc, PyObject *const *args, size_t n, PyObject *names) {
  const Py_ssize_t named = names ? PyTuple_Size(names) : 0;
  PyObject *given = PyTuple_New((Py_ssize_t)n + 1), *keywords = PyDict_New(), *made = NULL;
  int failed = !given || !keywords;
  for (size_t k = 0; !failed && k <= n; k++) {
    PyObject *value = k ? args[k - 1] : ufunc;
    Py_INCREF(value);
    failed = PyTuple_SetItem(given, (Py_ssize_t)k, value) < 0;
  }
  for (Py_ssize_t k = 0; !failed && k < named; k++)
    failed = PyDict_SetItem(keywords, PyTuple_GetItem(names, k), args[n + (size_t)k]) < 0;
  if (!failed) made = PyObject_Call(scoped, given, keywords);
  Py_XDECREF(given);
  Py_XDECREF(keywords);
  return made;
}

static PyObject *call_in_scope(PyObject *ufunc, PyObject *const *args, size_t flagged, PyObject *names) {
  if (atomic_load_explicit(&open_scopes, memory_order_relaxed)) {
    const size_t flag = (size_t)1 << (8 * sizeof flag - 1);
    PyObject *made = ask(ufunc, args, flagged & ~flag, names);
    if (made != Py_NotImplemented) return made;
    Py_DECREF(made);
  }
  return plain_call(ufunc, args, flagged, names);
}

/* Whether a loop must not run, since a scope is open that no function led here from: then with an exception. */
static int is_refused(void) {
  if (!atomic_load_explicit(&open_scopes, memory_order_relaxed)) return 0;
  const PyGILState_STATE gil = PyGILState_Ensure();
  PyObject *made = PyErr_Occurred() ? NULL : PyObject_CallObject(scoped, NULL);
  Py_XDECREF(made);
  PyGILState_Release(gil);
  return !made;
}

void rm_py_open_scopes(long more) { atomic_fetch_add(&open_scopes, more); }

int rm_py_set_scoped(PyObject *ufuncs, PyObject *function) {
  vectorcall *const ours = call_in_scope;
  PyObject *name, *ufunc;
  Py_ssize_t at = 0;
  Py_INCREF(function);
  scoped = function;
  while (PyDict_Next(ufuncs, &at, &name, &ufunc)) {
    vectorcall *found; /* copied: where the API is limited, NumPy declares an address of an object */
    memcpy(&found, &((PyUFuncObject *)ufunc)->vectorcall, sizeof found);
    if (!found || found == ours || (plain_call && found != plain_call)) {
      PyErr_SetString(PyExc_RuntimeError, "a ufunc that is not called by NumPy's vectorcall");
      return -1;
    }
    plain_call = found;
    memcpy(&((PyUFuncObject *)ufunc)->vectorcall, &ours, sizeof ours);
  }
  return 0;
}

/* ---- elementwise ------------------------------------------------------------------------------------------------- */

/* The arguments of a C array function from those of a ufunc's loop, by the number of inputs. */
#define ARRAYS_1(ctype) n[0], (const ctype *)args[0], stride[0], (ctype *)args[1], stride[1]
#define ARRAYS_2(ctype) \
  n[0], (const ctype *)args[0], stride[0], (const ctype *)args[1], stride[1], (ctype *)args[2], stride[2]
#define ARRAYS_3(ctype)                                                                                          \
  n[0], (const ctype *)args[0], stride[0], (const ctype *)args[1], stride[1], (const ctype *)args[2], stride[2], \
      (ctype *)args[3], stride[3]

#define LOOP(name, arity, fmt, ctype)                                                            \
  static void name##_##fmt(char **args, npy_intp const *n, npy_intp const *stride, void *data) { \
    (void)data;                                                                                  \
    if (is_refused()) return;                                                                    \
    rm_status status = rm_v##name##_##fmt(ARRAYS_##arity(ctype));                                \
    if (status != RM_OK) fail(status);                                                           \
  }
/* The loop's data is the rounding mode. */
#define LOOP_ROUNDED(name, arity, fmt, ctype)                                                            \
  static void name##_rounded_##fmt(char **args, npy_intp const *n, npy_intp const *stride, void *data) { \
    rm_status status = rm_v##name##_rounded_##fmt(ARRAYS_##arity(ctype), (int)(npy_intp)data);           \
    if (status != RM_OK) fail(status);                                                                   \
  }
/* bfloat16 is not a builtin type of NumPy: its loop has the newer signature. */
#define LOOP_BF16(name, arity)                                                                                         \
  static int name##_bf16(PyArrayMethod_Context *context, char *const *args, npy_intp const *n, npy_intp const *stride, \
                         NpyAuxData *data) {                                                                           \
    (void)context, (void)data;                                                                                         \
    if (is_refused()) return -1;                                                                                       \
    rm_status status = rm_v##name##_bf16(ARRAYS_##arity(rm_bf16));                                                     \
    if (status == RM_OK) return 0;                                                                                     \
    fail(status);                                                                                                      \
    return -1;                                                                                                         \
  }
#define RM_FUNCTION(name, NAME, arity, gradient, hard, doc) \
  LOOP(name, arity, f16, rm_f16)                            \
  LOOP(name, arity, f32, float)                             \
  LOOP(name, arity, f64, double)                            \
  LOOP_ROUNDED(name, arity, f32, float)                     \
  LOOP_ROUNDED(name, arity, f64, double)                    \
  LOOP_BF16(name, arity)
#include "../../crlibm/functions.def"
#undef RM_FUNCTION

/* The 8-bit formats have loops of one argument, by table. */
#define LOOP_FLOAT8(name, format)                                                                                          \
  static int name##_##format(PyArrayMethod_Context *context, char *const *args, npy_intp const *n, npy_intp const *stride, \
                             NpyAuxData *data) {                                                                           \
    static rm_py_float8_slot table;                                                                                        \
    (void)context, (void)data;                                                                                             \
    if (rm_py_float8_map(&table, rm_v##name##_rounded_f64, format, n[0], args[0], stride[0], args[1], stride[1]) == 0)     \
      return 0;                                                                                                            \
    fail(RM_ERR_MEMORY);                                                                                                   \
    return -1;                                                                                                             \
  }
#define LOOPS_FLOAT8_1(name) LOOP_FLOAT8(name, RM_PY_E4M3FN) LOOP_FLOAT8(name, RM_PY_E5M2)
#define LOOPS_FLOAT8_2(name)
#define LOOPS_FLOAT8_3(name)
#define RM_FUNCTION(name, NAME, arity, gradient, hard, doc) LOOPS_FLOAT8_##arity(name)
#include "../../crlibm/functions.def"
#undef RM_FUNCTION
#define TABLE_FLOAT8_1(name) {name##_RM_PY_E4M3FN, name##_RM_PY_E5M2}
#define TABLE_FLOAT8_2(name) {NULL}
#define TABLE_FLOAT8_3(name) {NULL}

/* In this order: the first type that holds the arguments exactly is chosen. NumPy keeps these arrays. */
#define TYPES(nargs, type) REPEAT_##nargs(type)
#define REPEAT_2(type) type, type
#define REPEAT_3(type) type, type, type
#define REPEAT_4(type) type, type, type, type
static const char types_1[] = {TYPES(2, NPY_HALF), TYPES(2, NPY_FLOAT), TYPES(2, NPY_DOUBLE)};
static const char types_2[] = {TYPES(3, NPY_HALF), TYPES(3, NPY_FLOAT), TYPES(3, NPY_DOUBLE)};
static const char types_3[] = {TYPES(4, NPY_HALF), TYPES(4, NPY_FLOAT), TYPES(4, NPY_DOUBLE)};
static const char *const types[] = {NULL, types_1, types_2, types_3};
static const char types_rounded_1[] = {TYPES(2, NPY_FLOAT), TYPES(2, NPY_DOUBLE)};
static const char types_rounded_2[] = {TYPES(3, NPY_FLOAT), TYPES(3, NPY_DOUBLE)};
static const char types_rounded_3[] = {TYPES(4, NPY_FLOAT), TYPES(4, NPY_DOUBLE)};
static const char *const types_rounded[] = {NULL, types_rounded_1, types_rounded_2, types_rounded_3};
#define RM_FUNCTION(name, NAME, arity, gradient, hard, doc)                            \
  static PyUFuncGenericFunction loops_##name[] = {name##_f16, name##_f32, name##_f64}; \
  static PyUFuncGenericFunction loops_rounded_##name[] = {name##_rounded_f32, name##_rounded_f64};
#include "../../crlibm/functions.def"
#undef RM_FUNCTION
static void *no_data[3];
enum { MODES = 4 };
static void *modes[MODES][2] = {{(void *)RM_ROUND_NEAREST, (void *)RM_ROUND_NEAREST},
                                {(void *)RM_ROUND_TOWARD_ZERO, (void *)RM_ROUND_TOWARD_ZERO},
                                {(void *)RM_ROUND_DOWN, (void *)RM_ROUND_DOWN},
                                {(void *)RM_ROUND_UP, (void *)RM_ROUND_UP}};

static const struct {
  const char *name, *doc;
  int arity, gradient;
  PyUFuncGenericFunction *loops, *rounded;
  PyArrayMethod_StridedLoop *loop_bf16, *loop_float8[RM_PY_FLOAT8_FORMATS];
  rm_py_function *of_format[4]; /* by RM_FORMAT_... */
} functions[] = {
#define OF(name, fmt) (rm_py_function *)rm_v##name##_##fmt
#define RM_FUNCTION(name, NAME, arity, gradient, hard, text) \
  {#name,                                                    \
   text,                                                     \
   arity,                                                    \
   gradient,                                                 \
   loops_##name,                                             \
   loops_rounded_##name,                                     \
   name##_bf16,                                              \
   TABLE_FLOAT8_##arity(name),                               \
   {OF(name, f16), OF(name, bf16), OF(name, f32), OF(name, f64)}},
#include "../../crlibm/functions.def"
#undef RM_FUNCTION
};
enum { FUNCTIONS = sizeof functions / sizeof *functions, MAX_ARITY = 3 };

int rm_py_functions(const char *name, rm_py_function **of_format) {
  for (int i = 0; i < FUNCTIONS; i++)
    if (!strcmp(functions[i].name, name)) {
      memcpy(of_format, functions[i].of_format, sizeof functions[i].of_format);
      return functions[i].arity;
    }
  return 0;
}

/* NumPy keeps a ufunc's docstring: these live as long as the module. */
static char *docstring(const char *name, const char *text, int arity, int gradient) {
  static const char form[] = "%s, elementwise and correctly rounded.\n\n"
                             "The value of the definition over the reals, rounded once to nearest, ties to even.\n\n"
                             "Parameters\n----------\n"
                             "%s : array_like\n"
                             "    Of float16, float32, float64 or bfloat16 (ml_dtypes)%s.\n"
                             "    Integers and bool are converted to float64 first (exact up to 2**53).\n"
                             "out, where, casting, order, dtype, subok, signature\n"
                             "    As for every NumPy ufunc. An `out` narrower than the loop's type is\n"
                             "    allowed by casting and rounds a second time; `dtype=` does not.\n\n"
                             "Returns\n-------\n"
                             "y : ndarray or scalar\n"
                             "    Of the %s. A NaN is the canonical quiet NaN.\n\n"
                             "Raises\n------\n"
                             "TypeError\n"
                             "    An argument is longdouble, complex or not a number: there is no such function.\n"
                             "ValueError\n"
                             "    `out` is read-only or not of the broadcast shape.\n%s";
  static const char steps[] = "\nNotes\n-----\n"
                              "`reduce`, `accumulate` and `reduceat` take one step after the other, from left to\n"
                              "right, and round each. Sums that are rounded once are `repmath.sum`, `repmath.cumsum`.\n";
  const char *named = arity == 1 ? "x" : arity == 3 ? "x, y, z" : gradient ? "g, x" : "x, y";
  const size_t room = sizeof form + sizeof steps + strlen(text) + 200;
  char *doc = malloc(room);
  if (!doc) return NULL;
  snprintf(doc, room, form, text, named,
           arity == 1 ? ", float8_e4m3fn\n    or float8_e5m2 (by table), any shape" : ", any shapes that broadcast",
           arity == 1 ? "shape and type of `x`" : "broadcast shape and the common type", arity == 2 ? steps : "");
  return doc;
}

static int put(PyObject *dict, const char *name, PyObject *value) {
  int failed = !value || PyDict_SetItemString(dict, name, value) < 0;
  Py_XDECREF(value);
  return failed ? -1 : 0;
}

PyObject *rm_py_elementwise_ufuncs(void) {
  PyObject *dict = PyDict_New();
  if (!dict) return NULL;
  for (int i = 0; i < FUNCTIONS; i++) {
    const int arity = functions[i].arity;
    char *doc = docstring(functions[i].name, functions[i].doc, arity, functions[i].gradient);
    if (!doc || put(dict, functions[i].name,
                    PyUFunc_FromFuncAndData(functions[i].loops, no_data, types[arity], 3, arity, 1, PyUFunc_None,
                                            functions[i].name, doc, 0)) < 0) {
      Py_DECREF(dict);
      return doc ? NULL : PyErr_NoMemory();
    }
  }
  return dict;
}

PyObject *rm_py_rounded_ufuncs(int mode) {
  PyObject *dict = PyDict_New();
  if (!dict) return NULL;
  for (int i = 0; i < FUNCTIONS; i++)
    if (put(dict, functions[i].name,
            PyUFunc_FromFuncAndData(functions[i].rounded, modes[mode], types_rounded[functions[i].arity], 2,
                                    functions[i].arity, 1, PyUFunc_None, functions[i].name, functions[i].doc, 0)) < 0) {
      Py_DECREF(dict);
      return NULL;
    }
  return dict;
}

/* Every operand gets one type, unless the caller fixed it. */
static int promote_to(PyArray_DTypeMeta *type, PyObject *ufunc, PyArray_DTypeMeta *const signature[],
                      PyArray_DTypeMeta *chosen[]) {
  const int nargs = ((PyUFuncObject *)ufunc)->nargs;
  for (int i = 0; i < nargs; i++)
    if (signature[i]) type = signature[i];
  for (int i = 0; i < nargs; i++) {
    chosen[i] = signature[i] ? signature[i] : type;
    Py_INCREF((PyObject *)chosen[i]);
  }
  return 0;
}
static int to_double(PyObject *ufunc, PyArray_DTypeMeta *const given[], PyArray_DTypeMeta *const signature[],
                     PyArray_DTypeMeta *chosen[]) {
  (void)given;
  return promote_to(&PyArray_DoubleDType, ufunc, signature, chosen);
}
static PyArray_DTypeMeta *bfloat16;
static int to_bfloat16(PyObject *ufunc, PyArray_DTypeMeta *const given[], PyArray_DTypeMeta *const signature[],
                       PyArray_DTypeMeta *chosen[]) {
  (void)given;
  return promote_to(bfloat16, ufunc, signature, chosen);
}

/* A promoter for every choice of one class an input; `needed`, if given, is among them. */
static int add_promoters(PyObject *ufunc, int arity, PyObject *const *classes, int count, PyObject *needed,
                         PyArrayMethod_PromoterFunction *function) {
  int choices = 1, failed = 0;
  for (int k = 0; k < arity; k++) choices *= count;
  PyObject *promoter = PyCapsule_New((void *)function, "numpy._ufunc_promoter", NULL);
  if (!promoter) return -1;
  for (int choice = 0; choice < choices && !failed; choice++) {
    PyObject *given = PyTuple_New(arity + 1);
    int rest = choice, found = !needed;
    if (!given) failed = -1;
    for (int k = 0; k < arity && !failed; k++, rest /= count) {
      PyObject *class = classes[rest % count];
      found |= class == needed;
      Py_INCREF(class);
      failed = PyTuple_SetItem(given, k, class);
    }
    if (!failed) {
      Py_INCREF(Py_None);
      failed = PyTuple_SetItem(given, arity, Py_None);
    }
    if (!failed && found) failed = PyUFunc_AddPromoter(ufunc, given, promoter);
    Py_XDECREF(given);
  }
  Py_DECREF(promoter);
  return failed < 0 ? -1 : 0;
}

int rm_py_promote_to_double(PyObject *ufuncs) {
  PyObject *classes[] = {(PyObject *)&PyArray_IntAbstractDType, (PyObject *)&PyArray_BoolDType,
                         (PyObject *)&PyArray_PyFloatDType};
  for (int i = 0; i < FUNCTIONS; i++) {
    PyObject *ufunc = PyDict_GetItemString(ufuncs, functions[i].name);
    /* A lone Python float is float64 already. */
    if (!ufunc || add_promoters(ufunc, functions[i].arity, classes, functions[i].arity > 1 ? 3 : 2, NULL, to_double) < 0)
      return -1;
  }
  return 0;
}

int rm_py_add_bfloat16(PyObject *ufuncs, PyObject *dtype_class) {
  PyObject *classes[] = {dtype_class, (PyObject *)&PyArray_PyLongDType, (PyObject *)&PyArray_PyFloatDType};
  bfloat16 = (PyArray_DTypeMeta *)dtype_class;
  Py_INCREF(dtype_class);
  for (int i = 0; i < FUNCTIONS; i++) {
    PyArray_DTypeMeta *operands[MAX_ARITY + 1] = {bfloat16, bfloat16, bfloat16, bfloat16};
    PyType_Slot slots[] = {{NPY_METH_strided_loop, (void *)functions[i].loop_bf16}, {0, NULL}};
    PyArrayMethod_Spec spec = {functions[i].name, functions[i].arity, 1, NPY_NO_CASTING, 0, operands, slots};
    PyObject *ufunc = PyDict_GetItemString(ufuncs, functions[i].name);
    if (!ufunc || PyUFunc_AddLoopFromSpec(ufunc, &spec) < 0) return -1;
    if (functions[i].arity > 1 && add_promoters(ufunc, functions[i].arity, classes, 3, dtype_class, to_bfloat16) < 0)
      return -1;
  }
  return 0;
}

int rm_py_add_float8(PyObject *ufuncs, PyObject *dtype_class, int format) {
  for (int i = 0; i < FUNCTIONS; i++) {
    PyArray_DTypeMeta *operands[2] = {(PyArray_DTypeMeta *)dtype_class, (PyArray_DTypeMeta *)dtype_class};
    PyType_Slot slots[] = {{NPY_METH_strided_loop, (void *)functions[i].loop_float8[format]}, {0, NULL}};
    PyArrayMethod_Spec spec = {functions[i].name, 1, 1, NPY_NO_CASTING, 0, operands, slots};
    PyObject *ufunc = PyDict_GetItemString(ufuncs, functions[i].name);
    if (functions[i].arity > 1) continue;
    if (!ufunc || PyUFunc_AddLoopFromSpec(ufunc, &spec) < 0) return -1;
  }
  return 0;
}

/* ---- powers with an integer ---------------------------------------------------------------------------------------- */

/* Their second argument is an int64, in loops of mixed types: NumPy casts other integers. */
#define POWER_ARRAYS(ctype) \
  n[0], (const ctype *)args[0], stride[0], (const int64_t *)(const void *)args[1], stride[1], (ctype *)args[2], stride[2]
#define POWER_LOOP(name, fmt, ctype)                                                             \
  static void name##_##fmt(char **args, npy_intp const *n, npy_intp const *stride, void *data) { \
    (void)data;                                                                                  \
    if (is_refused()) return;                                                                    \
    const rm_status status = rm_v##name##_##fmt(POWER_ARRAYS(ctype));                            \
    if (status != RM_OK) fail(status);                                                           \
  }
#define POWER_LOOP_ROUNDED(name, fmt, ctype)                                                             \
  static void name##_rounded_##fmt(char **args, npy_intp const *n, npy_intp const *stride, void *data) { \
    const rm_status status = rm_v##name##_rounded_##fmt(POWER_ARRAYS(ctype), (int)(npy_intp)data);       \
    if (status != RM_OK) fail(status);                                                                   \
  }
#define RM_POWER(name, NAME, definition, special)                                                                      \
  POWER_LOOP(name, f16, rm_f16)                                                                                        \
  POWER_LOOP(name, f32, float)                                                                                         \
  POWER_LOOP(name, f64, double)                                                                                        \
  POWER_LOOP_ROUNDED(name, f32, float)                                                                                 \
  POWER_LOOP_ROUNDED(name, f64, double)                                                                                \
  static int name##_bf16(PyArrayMethod_Context *context, char *const *args, npy_intp const *n, npy_intp const *stride, \
                         NpyAuxData *data) {                                                                           \
    (void)context, (void)data;                                                                                         \
    if (is_refused()) return -1;                                                                                       \
    const rm_status status = rm_v##name##_bf16(POWER_ARRAYS(rm_bf16));                                                 \
    if (status == RM_OK) return 0;                                                                                     \
    fail(status);                                                                                                      \
    return -1;                                                                                                         \
  }                                                                                                                    \
  static PyUFuncGenericFunction loops_##name[] = {name##_f16, name##_f32, name##_f64};                                 \
  static PyUFuncGenericFunction loops_rounded_##name[] = {name##_rounded_f32, name##_rounded_f64};
#include "../../crlibm/powers.def"
#undef RM_POWER

static const char types_powers[] = {NPY_HALF,  NPY_INT64,  NPY_HALF,  NPY_FLOAT, NPY_INT64,
                                    NPY_FLOAT, NPY_DOUBLE, NPY_INT64, NPY_DOUBLE};
static const struct {
  const char *name, *doc;
  PyUFuncGenericFunction *loops, *rounded;
  PyArrayMethod_StridedLoop *loop_bf16;
} powers[] = {
#define POWER_DOC                                                                                                         \
  ", elementwise and correctly rounded.\n\nThe value of the definition over the reals, rounded once to nearest, ties to " \
  "even.\n\nParameters\n----------\nx : array_like\n    Of float16, float32, float64 or bfloat16 (ml_dtypes). Integers "  \
  "and bool are\n    converted to float64 first.\nn : array_like\n    Integers that int64 holds, of a shape that "        \
  "broadcasts with `x`.\nout, where, casting, order, dtype, subok, signature\n    As for every NumPy ufunc.\n\n"          \
  "Returns\n-------\ny : ndarray or scalar\n    Of the broadcast shape and the type of `x`. A NaN is the canonical "      \
  "quiet NaN.\n\nRaises\n------\nTypeError\n    `x` is longdouble, complex or not a number, or `n` is of floats or "      \
  "uint64.\nValueError\n    `out` is read-only or not of the broadcast shape.\n"
#define RM_POWER(name, NAME, definition, special) \
  {#name, definition " for an integer n" POWER_DOC, loops_##name, loops_rounded_##name, name##_bf16},
#include "../../crlibm/powers.def"
#undef RM_POWER
};
enum { POWER_FUNCTIONS = sizeof powers / sizeof *powers };

PyObject *rm_py_power_ufuncs(int mode) {
  PyObject *dict = PyDict_New();
  for (int i = 0; dict && i < POWER_FUNCTIONS; i++) {
    PyObject *ufunc = mode < 0 ? PyUFunc_FromFuncAndData(powers[i].loops, no_data, types_powers, 3, 2, 1, PyUFunc_None,
                                                         powers[i].name, powers[i].doc, 0)
                               : PyUFunc_FromFuncAndData(powers[i].rounded, modes[mode], types_powers + 3, 2, 2, 1,
                                                         PyUFunc_None, powers[i].name, powers[i].doc, 0);
    if (put(dict, powers[i].name, ufunc) < 0) Py_CLEAR(dict);
  }
  return dict;
}

/* The number becomes `type`, and the integer int64, unless the caller fixed them. */
static int promote_power(PyArray_DTypeMeta *type, PyArray_DTypeMeta *const signature[], PyArray_DTypeMeta *chosen[]) {
  if (signature[0] || signature[2]) type = signature[0] ? signature[0] : signature[2];
  chosen[0] = type;
  chosen[1] = signature[1] ? signature[1] : &PyArray_Int64DType;
  chosen[2] = signature[2] ? signature[2] : type;
  for (int i = 0; i < 3; i++) Py_INCREF((PyObject *)chosen[i]);
  return 0;
}
static int power_to_double(PyObject *ufunc, PyArray_DTypeMeta *const given[], PyArray_DTypeMeta *const signature[],
                           PyArray_DTypeMeta *chosen[]) {
  (void)ufunc, (void)given;
  return promote_power(&PyArray_DoubleDType, signature, chosen);
}
static int power_to_bfloat16(PyObject *ufunc, PyArray_DTypeMeta *const given[], PyArray_DTypeMeta *const signature[],
                             PyArray_DTypeMeta *chosen[]) {
  (void)ufunc, (void)given;
  return promote_power(bfloat16, signature, chosen);
}

/* A promoter for numbers of each class beside integers of each. */
static int add_power_promoters(PyObject *ufuncs, PyObject *const *classes, int count,
                               PyArrayMethod_PromoterFunction *function) {
  PyObject *integers[] = {(PyObject *)&PyArray_IntAbstractDType, (PyObject *)&PyArray_BoolDType};
  PyObject *promoter = PyCapsule_New((void *)function, "numpy._ufunc_promoter", NULL);
  int failed = !promoter;
  for (int i = 0; i < POWER_FUNCTIONS; i++) {
    PyObject *ufunc = PyDict_GetItemString(ufuncs, powers[i].name);
    for (int k = 0; !failed && k < 2 * count; k++) {
      PyObject *given = ufunc ? PyTuple_Pack(3, classes[k / 2], integers[k % 2], Py_None) : NULL;
      failed = !given || PyUFunc_AddPromoter(ufunc, given, promoter) < 0;
      Py_XDECREF(given);
    }
  }
  Py_XDECREF(promoter);
  return failed ? -1 : 0;
}

int rm_py_promote_powers_to_double(PyObject *ufuncs) {
  PyObject *classes[] = {(PyObject *)&PyArray_IntAbstractDType, (PyObject *)&PyArray_BoolDType,
                         (PyObject *)&PyArray_PyFloatDType};
  return add_power_promoters(ufuncs, classes, 3, power_to_double);
}

int rm_py_add_bfloat16_powers(PyObject *ufuncs, PyObject *dtype_class) {
  PyArray_DTypeMeta *const type = (PyArray_DTypeMeta *)dtype_class;
  for (int i = 0; i < POWER_FUNCTIONS; i++) {
    PyArray_DTypeMeta *operands[] = {type, &PyArray_Int64DType, type};
    PyType_Slot slots[] = {{NPY_METH_strided_loop, (void *)powers[i].loop_bf16}, {0, NULL}};
    PyArrayMethod_Spec spec = {powers[i].name, 2, 1, NPY_NO_CASTING, 0, operands, slots};
    PyObject *ufunc = PyDict_GetItemString(ufuncs, powers[i].name);
    if (!ufunc || PyUFunc_AddLoopFromSpec(ufunc, &spec) < 0) return -1;
  }
  return add_power_promoters(ufuncs, &dtype_class, 1, power_to_bfloat16);
}

/* ---- reductions -------------------------------------------------------------------------------------------------- */

/* A gufunc's loop gets the outer length, then the core lengths; the outer strides, then the core strides. */
#define REDUCTION_LOOPS(fmt, ctype)                                                                                         \
  static void sum_##fmt(char **p, npy_intp const *n, npy_intp const *s, void *data) {                                       \
    (void)data;                                                                                                             \
    for (npy_intp i = 0; i < n[0]; i++) {                                                                                   \
      rm_status status = rm_sum_##fmt(n[1], (const ctype *)(p[0] + i * s[0]), s[2], (ctype *)(p[1] + i * s[1]));            \
      if (status != RM_OK) {                                                                                                \
        fail(status);                                                                                                       \
        return;                                                                                                             \
      }                                                                                                                     \
    }                                                                                                                       \
  }                                                                                                                         \
  static void dot_##fmt(char **p, npy_intp const *n, npy_intp const *s, void *data) {                                       \
    (void)data;                                                                                                             \
    for (npy_intp i = 0; i < n[0]; i++) {                                                                                   \
      rm_status status = rm_dot_##fmt(n[1], (const ctype *)(p[0] + i * s[0]), s[3], (const ctype *)(p[1] + i * s[1]), s[4], \
                                      (ctype *)(p[2] + i * s[2]));                                                          \
      if (status != RM_OK) {                                                                                                \
        fail(status);                                                                                                       \
        return;                                                                                                             \
      }                                                                                                                     \
    }                                                                                                                       \
  }
REDUCTION_LOOPS(f32, float)
REDUCTION_LOOPS(f64, double)

/* Core lengths n, k, m: rows, terms, columns; s: the outer strides, then the core ones. Where the whole batch may overlap,
 * which bytes that lie interleaved count as, its products go one by one. -1 with an exception. */
static int matmul_batch(int format, char *const *p, npy_intp const *n, npy_intp const *s, int biased) {
  const int operands = 3 + biased;
  npy_intp const *outer = s, *core = s + operands;
  npy_intp batch = n[0];
  for (npy_intp i = 0; i < n[0]; i += batch) {
    const char *bias = biased ? p[2] + i * outer[2] : NULL;
    const rm_status status =
        rm_matmul_batched(format, format, batch, n[1], n[3], n[2], p[0] + i * outer[0], outer[0], core[0], core[1],
                          p[1] + i * outer[1], outer[1], core[2], core[3], bias, biased ? outer[2] : 0, biased ? core[4] : 0,
                          p[operands - 1] + i * outer[operands - 1], outer[operands - 1], core[4 + biased], core[5 + biased]);
    if (rm_status_code(status) == RM_ERR_OVERLAP && batch > 1) {
      batch = 1;
      i = -1;
    } else if (status != RM_OK) {
      fail(status);
      return -1;
    }
  }
  return 0;
}
#define MATMUL_LOOPS(fmt, FORMAT)                                                             \
  static void matmul_##fmt(char **p, npy_intp const *n, npy_intp const *s, void *data) {      \
    (void)data;                                                                               \
    matmul_batch(FORMAT, p, n, s, 0);                                                         \
  }                                                                                           \
  static void matmul_bias_##fmt(char **p, npy_intp const *n, npy_intp const *s, void *data) { \
    (void)data;                                                                               \
    matmul_batch(FORMAT, p, n, s, 1);                                                         \
  }
MATMUL_LOOPS(f16, RM_FORMAT_F16)
MATMUL_LOOPS(f32, RM_FORMAT_F32)
MATMUL_LOOPS(f64, RM_FORMAT_F64)

/* bfloat16 has its loops by the interface for new dtypes. */
static int matmul_bf16(PyArrayMethod_Context *context, char *const *p, npy_intp const *n, npy_intp const *s,
                       NpyAuxData *aux) {
  (void)context, (void)aux;
  return matmul_batch(RM_FORMAT_BF16, p, n, s, 0); /* without the GIL */
}
static int matmul_bias_bf16(PyArrayMethod_Context *context, char *const *p, npy_intp const *n, npy_intp const *s,
                            NpyAuxData *aux) {
  (void)context, (void)aux;
  return matmul_batch(RM_FORMAT_BF16, p, n, s, 1);
}

static PyUFuncGenericFunction loops_sum[] = {sum_f32, sum_f64};
static PyUFuncGenericFunction loops_dot[] = {dot_f32, dot_f64};
static PyUFuncGenericFunction loops_matmul[] = {matmul_f16, matmul_f32, matmul_f64};
static PyUFuncGenericFunction loops_matmul_bias[] = {matmul_bias_f16, matmul_bias_f32, matmul_bias_f64};
/* The types of a loop for float16 and of one each for float32 and float64, for so many operands. */
static const char types2[] = {NPY_FLOAT, NPY_FLOAT, NPY_DOUBLE, NPY_DOUBLE};
static const char types3[] = {NPY_HALF,  NPY_HALF,   NPY_HALF,   NPY_FLOAT, NPY_FLOAT,
                              NPY_FLOAT, NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE};
static const char types4[] = {NPY_HALF,  NPY_HALF,  NPY_HALF,   NPY_HALF,   NPY_FLOAT,  NPY_FLOAT,
                              NPY_FLOAT, NPY_FLOAT, NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE};
static const struct {
  const char *name, *signature;
  PyUFuncGenericFunction *loops;
  const char *types;
  int count, inputs; /* of loops, of operands */
  PyArrayMethod_StridedLoop *loop_bf16;
} gufuncs[] = {
    {"sum", "(k)->()", loops_sum, types2, 2, 1, NULL},
    {"dot", "(k),(k)->()", loops_dot, types3 + 3, 2, 2, NULL},
    {"matmul", "(n?,k),(k,m?)->(n?,m?)", loops_matmul, types3, 3, 2, matmul_bf16},
    {"matmul_bias", "(n?,k),(k,m?),(m?)->(n?,m?)", loops_matmul_bias, types4, 3, 3, matmul_bias_bf16},
};
enum { GUFUNCS = sizeof gufuncs / sizeof *gufuncs };

PyObject *rm_py_reduction_gufuncs(void) {
  PyObject *dict = PyDict_New();
  if (!dict) return NULL;
  for (int i = 0; i < GUFUNCS; i++)
    if (put(dict, gufuncs[i].name,
            PyUFunc_FromFuncAndDataAndSignature(gufuncs[i].loops, no_data, gufuncs[i].types, gufuncs[i].count,
                                                gufuncs[i].inputs, 1, PyUFunc_None, gufuncs[i].name, NULL, 0,
                                                gufuncs[i].signature)) < 0) {
      Py_DECREF(dict);
      return NULL;
    }
  return dict;
}

int rm_py_add_bfloat16_reductions(PyObject *dict, PyObject *dtype_class) {
  PyArray_DTypeMeta *type = (PyArray_DTypeMeta *)dtype_class, *operands[] = {type, type, type, type};
  for (int i = 0; i < GUFUNCS; i++) {
    if (!gufuncs[i].loop_bf16) continue;
    PyType_Slot slots[] = {{NPY_METH_strided_loop, (void *)gufuncs[i].loop_bf16}, {0, NULL}};
    PyArrayMethod_Spec spec = {gufuncs[i].name, gufuncs[i].inputs, 1, NPY_NO_CASTING, 0, operands, slots};
    PyObject *ufunc = PyDict_GetItemString(dict, gufuncs[i].name);
    if (!ufunc || PyUFunc_AddLoopFromSpec(ufunc, &spec) < 0) return -1;
  }
  return 0;
}

int rm_py_same_float(PyObject *a, PyObject *b) {
  if (!PyArray_CheckExact(a) || !PyArray_CheckExact(b)) return 0;
  int type = PyArray_TYPE((PyArrayObject *)a);
  return (type == NPY_FLOAT || type == NPY_DOUBLE) && PyArray_TYPE((PyArrayObject *)b) == type;
}
