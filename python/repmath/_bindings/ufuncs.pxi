# NumPy's ufuncs over the elementwise functions and reductions, and the data types that are added to them.

ufuncs = rm_py_elementwise_ufuncs()
gufuncs = rm_py_reduction_gufuncs()
# rounding mode -> name -> ufunc, for float32 and float64
rounded = {
    "nearest": rm_py_rounded_ufuncs(RM_ROUND_NEAREST),
    "toward_zero": rm_py_rounded_ufuncs(RM_ROUND_TOWARD_ZERO),
    "down": rm_py_rounded_ufuncs(RM_ROUND_DOWN),
    "up": rm_py_rounded_ufuncs(RM_ROUND_UP),
}
# The powers with an integer: name -> ufunc, and the same under each rounding mode.
powers = rm_py_power_ufuncs(-1)
rounded_powers = {
    "nearest": rm_py_power_ufuncs(RM_ROUND_NEAREST),
    "toward_zero": rm_py_power_ufuncs(RM_ROUND_TOWARD_ZERO),
    "down": rm_py_power_ufuncs(RM_ROUND_DOWN),
    "up": rm_py_power_ufuncs(RM_ROUND_UP),
}
# Their definitions, which their texts begin with after the signature.
power_definitions = {name: f.__doc__.split(" for an integer n", 1)[0].rsplit("\n", 1)[-1] for name, f in powers.items()}
for _ufuncs in (powers, *rounded_powers.values()):
    rm_py_promote_powers_to_double(_ufuncs)
for _ufuncs in (ufuncs, *rounded.values()):
    rm_py_promote_to_double(_ufuncs)


def set_scoped(function):
    """Sets what is asked before an elementwise ufunc runs while scopes of random rounding are open (_scope.py)."""
    rm_py_set_scoped(ufuncs, function)
    rm_py_set_scoped(powers, function)


def open_scopes(long more):
    """Adds to the number of open scopes."""
    rm_py_open_scopes(more)


def add_bfloat16(dtype_class):
    """Give every elementwise ufunc a loop for this DType class, whose elements are bfloat16."""
    rm_py_add_bfloat16(ufuncs, dtype_class)
    rm_py_add_bfloat16_powers(powers, dtype_class)
    rm_py_add_bfloat16_reductions(gufuncs, dtype_class)


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
