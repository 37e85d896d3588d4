"""Tasks of Ray return accumulators, which `+` merges exactly: no bit depends on how terms are divided among them."""

import subprocess
import sys

import pytest

pytest.importorskip("ray", reason="Ray is not installed")

PROGRAM = """
import numpy as np, ray
import repmath

ray.init(num_cpus=2, include_dashboard=False, _node_ip_address="127.0.0.1", log_to_driver=False, object_store_memory=80 << 20)
print("started", flush=True)
x = np.random.default_rng(0).standard_normal(9000) * 2.0 ** np.random.default_rng(1).integers(-60, 60, 9000)
work = ray.remote(lambda block: repmath.Accumulator(block))
for chunk in (9000, 2000, 751):
    parts = ray.get([work.remote(x[i : i + chunk]) for i in range(0, x.size, chunk)])
    assert float(sum(parts[1:], parts[0]).round()) == float(repmath.sum(x)), chunk
ray.shutdown()
print("checked")
"""


def test_accumulators_of_tasks():
    try:
        done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120)
        said = done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        said = ((late.stdout or b"").decode(), "no answer in two minutes")
    if "started" not in said[0]:
        pytest.skip(f"Ray's daemon does not start here: {said[1][-300:]}")
    assert "checked" in said[0], said[1][-3000:]
