"""A training loop in C (tests/c/training.c), on each instruction set and under an emulator of aarch64, has the digests of the loop in NumPy."""

import hashlib

import numpy as np
import pytest
from native import available_isas, cross_aarch64, default_build, run

import repmath as rm
from repmath import nn, optim

BATCH, SIDE, CHANNELS, CLASSES, STEPS = 24, 9, 5, 10, 4
INNER = CHANNELS * (SIDE // 2) ** 2


def train(rate=0.3):
    x = rm.random.normal(1, (BATCH, 1, SIDE, SIDE), dtype="f4")
    target = rm.random.randint(2, BATCH, CLASSES)
    p = {
        "kernel": rm.random.uniform(3, (CHANNELS, 1, 3, 3), -0.5, 0.5, dtype="f4"),
        "kernel_bias": np.zeros(CHANNELS, "f4"),
        "weight": rm.random.uniform(4, (CLASSES, INNER), -0.125, 0.125, dtype="f4"),
        "bias": np.zeros(CLASSES, "f4"),
    }
    optimizer = optim.SGD(p, lr=rate, momentum=0.9, weight_decay=1e-3, nesterov=True)
    for step in range(STEPS):
        a = rm.conv2d(x, p["kernel"], p["kernel_bias"], padding=1)
        s = rm.silu(a)
        h = nn.avg_pool2d(s, 2)
        flat = h.reshape(BATCH, -1)
        z = rm.matmul(flat, p["weight"].T, bias=p["bias"])
        loss = nn.cross_entropy(z, target, label_smoothing=0.1)
        gz = nn.cross_entropy_backward(np.float32(1), z, target, label_smoothing=0.1)
        gh = rm.matmul(gz, p["weight"]).reshape(h.shape)
        ga = rm.silu_backward(nn.avg_pool2d_backward(gh, s.shape, 2), a)
        optimizer.step(
            {
                "kernel": rm.conv2d_grad_weight(x, p["kernel"].shape, ga, padding=1),
                "kernel_bias": rm.sum(ga, axis=(0, 2, 3)),
                "weight": rm.matmul(gz.T, flat),
                "bias": rm.sum(gz, axis=0),
            }
        )
        state = b"".join(v.tobytes() for v in p.values()) + np.float32(loss).tobytes()
        yield f"step{step} {hashlib.sha256(state).hexdigest()}"


@pytest.fixture(scope="module")
def expected():
    return list(train())


def test_native(expected):
    where = default_build()
    for isa in available_isas(where):
        for threads in (1, 2):
            env = {"REPMATH_ISA": isa, "OMP_NUM_THREADS": str(threads)}
            assert run(where / "tests/c/training", STEPS, env=env).splitlines() == expected


@pytest.mark.parametrize("isa", ["base", "neon"])
def test_emulated(expected, isa):
    where, qemu = cross_aarch64()
    assert run(qemu, where / "tests/c/training", STEPS, env={"REPMATH_ISA": isa}).splitlines() == expected


def test_control(expected):
    """Another rate of learning, by one unit of its last place, is seen."""
    assert list(train(np.nextafter(0.3, 1))) != expected
