"""Training steps of unmodified PyTorch models under repmath.torch.reproducible(), beside PyTorch's own, which are not deterministic.

python bench/training.py prints the table alone.
"""

import pathlib
import statistics
import subprocess
import sys

from timing import compare

import repmath

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "examples" / "python")]


def lenet(torch):
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip
    x, y = torch.randn(100, 1, 28, 28), torch.randint(0, 10, (100,))
    return model, lambda: nn.functional.cross_entropy(model(x), y), torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)


def resnet18(torch):
    import vision_torch

    model, loss = vision_torch.task("resnet18", batch=32)
    return model, loss, torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)


def gpt2(torch):
    import transformers

    config = transformers.GPT2Config(
        vocab_size=256, n_positions=128, n_embd=256, n_layer=4, n_head=4, bos_token_id=0, eos_token_id=0
    )
    model, ids = transformers.GPT2LMHeadModel(config), torch.randint(0, 256, (8, 128))
    return model, lambda: model(input_ids=ids, labels=ids).loss, torch.optim.AdamW(model.parameters(), 1e-3)


CASES = {"LeNet 100x1x28x28": lenet, "ResNet-18 32x3x32x32": resnet18, "GPT-2 4 layers of 256, 8x128": gpt2}


def steps(torch, make):
    """A training step under the mode, and PyTorch's."""
    with repmath.torch.reproducible():
        model, loss, optimizer = make(torch)

    def plain():
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    def exact():
        with repmath.torch.reproducible():
            plain()

    return {"repmath": exact, "PyTorch": plain}


def peak(name, which):
    """KiB by which some steps raise the memory of this process at its peak (of Linux)."""
    import torch

    import repmath.torch  # noqa: F401

    torch.set_num_threads(1)
    repmath.set_num_threads(1)
    call = steps(torch, CASES[name])[which]
    status = pathlib.Path("/proc/self/status")
    held = lambda key: int(next(line.split()[1] for line in status.read_text().splitlines() if line.startswith(key)))  # noqa: E731
    before = held("VmRSS")
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # the peak is that of now
    for _ in range(3):
        call()
    return held("VmHWM") - before


def memory():
    """Each in a process of its own; nothing where it cannot be told."""
    for name in CASES:
        found = {}
        for which in ("repmath", "PyTorch"):
            run = subprocess.run([sys.executable, __file__, "--peak", name, which], capture_output=True, text=True)
            if run.returncode:
                break  # no transformers, or no /proc
            found[which] = int(run.stdout.split()[-1])
        else:
            ratio = {"PyTorch": found["repmath"] / found["PyTorch"]}
            yield {"case": f"peak memory of a training step, {name}", "KiB": found, "ratio": ratio}


def training(quick=False):
    try:
        import torch

        import repmath.torch  # noqa: F401
        from bench.sweep.overheads import overheads
    except ImportError:
        return
    for threads in (1, 2):
        torch.set_num_threads(threads)
        repmath.set_num_threads(threads)
        label = f"{threads} thread" + "s" * (threads > 1)
        for name, make in CASES.items():
            try:
                calls = steps(torch, make)
            except ImportError:
                continue  # transformers
            yield {"case": f"training step, {name}, {label}", **compare(calls, batches=3 if quick else 7, seconds=0.01)}
    found = {name: inside - outside for name, (inside, outside) in overheads().items()}
    for label, name in (("least", min(found, key=found.get)), ("greatest", max(found, key=found.get))):
        yield {
            "case": f"reproducible(), {label} overhead of an operator ({name})",
            "seconds": {"repmath": found[name]},
            "ratio": {},
        }
    middle = statistics.median(found.values())
    yield {"case": f"reproducible(), median overhead of {len(found)} operators", "seconds": {"repmath": middle}, "ratio": {}}
    yield from memory()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peak"]:
        print(peak(*sys.argv[2:]))
        sys.exit()
    for result in training():
        ratio = "".join(f"{value:6.2f} x {name}" for name, value in result["ratio"].items())
        time = f"{1e6 * result['seconds']['repmath']:12.1f} us" if "seconds" in result else " " * 15
        print(f"{result['case']:60} {time} {ratio}", flush=True)
