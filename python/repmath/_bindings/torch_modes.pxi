# The quick parts of the modes by which PyTorch calls: an operator's prepared call is tried first, then the table's function on plain tensors.

cdef struct Kinds:
    int tensors, format
    bint others, several  # tensors that are not of one of the formats, and of several of these


cdef bint _known_kinds(object values, Kinds *k) except -1:
    """Whether all tensors among the values are plain ones of the CPU; of which kinds they are."""
    cdef Tensor v
    cdef int format
    for t in values:
        kind = type(t)
        if kind is _tensor_class or kind is _parameter_class:
            if _exchange.tensor_from_object(<void *>t, &v) != 0:
                PyErr_Clear()
                return False
            if v.device.type != 1:
                return False
            k.tensors += 1
            format = _format(&v)
            if format < 0:
                k.others = True
            elif k.format < 0:
                k.format = format
            elif k.format != format:
                k.several = True
        elif kind is list or kind is tuple:
            if not _known_kinds(t, k):
                return False
        elif isinstance(t, _tensor_class):
            return False
    return True


cdef class Failure:
    """What a function of the table raised."""

    cdef object error

    def __init__(self, error):
        self.error = error


cdef object _by_table(func, tuple args, dict kwargs):
    """What the table's function for the operator returns for plain tensors, inside of which no function of PyTorch's is looked at by a mode; NotImplemented for
    others. Where all tensors are of one format, the function need not be told so: `of_floats` is that without the checks."""
    cdef Kinds k
    function = _table.get(func)
    if function is None:
        return NotImplemented
    k.tensors, k.format, k.others, k.several = 0, -1, False, False
    if not _known_kinds(args, &k) or _compiling() is not None:
        return NotImplemented
    if kwargs:
        device = kwargs.get("device")
        if (device is not None and device.type != "cpu") or not _known_kinds(kwargs.values(), &k):
            return NotImplemented
    if k.tensors == 0:
        return NotImplemented
    if not k.others and not k.several and (not kwargs or "dtype" not in kwargs):
        function = getattr(function, "of_floats", function)
    try:
        with _without_functions():
            return function(*args, **kwargs) if kwargs else function(*args)
    except Exception as error:
        return Failure(error)


cdef class Dispatch:
    """The quick part of the mode by which PyTorch's dispatcher calls: prepared calls, and functions of the table on plain tensors, of the
    innermost block of the running code. All else goes to `general`, which a subclass has, and errors to its `failed`; `home` is the mode's,
    of blocks."""

    cdef public object home

    def __torch_dispatch__(self, func, types, tuple args=(), dict kwargs=None):
        cdef fenv_t saved
        if not types:
            found = _calls.get(id(func))
            if self._enters(args):
                if type(found) is Passed:
                    return func(*args, **kwargs) if kwargs else func(*args)
                made = NotImplemented
                fegetenv(&saved)
                fesetenv(FE_DFL_ENV)
                try:
                    if found is not None:
                        made = (<Call>found).run(args, kwargs)
                    if made is NotImplemented:
                        made = _by_table(func, args, kwargs)
                finally:
                    fesetenv(&saved)
                if type(made) is Failure:
                    return self.failed((<Failure>made).error, func, args, {} if kwargs is None else kwargs)
                if made is not NotImplemented:
                    return made
        return self.general(func, types, args, {} if kwargs is None else kwargs)

    cdef bint _enters(self, tuple args) except -1:
        """Whether the running code is in a block of this thread, plainly, and gets no parameter that may have been made outside."""
        entered = _entered()
        if not entered:
            return False
        last = entered[-1]
        if not last.alive or last.home is not self.home:
            return False
        block = last.block
        looks = block._looks
        if looks:
            for v in args:
                if type(v) is _parameter_class and id(v) not in _known:
                    return False
            block._looks = looks - 1
        return True


cdef class Functions:
    """The quick part of the mode by which PyTorch's functions call: all but those of `special` are called as they are."""

    cdef public object special

    def __torch_function__(self, func, types, tuple args=(), dict kwargs=None):
        if func in self.special:
            return self.general(func, types, args, kwargs)
        return func(*args, **kwargs) if kwargs else func(*args)
