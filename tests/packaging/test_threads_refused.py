"""Where the system refuses threads the library computes with one: the process goes on, the bits are the same."""

import sys

import native
import pytest

SCRIPT = """
import ctypes, sys
import numpy as np
import repmath as rm
shim = ctypes.CDLL(None)
x = rm.random.normal(1, 1 << 21, dtype="f4")
a = x[: 1 << 16].reshape(256, 256)
index = rm.random.randint(3, 1 << 20, 1000)

def results():
    return [
        np.asarray(r).tobytes()
        for r in (
            rm.sum(x),
            rm.matmul(a, a),
            rm.exp(x),
            rm.segment_sum(x[: 1 << 20], index, 1000),
            rm.random.permutation(5, 1 << 19),
            rm.nn.softmax(x.reshape(-1, 64)),
            rm.random.uniform(7, 1 << 20),
        )
    ]

for allowed in (0, 1, 2):
    rm.set_num_threads(4)
    shim.allow_threads(allowed)
    refused = results()
shim.allow_threads(1 << 30)
before = shim.threads_created()
assert results() == refused
assert shim.threads_created() > before + 2, "no call has used threads: nothing was refused"
print("same")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="LD_PRELOAD is Linux's")
def test_refused_threads(tmp_path):
    (cc,) = native.need("cc")
    shim = tmp_path / "deny_threads.so"
    native.run(cc, "-shared", "-fPIC", "-O1", native.ROOT / "tests/support/deny_threads.c", "-o", shim, "-ldl", "-lpthread")
    environment = {"LD_PRELOAD": str(shim), "OPENBLAS_NUM_THREADS": "1"}
    assert native.run(sys.executable, "-c", SCRIPT, env=environment).split()[-1] == "same"
