"""rm_random_sgd_step and rm_random_adam_step against exact rationals and Philox, bit by bit, on every instruction set."""

import ctypes

import elementwise_library
import numpy as np
import optimizers_oracle as reference
import pytest
import rounding_oracle
from optimizers_library import ADAM, ADAM_CASES, FMT, KINDS, NAMES, SGD, SGD_CASES, Adam, Sgd, bits, kind, random
from reductions_library import ENUM, I64, NULL, OK, RANGE, pointer, status

EVERY = (*rounding_oracle.DIRECTED, *rounding_oracle.MODES)  # in the order of the C library, from 1 on
MODES = pytest.mark.parametrize("mode", EVERY)
SEED, STREAM, FIRST = 2**63 + 11, 5 * 2**32 + 8, 3


class Rounding(ctypes.Structure):
    _fields_ = [("mode", ctypes.c_int32), ("seed", ctypes.c_uint64), ("stream", ctypes.c_uint64), ("first", ctypes.c_int64)]


def rounding(mode, stream=STREAM, first=FIRST):
    return Rounding(1 + EVERY.index(mode), SEED, stream, first)


def sgd(lib, fmt, options, x, r):
    o = Sgd(**(SGD | options))
    b = pointer(x[2]) if o.momentum else None
    f = lib.rm_random_sgd_step
    return f(NAMES.index(fmt), I64(len(x[0])), pointer(x[0]), pointer(x[1]), b, ctypes.byref(o), r and ctypes.byref(r))


def adam(lib, fmt, options, x, r):
    options = ADAM | options
    w = pointer(x[4]) if options.pop("amsgrad", 0) else None
    arrays = [pointer(x[k]) for k in range(4)]
    f, o = lib.rm_random_adam_step, Adam(**options)
    return f(NAMES.index(fmt), I64(len(x[0])), *arrays, w, ctypes.byref(o), r and ctypes.byref(r))


def expected(function, fmt, options, x, mode, streams=(0, 1, 2)):
    """The bits of p, m, v, w afterwards; `streams` are those of p, m and v behind STREAM."""
    b = bits(x)
    want = b.copy()
    words = np.stack([rounding_oracle.words(SEED, STREAM + k, FIRST, x.shape[1]) for k in streams])
    for i in range(x.shape[1]):
        p, g, m, v, w = (int(e) for e in b[:, i])
        each = [int(e) for e in words[:, i]]
        if function is sgd:
            p, m2 = reference.sgd(SGD | options, fmt, p, g, m, mode, each)
            new = (p, g, m2, v, w)
        else:
            o = ADAM | options
            p, m, v, w2 = reference.adam(o, fmt, p, g, m, v, w if o.get("amsgrad") else None, mode, each)
            new = (p, g, m, v, w if w2 is None else w2)
        want[:, i] = new
    return want


def check(lib, function, fmt, options, x, mode):
    want, got = expected(function, fmt, options, x, mode), x.copy()
    assert function(lib, fmt, options, got, rounding(mode)) == OK
    wrong = np.argwhere(bits(got) != want)
    assert not len(wrong), (options, [(w.tolist(), x[:, w[1]].tolist(), hex(want[tuple(w)])) for w in wrong[:3]])


@pytest.mark.sample(6)
@FMT
@MODES
@pytest.mark.parametrize("function", [sgd, adam])
def test_hard_data(isa_library, function, mode, fmt):
    rng = np.random.default_rng(61)
    for name in KINDS:
        for options in SGD_CASES if function is sgd else ADAM_CASES:
            check(isa_library, function, fmt, options, random(rng, fmt, 19, name), mode)


@pytest.mark.parametrize("function", [sgd, adam])
@pytest.mark.parametrize("fmt", ["bf16", "f32"])
def test_many_elements(isa_library, function, fmt):
    """More than the words of one chunk; and other streams, or one for all, are seen."""
    x = random(np.random.default_rng(62), fmt, 1201, "gaussian")
    options = {"momentum": 0.9} if function is sgd else {"decoupled": 1, "weight_decay": 0.1}
    check(isa_library, function, fmt, options, x, "stochastic")
    got = x.copy()
    assert function(isa_library, fmt, options, got, rounding("stochastic")) == OK
    for streams in ((1, 0, 2), (0, 0, 0), (0, 1, 3)) if function is adam else ((1, 0, 2), (0, 0, 0)):
        assert (bits(got) != expected(function, fmt, options, x, "stochastic", streams)).any()


def beside_thresholds(fmt, count=150):
    """Elements of SGD and rates such that p - lr g is as near to the threshold of its word as binary64 has rates, or a neighbour."""
    rng = np.random.default_rng(63)
    words = rounding_oracle.words(SEED, STREAM, FIRST, 1)
    quantum = 2.0 ** -{"f16": 10, "bf16": 7, "f32": 23}[fmt]
    for _ in range(count):
        p, g = (float(v) for v in np.array([rng.uniform(1.25, 1.75), -rng.uniform(0.01, 0.05)]).astype(kind(fmt)))
        up = reference.mpq(int(rng.integers(1, 20))) + reference.mpq(2 * int(words[0]) + 1, 2**33)
        lr = float(up * reference.mpq(quantum) / reference.mpq(-g))
        for number in (lr, np.nextafter(lr, 1), np.nextafter(lr, 0)):
            x = np.zeros((5, 1), kind(fmt))
            x[0], x[1] = p, g
            yield {"lr": float(number)}, x


@pytest.mark.parametrize("fmt", ["f16", "bf16", "f32"])
def test_beside_thresholds(isa_library, fmt):
    """And the control: binary64 evaluation without a bound is wrong for some of them."""
    wrong = 0
    for options, x in beside_thresholds(fmt):
        check(isa_library, sgd, fmt, options, x, "stochastic")
        plain = reference.mpq(float(x[0, 0]) - options["lr"] * float(x[1, 0]))
        word = int(rounding_oracle.words(SEED, STREAM, FIRST, 1)[0])
        wrong += rounding_oracle.rounded(plain, fmt, "stochastic", word) != expected(sgd, fmt, options, x, "stochastic")[0, 0]
    assert wrong > 3 or fmt != "f32"


def test_adam_on_boundaries(isa_library):
    """Steps whose powers of beta are too small to be seen leave p' beside a number, a tie or a threshold that is its limit."""
    word = int(rounding_oracle.words(SEED, STREAM, FIRST, 1)[0])
    for mode in EVERY:
        for beta1, beta2, eps, v in [
            (0.5, 0.5, 0.0, 4.0),
            (0.25, 0.5, 0.0, 4.0),
            (0.5, 0.25, 0.25, 0.0),
            (0.5, 0.0, 0.0, 1.0),
        ]:
            for k in (0.5, 1.0, 2.0, float(2 * word + 1) * 2.0**-33):
                for sign in (1, -1):
                    x = np.zeros((5, 1), np.float64)
                    lr = 2 * k * 2.0**-23
                    x[0] = 1.5
                    x[2] = sign * (np.sqrt(v) + eps) * 0.5 / beta1
                    x[1] = np.sqrt(v) if beta2 == 0 else 0.0
                    x[3] = v / beta2 if beta2 else 0.0
                    if beta2 == 0:
                        x[2] = (sign * 0.5 - 0.5) / beta1
                    options = {"lr": lr, "beta1": beta1, "beta2": beta2, "eps": eps, "step": 45000}
                    check(isa_library, adam, "f32", options, x.astype(np.float32), mode)


def test_one_digest_for_instruction_sets_and_threads():
    seen = {}
    for found in elementwise_library.libraries().values():
        lib = found.library
        for threads in (1, 2):
            lib.rm_set_num_threads(threads)
            for fmt in NAMES:
                x = random(np.random.default_rng(64), fmt, 40000 if fmt != "f64" else 3000, "gaussian")
                for function in (sgd, adam):
                    got = x.copy()
                    assert function(lib, fmt, {"momentum": 0.9} if function is sgd else {}, got, rounding("stochastic")) == OK
                    seen.setdefault((fmt, function), set()).add(bits(got).tobytes())
        lib.rm_set_num_threads(0)
    assert {len(v) for v in seen.values()} == {1}


def test_statuses(library):
    x = np.ones((5, 4), np.float32)
    before = x.copy()
    for function, place in ((sgd, 7), (adam, 9)):
        assert function(library, "f32", {}, x, None) == status(NULL, place)
        assert function(library, "f32", {}, x, Rounding(0, 0, 0, 0)) == status(ENUM, place)
        assert function(library, "f32", {}, x, Rounding(4, 0, 0, -1)) == status(RANGE, place)
        assert function(library, "f32", {}, x, Rounding(4, 0, 0, 2**62 - 3)) == status(RANGE, place)
    assert adam(library, "f32", {"beta1": 1.0}, x, rounding("random")) == status(RANGE, 8)
    assert (x == before).all()
