# The fast part of the modes by which PyTorch calls the library: an operator's prepared call is tried first, then the table's function.

from cpython.pythread cimport PyThread_get_thread_ident

# Calls that ask PyTorch for nothing but memory and views.
_QUIET = (
    Elementwise, Rows, Prefixes, Product, Vectors, Linear, General, Total, Steps, Scattered, Trace, LayerNorm, LayerNormGradient, GroupNorm,
    GroupNormGradient, BatchNorm, BatchNormGradient, Attention, Convolution, ConvolutionGradient, Pool, PoolGradient, MaximaGradient, ClassLoss,
    ClassLossGradient, PairLoss, LogitLoss, Collected, GateGradient, WeightNorm, Renorm, Distances, Distance, Cross, GridSample, LineCopy,
    Margins, Histogram, EmbeddingGradient, BagGradient, BagWeightGradient, Resized
)


cdef struct Kinds:
    int tensors, format
    bint others, several  # whether tensors are not of one of the formats, and are of several of these
    bint inexact  # whether there is a tensor, a number or a dtype that is not of integers


cdef bint _known_kinds(object values, Kinds *k) except -1:
    """Whether all tensors among the values are plain ones of the CPU. Sets their kinds."""
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
            k.inexact = k.inexact or (v.type.code != 0 and v.type.code != 1 and v.type.code != 6)  # of DLPack: integers, bool
            if format < 0:
                k.others = True
            elif k.format < 0:
                k.format = format
            elif k.format != format:
                k.several = True
        elif kind is list or kind is tuple:
            if not _known_kinds(t, k):
                return False
        elif kind is float or kind is complex or (kind is _dtype_class and (t.is_floating_point or t.is_complex)):
            k.inexact = True
        elif isinstance(t, _tensor_class):
            return False
    return True


cdef void _no_kinds(Kinds *k) noexcept:
    k.tensors, k.format, k.others, k.several, k.inexact = 0, -1, False, False, False


cdef bint _has_devices = False


def prepare_devices():
    """Says that tensors may be on a GPU from now on, so that operators that move elements are looked at, too."""
    global _has_devices
    _has_devices = True


cdef bint _in_main_memory(tuple args, dict kwargs) except -1:
    """Whether the arguments are plain tensors of the CPU, and the result is to be one."""
    cdef Kinds k
    _no_kinds(&k)
    if kwargs:
        device = kwargs.get("device")
        if (device is not None and device.type != "cpu") or not _known_kinds(kwargs.values(), &k):
            return False
    return _known_kinds(args, &k)


cdef class Failure:
    """The error that a function of the table raised."""

    cdef object error

    def __init__(self, error):
        self.error = error


cdef object _by_table(func, tuple args, dict kwargs):
    """Returns what the table's function for the operator returns for plain tensors, NotImplemented for others. `of_floats` is the function
    without checks, for tensors of one format; of `integers` alone PyTorch's own operator serves."""
    cdef Kinds k
    cdef fenv_t saved
    function = _table.get(func)
    if function is None:
        return NotImplemented
    _no_kinds(&k)
    if not _known_kinds(args, &k) or _compiling() is not None:
        return NotImplemented
    if kwargs:
        device = kwargs.get("device")
        if (device is not None and device.type != "cpu") or not _known_kinds(kwargs.values(), &k):
            return NotImplemented
    if k.tensors == 0:
        return NotImplemented
    if not k.inexact and getattr(function, "integers", False):
        return func(*args, **kwargs) if kwargs else func(*args)
    if not k.others and not k.several and (not kwargs or "dtype" not in kwargs):
        function = getattr(function, "of_floats", function)
    fegetenv(&saved)
    fesetenv(FE_DFL_ENV)
    try:
        with _silence(all="ignore"):  # PyTorch warns of no overflow, and prepared calls do not
            return function(*args, **kwargs) if kwargs else function(*args)
    except Exception as error:
        return Failure(error)
    finally:
        fesetenv(&saved)


cdef object _prepared(Call call, tuple args, dict kwargs):
    """Makes the call in the default floating-point environment. The caller's flags stay as they are."""
    cdef fenv_t saved
    cdef unsigned flags
    if rm_py_has_default_environment():
        flags = rm_py_get_flags()
        try:
            return call.run(args, kwargs)
        finally:
            rm_py_set_flags(flags)
    fegetenv(&saved)
    fesetenv(FE_DFL_ENV)
    try:
        return call.run(args, kwargs)
    finally:
        fesetenv(&saved)


cdef class Dispatch:
    """The quick part of the mode by which PyTorch's dispatcher calls: prepared calls, and functions of the table on plain tensors, of the
    innermost block of the running code. All else goes to `general`, which a subclass has, and errors to its `failed`; `home` is the mode's,
    of blocks, and `thread` the one that it belongs to. `rounding` has the modes of blocks that round at random, the innermost last."""

    cdef public object home
    cdef public unsigned long thread
    cdef public tuple rounding

    def __torch_dispatch__(self, func, types, tuple args=(), dict kwargs=None):
        if not types and self._enters(args):
            made = self._run(_calls.get(id(func)), func, args, kwargs)
            if made is not NotImplemented:
                return made
        return self.general(func, types, args, {} if kwargs is None else kwargs)

    cdef object _run(self, found, func, tuple args, dict kwargs):
        """Returns what the prepared call or the table's function returns, NotImplemented if neither knows such arguments."""
        if type(found) is Passed and (not _has_devices or _in_main_memory(args, kwargs)):
            return func(*args, **kwargs) if kwargs else func(*args)
        if type(found) is Passed:
            return NotImplemented
        made = _prepared(<Call>found, args, kwargs) if found is not None else NotImplemented
        if made is NotImplemented:
            made = _by_table(func, args, kwargs)
        if type(made) is Failure:
            return self.failed((<Failure>made).error, func, args, {} if kwargs is None else kwargs)
        return made

    def quick(self, func, tuple args, dict kwargs):
        """What the prepared call or the table's function returns, NotImplemented if neither knows such arguments."""
        return self._run(_calls.get(id(func)), func, args, kwargs)

    def nearest(self, func, tuple args, dict kwargs):
        """What the key's call returns, rounded to nearest. While the library computes, the key is excluded: as a mode does not see what is
        called while it handles an operator."""
        cdef tuple rounding = self.rounding
        found, made, enters = _calls.get(id(func)), NotImplemented, self._enters(args)
        if enters and found is not None and (<Call>found).quiet:
            made = _prepared(<Call>found, args, kwargs)
            if made is not NotImplemented:
                return made
            found = None
        _exclude(_key, True)
        self.rounding = ()
        try:
            if enters:
                made = self._run(found, func, args, kwargs)
            return self.by_key(func, args, kwargs) if made is NotImplemented else made
        finally:
            self.rounding = rounding
            _exclude(_key, False)

    cdef object _at_random(self, func, tuple args, dict kwargs):
        """What the innermost mode of `rounding` makes of an operator, which finds those outside of it meanwhile; NotImplemented of one that
        never rounds. What needs PyTorch's care, it calls as modes."""
        cdef tuple rounding = self.rounding
        cdef Kinds k
        innermost = rounding[len(rounding) - 1]
        about = _roundings.get(id(func))
        if about is None:
            about = _roundings[id(func)] = innermost.about(func)
        if about.name is None:
            return NotImplemented
        _no_kinds(&k)
        if not _known_kinds(args, &k) or (kwargs and not _known_kinds(kwargs.values(), &k)) or _compiling() is not None or _any_autocast():
            _exclude(_key, True)
            try:
                return self.home.call_as_mode(func, args, kwargs)
            finally:
                _exclude(_key, False)
        self.rounding = rounding[:len(rounding) - 1]
        try:
            return innermost.called(self, about, args, kwargs, k.format >= 0 and not k.others and not k.several)
        finally:
            self.rounding = rounding

    cdef bint _enters(self, tuple args) except -1:
        """Whether the running code is in a block of this thread and not in another context, and gets no parameter, or view of one, that may
        have been made outside. A backward pass of a block with exact gradients does not enter: its operators are looked at first."""
        entered = _entered()
        if not entered:
            return False
        last = entered[-1]
        if not last.alive or last.home is not self.home:
            return False
        block = last.block
        if block._exact is not None and _current_node() is not None:
            return False  # a backward pass whose sums are deferred
        looks = block._looks
        if looks:
            for v in args:
                kind = type(v)
                if kind is _tensor_class:
                    v = v._base
                    kind = type(v)
                if kind is _parameter_class and id(v) not in _known:
                    return False
            block._looks = looks - 1
        return True


cdef object _exclude = None, _key = None, _dispatch_of = None, _current_node = None, _any_autocast = None
cdef dict _roundings = {}  # id of an operator's overload -> what modes that round at random say about it, which keeps it


def prepare_key(exclude, key, dispatch_of, current_node, any_autocast):
    """Sets how the dispatch key is excluded in a thread, the key, the function that finds the mode of one of PyTorch's own threads, that
    which returns the node of the backward pass that runs, and whether autocast is on."""
    global _exclude, _key, _dispatch_of, _current_node, _any_autocast
    _exclude, _key, _dispatch_of, _current_node, _any_autocast = exclude, key, dispatch_of, current_node, any_autocast


def called_by_key(func, *args, **kwargs):
    """What PyTorch's dispatcher calls by the key."""
    cdef Dispatch mode = None
    entered = _entered()
    if entered:
        mode = <Dispatch?>entered[-1].home.dispatch
        if mode.thread != PyThread_get_thread_ident():
            mode = None  # the context was copied to another thread
    if mode is None:
        mode = <Dispatch?>_dispatch_of()
    if mode.rounding and (entered or mode.thread != PyThread_get_thread_ident()):
        made = mode._at_random(func, args, kwargs)
        if made is not NotImplemented:
            return made
    return mode.nearest(func, args, kwargs)


cdef object _linear_overload = None, _wholes_by = None, _whole_key = None


def prepare_linear(overload, exclude, key):
    """Sets PyTorch's operators for a linear map, and how those that are composed are left to PyTorch."""
    global _linear_overload, _wholes_by, _whole_key
    _linear_overload, _wholes_by, _whole_key = overload, exclude, key


# What says that PyTorch would do nothing with a linear map but compose it: its questions, and the key sets of plain tensors.
cdef object _grad_enabled = None, _autocasts = None, _modes = None, _traced = None, _keys_of = None, _is_included = None, _is_excluded = None
cdef object _duals = None
cdef frozenset _plain_keys = frozenset()
cdef object _linear_default = None


def prepare_linear_alone(torch):
    """Sets what linear maps and RMS norms without gradients ask PyTorch."""
    global _grad_enabled, _autocasts, _modes, _traced, _keys_of, _is_included, _is_excluded, _duals, _plain_keys, _linear_default
    _grad_enabled, _autocasts, _modes = torch.is_grad_enabled, torch.is_autocast_enabled, torch._C._len_torch_dispatch_stack
    _traced, _keys_of, _duals = torch._C._get_tracing_state, torch._C._dispatch_keys, torch.autograd.forward_ad
    _is_included, _is_excluded = torch._C._dispatch_tls_is_dispatch_key_included, torch._C._dispatch_tls_is_dispatch_key_excluded
    _linear_default = torch.ops.aten.linear.default
    with torch.inference_mode():
        without = torch.empty(0)
    _plain_keys = frozenset(_keys_of(t).raw_repr() for t in (torch.empty(0), torch.nn.Parameter(torch.empty(0)), without))


cdef bint _is_plain(t) except -1:
    return (type(t) is _tensor_class or type(t) is _parameter_class) and _keys_of(t).raw_repr() in _plain_keys


cdef bint _is_alone(tuple tensors) except -1:
    """Whether nothing but the result is to be computed of these tensors, which are plain: no autocast, and no other mode."""
    cdef Dispatch mode
    for t in tensors:
        if not _is_plain(t):
            return False
    if _autocasts("cpu") or _modes() != 0 or _traced() is not None or _compiling() is not None or _duals._current_level >= 0:
        return False
    if not _is_included(_key) or _is_excluded(_key):
        return False
    entered = _entered()
    if not entered:
        return False
    mode = <Dispatch?>entered[-1].home.dispatch
    return mode.thread == PyThread_get_thread_ident() and not mode.rounding and mode._enters(tensors)


cdef object _linear_alone(input, weight, bias):
    """A linear map of plain tensors for which nothing but its product is to be done: without gradients, autocast or other modes. It is what
    PyTorch's composition comes to, without its dispatcher. NotImplemented for any other."""
    if _grad_enabled() or not _is_alone((input, weight) if bias is None else (input, weight, bias)):
        return NotImplemented
    call = _calls.get(id(_linear_default))
    return NotImplemented if call is None else _prepared(<Call>call, (input, weight, bias), None)


cdef object _rms_norm_otherwise = None
cdef Call _rms_norm = RmsNorm()


def prepare_rms_norm(otherwise):
    """Sets what takes a call that is not one of plain tensors without gradients."""
    global _rms_norm_otherwise
    _rms_norm_otherwise = otherwise


def rms_norm(input, normalized_shape, weight=None, eps=None):
    """rms_norm, which PyTorch composes, as a whole."""
    tensors = (input,) if weight is None else (input, weight)
    if not _grad_enabled() or not (input.requires_grad or (weight is not None and weight.requires_grad)):
        if _is_alone(tensors):
            made = _prepared(_rms_norm, (input, normalized_shape, weight, eps), {})
            if made is not NotImplemented:
                return made
    return _rms_norm_otherwise(input, normalized_shape, weight, eps)


def linear(input, weight, bias=None):
    """A linear map as PyTorch composes it, but with the bias inside the one rounding. PyTorch would add it afterwards to inputs of more than
    three axes, and to those of three that are not contiguous."""
    cdef int ndim = input.ndim
    cdef bint flat = bias is None or ndim < 3 or input.is_nested
    alone = _linear_alone(input, weight, bias)
    if alone is not NotImplemented:
        return alone
    if not flat:
        entered = _entered()
        flat = not entered or not entered[-1].alive
    _wholes_by(_whole_key, True)
    try:
        if flat:
            return _linear_overload(input, weight, bias)
        made = _linear_overload(input.reshape(-1, input.shape[ndim - 1]), weight, bias)
        return made.view(*input.shape[:-1], weight.shape[0])
    finally:
        _wholes_by(_whole_key, False)
