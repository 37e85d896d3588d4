# cython: language_level=3, freethreading_compatible=True
"""The floating-point environment of the threads of another library's pool."""

cdef extern from "pools.h" nogil:
    ctypedef void rm_py_parallel
    void rm_py_pool_hold(rm_py_parallel *parallel)
    void rm_py_pool_release(rm_py_parallel *parallel)


def hold(size_t parallel):
    """The threads of this thread's pool get the default floating-point environment. `parallel` is the address of GOMP_parallel."""
    with nogil:
        rm_py_pool_hold(<rm_py_parallel *>parallel)


def release(size_t parallel):
    """They get back what they had before `hold`."""
    with nogil:
        rm_py_pool_release(<rm_py_parallel *>parallel)
