"""The task that the scripts beside this one share: scikit-learn's digits, the order of the images, initial weights, hyperparameters."""

import argparse
from collections.abc import Callable

import numpy as np

import repmath

BATCH, RATE, MOMENTUM = 32, 0.1, 0.9
MARKS = (0, 1, 2, 5, 10, 20, 50, 100)  # steps before which a digest is printed, so that two runs can be told where they part


def arguments(device: str | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Train a small convolutional network and print the SHA-256 of its weights.")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--images", type=int, default=1500, help="images to train on; the others are the test")
    parser.add_argument(
        "--generated", action="store_true", help="images and labels of repmath.random in place of scikit-learn's"
    )
    if device is not None:
        parser.add_argument("--device", default=device, help=f"where PyTorch's tensors are: {device}, or cpu")
    options = parser.parse_args()
    if options.generated:
        options.images = 96
    return options


def data(images: int, generated: bool = False):
    """Images (n, 1, 8, 8) from 0 to 1 and labels: for training, for the test."""
    if generated:
        x = repmath.random.uniform(5, (images + 24, 1, 8, 8), dtype=np.float32)
        y = repmath.random.randint(6, images + 24, 10).astype(np.int32)
        return (x[:images], y[:images]), (x[images:], y[images:])
    from sklearn.datasets import load_digits

    digits = load_digits()
    x, y = (digits.images / 16).astype(np.float32)[:, None], digits.target.astype(np.int32)
    return (x[:images], y[:images]), (x[images:], y[images:])


def batch(step: int, images: int) -> np.ndarray:
    """The images of a step: a part of a permutation that depends on the epoch alone."""
    each = images // BATCH
    order = repmath.random.permutation(1, images, stream=step // each)
    return order[step % each * BATCH :][:BATCH]


def rate(step: int, steps: int) -> np.float32:
    """The learning rate of a step: it falls along a line to 0. Of float32, so that it is one number in every library."""
    return np.float32(repmath.optim.linear_schedule(RATE, step, steps, 1.0, 0.0))


def weights() -> dict[str, np.ndarray]:
    def uniform(seed, shape):
        return repmath.init.kaiming_uniform(seed, shape).astype(np.float32)

    return {
        "conv1": uniform(2, (16, 1, 3, 3)),
        "conv1_bias": np.zeros(16, np.float32),
        "conv2": uniform(3, (32, 16, 3, 3)),
        "conv2_bias": np.zeros(32, np.float32),
        "linear": uniform(4, (10, 128)),
        "linear_bias": np.zeros(10, np.float32),
    }


def digest(trained: dict[str, np.ndarray]) -> str:
    return repmath.digest(*(np.asarray(trained[name]) for name in sorted(trained)))


def mark(step: int, trained: Callable[[], dict[str, np.ndarray]]) -> None:
    """Print the digest of the weights before some of the steps."""
    if step in MARKS:
        print(f"SHA-256 after {step} steps: {digest(trained())}")


def report(trained: dict[str, np.ndarray], accuracy: float) -> None:
    print(f"accuracy on the test images: {accuracy:.1%}")
    print(f"SHA-256 of the weights: {digest(trained)}")
