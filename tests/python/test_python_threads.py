"""Python's threads call at once what each of them called alone, and get the same bits. Without the GIL these are true races: the modules declare
that they need no lock, and importing them must not bring it back."""

import copy
import sys
import sysconfig
import threading

import numpy as np
import pytest
from public_calls import CALLS

import repmath

THREADS, ROUNDS = 6, 3
WORK = [(getattr(module, name), arguments, options) for module, calls in CALLS.items() for name, arguments, options in calls]
X = np.linspace(0.1, 0.9, 50)
WORK += [(ufunc, (X,) * ufunc.nin, {}) for ufunc in repmath._core.ufuncs.values()]


def results(start):
    """The bits of every call, which each thread begins elsewhere. Steps of optimisers write into their arguments: these are copies."""
    found = {}
    for i in range(len(WORK)):
        function, arguments, options = WORK[(start + i) % len(WORK)]
        with np.errstate(all="ignore"):
            found[(start + i) % len(WORK)] = raw(function(*copy.deepcopy(arguments), **options))
    return found


def raw(value):
    if isinstance(value, (tuple, list)):
        return [raw(v) for v in value]
    return value if isinstance(value, str) else np.asarray(value).tobytes()


def at_once(*works):
    """Runs them in threads that begin together; an exception of one is raised here."""
    gate, raised = threading.Barrier(len(works)), []

    def run(work):
        gate.wait()
        try:
            work()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


def test_every_function():
    """While they compute, one thread changes the number of threads and another reads and resets the counters."""
    expected, done = results(0), threading.Event()

    def compute(k):
        def work():
            for r in range(ROUNDS):
                assert results(len(WORK) * (k + r) // THREADS) == expected

        return work

    def change():
        for n in range(10**9):
            repmath.set_num_threads(1 + n % 3)
            repmath.reset_stats() if n % 2 else repmath.stats()
            if done.wait(0.001):
                return

    before = repmath.get_num_threads()
    changing = threading.Thread(target=change)
    changing.start()
    try:
        at_once(*(compute(k) for k in range(THREADS)))
    finally:
        done.set()
        changing.join()
        repmath.set_num_threads(before)


def test_one_accumulator():
    """Threads add to one exact sum, merge it and round it meanwhile: no term is lost or counted twice."""
    total, terms = repmath.Accumulator(), np.array([1e300, 2.0**-1000, 1.0])

    def add():
        for _ in range(200):
            total.add(terms)
            total.round(np.float32)
            part = repmath.Accumulator()
            part.add_products(terms[1:], terms[1:])
            total.merge(part)

    at_once(*(add for _ in range(THREADS)))
    n, one = 200 * THREADS, repmath.Accumulator()
    one.add(np.repeat(terms, n))
    one.add_products(np.repeat(terms[1:], n), np.repeat(terms[1:], n))
    assert bytes(total.to_bytes()) == bytes(one.to_bytes())


def test_control_a_lost_term_is_seen():
    a, b = repmath.Accumulator([1.0, 2.0**-1000]), repmath.Accumulator([1.0])
    assert a.to_bytes() != b.to_bytes()


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has the GIL")
def test_the_gil_stays_off():
    """A module that does not declare itself would bring it back when it is imported."""
    assert not sys._is_gil_enabled()
