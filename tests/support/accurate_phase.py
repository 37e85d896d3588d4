"""The accurate phase of each function, compiled with several settings, and the check of its bits and flags."""

import ctypes
import hashlib
import re

import bound_sites
import native
import numpy as np
import oracle
import pytest

RULES = list(oracle.RULES)
FORMATS = list(oracle.FORMATS)
APPROXIMATE = [f for f in oracle.UNARY if f not in oracle.ALGEBRAIC]
FIRST = int(re.search(r"#define RM_CFG_MP_FIRST (\d+)", (oracle.ROOT / "crlibm/fp/mp.h").read_text())[1])
# What the driver is compiled with, and the limbs of the first multiprecision evaluation, which are an argument: no build is made for them.
BUILDS = {
    "all": ([], FIRST),
    "mp": (["-DRM_CFG_NO_DD"], FIRST),
    "mp-from-1-limb": (["-DRM_CFG_NO_DD"], 1),
    "mp-8-limbs": (["-DRM_CFG_NO_DD"], 8),
    # Not optimised: they are compiled longer than they run.
    "control-dd": (["-O0", "-DRM_CFG_BOUND_SHRINK=0x1p-20"], FIRST),
    "control-mp": (["-O0", "-DRM_CFG_NO_DD", "-DRM_CFG_BOUND_SHRINK=0x1p-20"], 1),
}


class AccuratePhase:
    """The accurate phase of one function, compiled with the settings of a build."""

    def __init__(self, path, first, function):
        self.library = ctypes.CDLL(str(path))
        self.first, self.function = first, function

    def __call__(self, x, fmt, rule="nearest"):
        arrays = [np.ascontiguousarray(v, dtype=np.float64) for v in (x if isinstance(x, tuple) else (x,))]
        y, flags = np.empty(arrays[0].size, np.uint64), np.empty(arrays[0].size, np.uint32)
        pointers = (ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])
        self.library.rm_test_accurate(
            self.first,
            oracle.FUNCTIONS.index(self.function),
            len(arrays),
            FORMATS.index(fmt),
            RULES.index(rule),
            ctypes.c_int64(y.size),
            pointers,
            y.ctypes.data_as(ctypes.c_void_p),
            flags.ctypes.data_as(ctypes.c_void_p),
        )
        return y.astype(oracle.FORMATS[fmt][2]), flags


@pytest.fixture(scope="session")
def compiled():
    """Compiles a driver of the headers with some options. It is kept beside the builds: several files of tests use it."""
    return lambda source, *options: native.driver(oracle.ROOT / "tests/support" / source, *options)


@pytest.fixture(scope="session")
def accurate(compiled):
    with native.locked("drivers"):
        headers = native.BUILDS / "accurate_headers.h"
        text = "".join(f'#include "{oracle.ROOT}/crlibm/{f}/{f}_accurate.h"\n' for f in oracle.FUNCTIONS)
        bound_sites.write(headers, text)

    def build(name, function):
        options, first = BUILDS[name]
        return AccuratePhase(compiled("accurate_driver.c", f'-DRM_TEST_HEADERS="{headers}"', *options), first, function)

    return build


def row(x, i):
    return [float(v[i]).hex() for v in (x if isinstance(x, tuple) else (x,))]


_known: dict[tuple, np.ndarray] = {}


def kept(compute, function, x, fmt, rule):
    """What the oracle computes of these arguments. It is kept for the other builds, which are held to the same values."""
    data = b"".join(np.ascontiguousarray(v).tobytes() for v in (x if isinstance(x, tuple) else (x,)))
    key = compute, function, fmt, rule, hashlib.sha256(data).digest()
    if key not in _known:
        if len(_known) > 20:
            _known.clear()
        _known[key] = compute(function, x, fmt, rule)
    return _known[key]


def check(accurate, function, x, fmt, rule, with_flags=False):
    got, flags = accurate(x, fmt, rule)
    want = kept(oracle.values, function, x, fmt, rule)
    wrong = np.flatnonzero(got != want)
    assert wrong.size == 0, [(row(x, i), hex(got[i]), hex(want[i])) for i in wrong[:5]]
    if with_flags:
        wrong = np.flatnonzero(flags != kept(oracle.flags, function, x, fmt, rule))
        assert wrong.size == 0, [(row(x, i), flags[i]) for i in wrong[:5]]
