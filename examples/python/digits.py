"""The task that the scripts beside this one share: scikit-learn's digits, the order of the images, initial weights, hyperparameters."""

import argparse

import numpy as np

import repmath

BATCH, RATE, MOMENTUM = 32, 0.05, 0.9


def arguments(device: str | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Train a small convolutional network and print the SHA-256 of its weights.")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--images", type=int, default=1500, help="images to train on; the others are the test")
    if device is not None:
        parser.add_argument("--device", default=device, help=f"where PyTorch's tensors are: {device}, or cpu")
    return parser.parse_args()


def data(images: int):
    """Images (n, 1, 8, 8) from 0 to 1 and labels: for training, for the test."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    x, y = (digits.images / 16).astype(np.float32)[:, None], digits.target.astype(np.int32)
    return (x[:images], y[:images]), (x[images:], y[images:])


def batch(step: int, images: int) -> np.ndarray:
    """The images of a step: a part of a permutation that depends on the epoch alone."""
    each = images // BATCH
    order = repmath.random.permutation(1, images, stream=step // each)
    return order[step % each * BATCH :][:BATCH]


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


def report(trained: dict[str, np.ndarray], accuracy: float) -> None:
    print(f"accuracy on the test images: {accuracy:.1%}")
    print(f"SHA-256 of the weights: {repmath.digest(*(np.asarray(trained[name]) for name in sorted(trained)))}")
