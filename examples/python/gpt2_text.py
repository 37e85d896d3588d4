"""GPT-2 of transformers, unmodified, on the text of Python's own documentation, byte by byte.

python gpt2_text.py                        under repmath.torch.reproducible()
python gpt2_text.py --plain                PyTorch alone, with use_deterministic_algorithms(True)

Prints the validation loss in nats a byte and the SHA-256 of weights and optimiser. Both begin with the same weights.
"""

import argparse
import contextlib
import logging
import time

import numpy as np
import torch

import repmath
import repmath.torch

CONTEXT, BATCH, RATE = 64, 16, 3e-3


def text() -> tuple[torch.Tensor, torch.Tensor]:
    """The bytes for training and those for validation, the last tenth."""
    from pydoc_data.topics import topics

    data = "\n".join(topics[name] for name in sorted(topics)).encode()
    numbers = torch.from_numpy(np.frombuffer(data, np.uint8).astype(np.int64))
    cut = len(numbers) * 9 // 10
    return numbers[:cut], numbers[cut:]


def batch(data: torch.Tensor, step: int) -> torch.Tensor:
    """Pieces of the text; where they begin depends on the step alone."""
    starts = repmath.random.randint(7, BATCH, 0, len(data) - CONTEXT, stream=step)
    return torch.stack([data[s : s + CONTEXT] for s in starts.tolist()])


def network():
    import transformers

    logging.getLogger("transformers").setLevel(logging.ERROR)
    config = transformers.GPT2Config(
        vocab_size=256, n_positions=CONTEXT, n_embd=128, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
    )  # fmt: skip
    torch.manual_seed(0)
    with repmath.torch.reproducible():
        return transformers.GPT2LMHeadModel(config)


def validation(model, data: torch.Tensor) -> float:
    model.eval()
    with torch.no_grad():
        losses = [model(input_ids=ids, labels=ids).loss for ids in (batch(data, 10**6 + i) for i in range(4))]
    model.train()
    return float(sum(losses) / len(losses))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plain", action="store_true", help="PyTorch's own operators, its deterministic algorithms")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--threads", type=int, help="of PyTorch and repmath")
    parser.add_argument("--losses", metavar="FILE", help="write the loss of each step to this .npy file")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
        repmath.set_num_threads(options.threads)
    torch.use_deterministic_algorithms(options.plain)
    training, held_out = text()
    model, losses, begin = network(), [], time.perf_counter()
    with contextlib.nullcontext() if options.plain else repmath.torch.reproducible():
        optimizer = torch.optim.AdamW(model.parameters(), RATE)
        for step in range(options.steps):
            ids = batch(training, step)
            optimizer.zero_grad()
            loss = model(input_ids=ids, labels=ids).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
        seconds = time.perf_counter() - begin
        final = validation(model, held_out)
    if options.losses:
        np.save(options.losses, np.array(losses))
    print(
        f"validation loss: {final:.4f} nats a byte after {options.steps} steps, {seconds / options.steps * 1e3:.0f} ms each"
    )
    print(f"SHA-256 of the text: {repmath.torch.digest(training, held_out)}")
    print(f"SHA-256 of the weights: {repmath.torch.digest(model, optimizer)}")


if __name__ == "__main__":
    main()
