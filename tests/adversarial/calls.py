"""Random calls of public functions with small arguments, each with the digest of its results; for processes of their own.

python calls.py environments SEED ROUNDS     under foreign floating-point environments
python calls.py threads SEED ROUNDS          from several threads at once, with forks between
python calls.py memory SEED ROUNDS           with failing allocations, under interposer.c
"""

import ctypes
import ctypes.util
import hashlib
import os
import pathlib
import sys
import threading

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
np.seterr(all="ignore")

from public_calls import CALLS  # noqa: E402

import repmath  # noqa: E402
from repmath import nn, optim  # noqa: E402

LONG = np.random.default_rng(1).standard_normal((300, 310)).astype("f4")
IMAGES = np.random.default_rng(2).standard_normal((4, 8, 20, 20)).astype("f4")
KERNEL = np.random.default_rng(3).standard_normal((8, 8, 3, 3)).astype("f4")
# Large enough for workspaces and threads.
LARGE = [
    (repmath.matmul, (LONG, LONG.T), {}),
    (repmath.matmul, (LONG.astype("f8"), LONG.T.astype("f8")), {}),
    (repmath.matmul, (LONG.astype("f2"), LONG.T.astype("f2")), {}),
    (repmath.sum, (LONG,), {"axis": 0}),
    (repmath.exp, (np.resize(LONG, 70000).astype("f2"),), {}),
    (repmath.conv2d, (IMAGES, KERNEL), {"padding": 1}),
    (repmath.conv2d_grad_weight, (IMAGES, KERNEL.shape, IMAGES), {"padding": 1}),
    (repmath.conv2d_grad_input, (IMAGES.shape, KERNEL, IMAGES), {"padding": 1}),
    (repmath.index_add, (LONG, np.arange(3000) * 7 % 300, np.resize(LONG, (3000, 310))), {}),
    (repmath.bincount, (np.arange(70000) % 1000, np.resize(LONG, 70000)), {}),
    (repmath.random.permutation, (1, 70000), {}),
    (nn.layer_norm_backward, (LONG, LONG, 310, LONG[0]), {}),
    (nn.softmax, (LONG,), {}),
    (nn.cross_entropy, (LONG, np.arange(300)), {}),
    (optim.clip_grad_norm, (LONG, 0.5), {}),
]
# Values that are rational because irrational parts cancel: what finds that out has memory of its own.
RELATED = np.array([[0, 1, -np.inf, -np.inf], [-np.inf, 1, 0, -np.inf], [0, 1, 1, 2]], "f4")  # (1 + e)^2 = 1 + 2 e + e^2
TWO = np.array([[1, 2, 3], [3, 2, 1]], "f4")
LARGE += [
    (nn.kl_div, (np.array([1, 2.0**-24, 0], "f4"), np.array([0, 0, -1e9], "f4")), {"reduction": "sum", "log_target": True}),
    (nn.binary_cross_entropy_with_logits, (TWO, np.zeros_like(TWO), np.array([[1], [-1]], "f4")), {"reduction": "sum"}),
    (nn.cross_entropy, (TWO, np.array([0, 2]), np.array([1, 1, -1], "f4")), {"reduction": "sum"}),
    (nn.cross_entropy, (RELATED, np.array([1, 1, 3]), np.array([1, 1, 0, -1], "f4")), {"reduction": "sum"}),
    (
        nn.rms_norm_backward,
        (np.array([[1], [-1]], "f4") * np.ones(3, "f4"), np.array([[1, 2, 3], [2, 4, 6]], "f4"), 3, TWO[0], 0.0),
        {},
    ),
]
ALL = [(getattr(module, name), arguments, keywords) for module, calls in CALLS.items() for name, arguments, keywords in calls]
SMALL = len(ALL)
ALL += LARGE


def digest(parts):
    sha = hashlib.sha256()
    for part in parts if isinstance(parts, (tuple, list)) else [parts]:
        sha.update(
            part.encode() if isinstance(part, str) else repr(part).encode() if part is None else np.asarray(part).tobytes()
        )
    return sha.hexdigest()


def result(number):
    """The digest of a call: of what it returns and of what it writes."""
    function, arguments, keywords = ALL[number]
    own = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    parts = function(*own, **keywords)
    parts = list(parts) if isinstance(parts, (tuple, list)) else [parts]
    return digest(parts + [a for a in own if isinstance(a, np.ndarray)])


def environments(rng, rounds, expected):
    """Every rounding mode, flushed subnormals and unmasked traps, in any combination: the bits stay, and so does the environment."""
    libm = ctypes.CDLL(ctypes.util.find_library("m"))
    for name in ("fegetenv", "fesetenv"):
        getattr(libm, name).argtypes = [ctypes.c_void_p]
    own, foreign, after = (ctypes.create_string_buffer(32) for _ in range(3))  # fenv_t of x86-64: MXCSR is its last word
    for _ in range(rounds):
        number = int(rng.integers(SMALL))
        libm.fegetenv(own)
        mxcsr = int.from_bytes(own.raw[28:32], "little")
        mode, flush = int(rng.integers(4)), int(rng.integers(4))
        mxcsr = mxcsr & ~0x6040 & ~0x8000 | mode << 13 | (0x8000 if flush & 1 else 0) | (0x40 if flush & 2 else 0)
        if rng.random() < 0.3:
            mxcsr &= ~(0x1000 | 0x400 | 0x80)  # inexact, overflowing and invalid operations trap
        foreign.raw = own.raw[:28] + mxcsr.to_bytes(4, "little")
        libm.fesetenv(foreign)
        try:
            found = result(number)
            libm.fegetenv(after)
        finally:
            libm.fesetenv(own)
        assert found == expected[number], (ALL[number][0].__name__, hex(mxcsr))
        kept = int.from_bytes(after.raw[28:32], "little")
        assert kept & 0xFFC0 == mxcsr & 0xFFC0, (ALL[number][0].__name__, hex(mxcsr), hex(kept))


def threads(rng, rounds, expected):
    """Six threads that call anything at any time, while the main thread forks children that do the same."""
    faults, stop = [], threading.Event()

    def work(seed):
        own = np.random.default_rng(seed)
        while not stop.is_set():
            number = int(own.integers(SMALL))
            try:
                if result(number) != expected[number]:
                    faults.append(ALL[number][0].__name__)
            except Exception as error:
                faults.append((ALL[number][0].__name__, error))

    workers = [threading.Thread(target=work, args=(int(rng.integers(2**31)),)) for _ in range(6)]
    for worker in workers:
        worker.start()
    for i in range(rounds):
        child = os.fork()
        if child == 0:
            numbers = np.random.default_rng(i).integers(0, SMALL, 3)
            os._exit(0 if all(result(int(n)) == expected[int(n)] for n in numbers) else 1)
        _, status = os.waitpid(child, 0)
        if status:
            faults.append(("child", status))
    stop.set()
    for worker in workers:
        worker.join()
    assert not faults, faults[:3]


def memory(rng, rounds, expected):
    """Each allocation of a call fails in turn, with all after it: MemoryError and nothing written, or the result without it."""
    fail_after = ctypes.CDLL(None).rm_test_fail_after
    fail_after.argtypes, fail_after.restype = [ctypes.c_long], ctypes.c_long
    failures = errors = 0
    order = [*range(SMALL, len(ALL)), *(int(n) for n in rng.permutation(SMALL))][: max(rounds, len(LARGE))]
    for number in order:
        function, arguments, keywords = ALL[number]
        for allowed in range(200):
            own = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
            before = [a.tobytes() for a in own if isinstance(a, np.ndarray)]
            fail_after(allowed)
            try:
                parts = function(*own, **keywords)
            except MemoryError:
                parts = None
            failed = fail_after(-1)
            failures += failed
            if parts is None:
                errors += 1
                assert failed, function.__name__
                assert [a.tobytes() for a in own if isinstance(a, np.ndarray)] == before, (function.__name__, allowed)
            else:
                parts = list(parts) if isinstance(parts, (tuple, list)) else [parts]
                assert digest(parts + [a for a in own if isinstance(a, np.ndarray)]) == expected[number], (
                    function.__name__,
                    allowed,
                )
            if not failed:
                break
    assert errors > 10 and failures > 20, (errors, failures)  # that allocations have failed


def main():
    what, seed, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    expected = [result(number) for number in range(len(ALL))]
    assert expected == [result(number) for number in range(len(ALL))]
    if len(sys.argv) > 4:  # the control: one expected result is another
        expected = ["" for _ in expected]
    {"environments": environments, "threads": threads, "memory": memory}[what](np.random.default_rng(seed), rounds, expected)


if __name__ == "__main__":
    main()
