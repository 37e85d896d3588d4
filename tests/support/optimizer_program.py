"""Trains by every optimiser of torch.optim, in every way that the CPU has, under reproducible(), and prints the digest of each: of its
parameters and states (torch/test_optimizers.py)."""

import json
import pathlib
import sys
import warnings

import torch

import repmath.torch as rt

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from bench.coverage import optimizers  # noqa: E402


def digests():
    for title, name, options in optimizers.variants():
        if options.get("capturable") or optimizers.taken(name, options) is not None:
            continue
        with rt.reproducible():
            model, optimizer, _ = optimizers.train(name, options)
        yield title, rt.digest(model, optimizer)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(int(sys.argv[1]))
    print(json.dumps(dict(digests())))
