"""A forward pass of a model of 355 million parameters under stochastic rounding: two runs of one sample have one digest, and another sample another.

python examples/python/stochastic_forward.py [LAYERS]
"""

import sys
import time

import torch
import transformers

import repmath.torch


def main(layers: int = 24) -> None:
    config = transformers.GPT2Config(n_layer=layers, n_head=16, n_embd=1024)
    with repmath.torch.reproducible():
        torch.manual_seed(0)
        model = transformers.GPT2LMHeadModel(config).eval()
    words = torch.arange(32)[None]
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.0f} million parameters")
    with torch.no_grad():
        for sample in (1, 1, 2):
            started = time.perf_counter()
            with repmath.torch.stochastic(seed=0, sample=sample) as block:
                found = model(words).logits
            seconds = time.perf_counter() - started
            print(f"sample {sample}: {repmath.torch.digest(found)[:16]}, {block.calls} rounded arrays, {seconds:.1f} s")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
