"""Check a GPU, first its bits, then its times, in an hour and a half at most, and write a report.

    python tools/gpu_check.py --output report                  everything, with the library built for the GPU of this machine
    python tools/gpu_check.py --build DIR bits golden          these stages, with a library and test programs that were built before
    python tools/gpu_check.py --jobs 8 bits golden sanitizer   so many programs at a time, where there are as many cores (never in `times`)

Each stage is a command of its own that takes less than ten minutes on an H100:
    bits        the test programs of tests/cuda against the CPU library, tensor cores against chains of fused operations
    golden      digests of every function of one argument in every format
    calls       every public function over PyTorch's tensors on the GPU against the same call with NumPy arrays
    training    both networks of the demo, whose weights must have the published digests
    models      LeNet, ResNet-18, GPT-2, BERT and Llama of PyTorch under reproducible(), on the GPU and on the CPU (gpu_models.py)
    graphs      calls under reproducible() that a CUDA graph captured, replayed with other numbers, against the same calls without one
    operators   PyTorch's own samples of its operators, their gradients included, under reproducible() on the GPU and on the CPU
    sanitizer   the test programs at small sizes under compute-sanitizer: memcheck, racecheck, synccheck
    shares      how many results the first kernels leave to the last ones, and the workspaces that this takes
    times       against PyTorch without TF32: ratios, bytes and operations per second, the slowest call, memory that a call keeps

Each stage is a process of its own, which is ended after ten minutes and writes its lines to OUTPUT/<stage>.txt as they come, so that one that is cut off
leaves what it found. In the end the report in OUTPUT has all: bits, shares, times, tails, memory, the sanitizer. The exit status is 1 if bits differ, 2 if
something could not run. With REPMATH_CHECK_DEVICE=standin the stages `shares` and `times` are rehearsed at small sizes on the device of tests/support/stand_in.py."""

import argparse
import ctypes
import datetime
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / folder) for folder in ("support", "controls", "cuda")]

import run  # noqa: E402

PROGRAM_SECONDS, SANITIZED_SECONDS = 150, 60
STAGE_SECONDS = float(os.environ.get("REPMATH_CHECK_SECONDS", "600"))
DEVICE = os.environ.get("REPMATH_CHECK_DEVICE", "cuda")
REHEARSED = DEVICE != "cuda"
BIG = 1 << 10 if REHEARSED else 1 << 26
WRONG = "! "  # begins a line that says what is wrong or could not run


class Report:
    """Lines of a stage, printed and kept; those of one call stay together."""

    def __init__(self, folder: pathlib.Path, stage: str, jobs: int = 1) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.file, self.wrong, self.failed, self.told = open(folder / f"{stage}.txt", "w"), 0, 0, 0
        self.jobs, self.lock = jobs, threading.Lock()

    def line(self, text: str) -> None:
        with self.lock:
            if self.wrong + self.failed > self.told:
                self.told, text = self.wrong + self.failed, WRONG + text
            print(text, flush=True)
            self.file.write(text + "\n")
            self.file.flush()

    def each(self, function, items) -> list:
        """The function's results for the items, `jobs` of them at a time."""
        with ThreadPoolExecutor(self.jobs) as pool:
            return list(pool.map(function, items))


def run_program(report: Report, command: list, seconds: float, show: int = 12) -> None:
    """Run a test program. Its status 0 means right, 77 skipped, anything else wrong."""
    start, name = time.perf_counter(), " ".join(pathlib.Path(str(c)).name for c in command)
    try:
        done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds)
        code, out = done.returncode, done.stdout.decode(errors="replace")
    except subprocess.TimeoutExpired as late:
        code, out = None, (late.stdout or b"").decode(errors="replace")
    lines = out.strip().split("\n")
    took = time.perf_counter() - start
    verdict = (
        "right" if code == 0 else "skipped" if code == 77 else f"cut off at {seconds} s" if code is None else f"status {code}"
    )
    if code != 0:
        with report.lock:
            report.failed += code in (None, 77)
            report.wrong += code not in (None, 77)
    shown = [f"    {text}" for text in lines[:show]] if code != 0 else []
    report.line("\n".join([f"{name}: {verdict}, {took:.1f} s, {lines[-1]}", *shown]))


def programs(build: pathlib.Path) -> list[pathlib.Path]:
    """The test programs, that of the elementwise functions first."""
    folder = build / "src/cuda" if (build / "src/cuda").exists() else build
    return sorted(p for p in folder.glob("test_cuda*") if p.is_file() and os.access(p, os.X_OK))


def bits(report: Report, build: pathlib.Path) -> None:
    """Test programs against the CPU's bits."""
    found = programs(build)
    chains = found[0].parent / "mma_chain"
    commands = [[chains]] if chains.exists() else []
    commands += [[program, run.SCALE] for program in found]
    report.each(lambda command: run_program(report, command, PROGRAM_SECONDS), commands)


def golden(report: Report, build: pathlib.Path) -> None:
    """Digests of tests/golden."""

    def say(text: str) -> None:
        report.wrong += "digest WRONG" in text
        report.line(text)

    right, report.wrong = run.golden(programs(build)[0], say, report.each)
    report.line(f"golden digests: {right} right, {report.wrong} wrong")


def tensor(torch, a):
    """A NumPy array's numbers as a tensor of the GPU, with its strides."""
    import numpy as np

    if not isinstance(a, np.ndarray):
        return a
    whole = np.array(a, order="C")  # a copy, of no dimensions too
    words = torch.from_numpy(whole.view(np.int16) if whole.dtype.name == "bfloat16" else whole)
    return (words.view(torch.bfloat16) if whole.dtype.name == "bfloat16" else words).cuda()


def as_bytes(torch, x) -> bytes:
    """The numbers of a tensor or an array."""
    import numpy as np

    if isinstance(x, torch.Tensor):
        x = x.detach().contiguous().cpu()
        return bytes(x.reshape(-1).view(torch.uint8).numpy().tobytes()) if x.numel() else b""
    return np.asarray(x).tobytes()


def flat(result) -> list:
    return [part for r in result for part in flat(r)] if isinstance(result, (tuple, list)) else [result]


def near_ties(generator, rows: int, words: int):
    """Rows with 2^-10 and -2^-10 at two places, as the gradient of a cross entropy has whose softmax is sharp: a fifth of their products with
    other numbers are halfway between two results, which only exact sums decide."""
    import numpy as np

    a, every = np.zeros((rows, words), np.float32), np.arange(rows)
    a[every, generator.permutation(words)[:rows]] = 2.0**-10
    a[every, generator.permutation(words)[:rows]] = -(2.0**-10)
    return a


def specials(x):
    """A copy with a row that has a NaN, one that has an infinity, and one that has both."""
    import numpy as np

    x = x.copy()
    x[1, 3], x[2, 5], x[3, 7], x[3, 11] = np.nan, np.inf, -np.inf, np.nan
    return x


def calls(report: Report, build: pathlib.Path) -> None:
    """Each public call with tensors on the GPU has the bits of the call with NumPy arrays."""
    import numpy as np
    import torch
    from public_calls import CALLS

    import repmath
    from repmath._cuda import _staging

    def one(what: str, function, arguments, keywords) -> None:
        theirs, words = [tensor(torch, a) for a in arguments], {k: tensor(torch, v) for k, v in keywords.items()}
        before = dict(_staging.calls)
        try:
            ours = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
            want = flat(function(*ours, **keywords))
            got = flat(function(*theirs, **words))
        except Exception as error:  # a stage reports all of them
            report.wrong += 1
            report.line(f"{what}: {type(error).__name__}: {error}")
            return
        where = {k: v - before.get(k, 0) for k, v in _staging.calls.items() if v != before.get(k, 0)}
        pairs = [*zip(got, want, strict=True), *((b, a) for a, b in zip(ours, theirs) if isinstance(a, np.ndarray))]
        differ = [
            i
            for i, (g, w) in enumerate(pairs)
            if (as_bytes(torch, g) != as_bytes(torch, w) if hasattr(w, "dtype") else g != w)
        ]
        report.wrong += bool(differ)
        report.line(f"{what}: {'DIFFERS in ' + str(differ) if differ else 'right'}; {where}")

    for module, listed in CALLS.items():
        for name, arguments, keywords in listed:
            one(f"{module.__name__}.{name}", getattr(module, name), arguments, keywords)
    import ml_dtypes

    generator = np.random.default_rng(1)
    ties, weights = near_ties(generator, 256, 50257), generator.standard_normal((50257, 96)).astype(np.float32)
    one("matmul beside ties float32", repmath.matmul, (ties, weights), {})
    one(
        "matmul beside ties, transposed",
        repmath.matmul,
        (ties.T[:5003], generator.standard_normal((256, 96)).astype(np.float32)),
        {},
    )

    for dtype in (np.float16, ml_dtypes.bfloat16, np.float32, np.float64):
        kind = np.dtype(dtype).name
        x = (generator.standard_normal((64, 5003)) * 4).astype(dtype)
        y, w = (
            (generator.standard_normal((64, 5003)) * 2.0**-3).astype(dtype),
            generator.standard_normal((5003, 70)).astype(dtype),
        )
        target = generator.integers(0, 5003, 64)
        for name, arguments, keywords in [
            ("softmax", (x,), {}), ("log_softmax", (x,), {}), ("softmax_backward", (y, repmath.nn.softmax(x)), {}),
            ("log_softmax_backward", (y, repmath.nn.log_softmax(x)), {}), ("layer_norm", (x, 5003), {}), ("rms_norm", (x, 5003), {}),
            ("layer_norm_backward", (y, x, (5003,)), {}), ("cross_entropy", (x, target), {}), ("logsumexp", (x,), {}),
            ("cross_entropy_backward", (np.ones((), dtype), x, target), {}), ("mse_loss", (x, y), {}),
        ]:  # fmt: skip
            one(f"nn.{name} {kind}", getattr(repmath.nn, name), arguments, keywords)
        long, words = (generator.standard_normal((16, 50257)) * 4).astype(dtype), generator.integers(0, 50257, 16)
        for rows in (long, specials(long)):
            for name, arguments in [
                ("softmax", (rows,)), ("log_softmax", (rows,)), ("logsumexp", (rows,)), ("layer_norm", (rows, 50257)),
                ("rms_norm", (rows, 50257)), ("cross_entropy", (rows, words)), ("cross_entropy_backward", (np.ones((), dtype), rows, words)),
            ]:  # fmt: skip
                one(f"nn.{name} {kind}, rows of 50257", getattr(repmath.nn, name), arguments, {})
        for name, arguments, keywords in [
            ("sum", (x,), {"axis": 1}), ("sum", (x,), {"axis": 0}), ("sum", (x,), {}), ("mean", (x,), {"axis": 1}),
            ("var", (x,), {"axis": 1}), ("cumsum", (x,), {"axis": 1}), ("matmul", (x, w), {}), ("matmul", (w.T, y.T), {}),
            ("cumsum", (x,), {"axis": 0}), ("cumsum", (np.where(x > 12, -np.inf, x).astype(dtype),), {"axis": 1}),
            ("index_add", (x, target % 64, y), {}), ("segment_sum", (x, np.sort(target % 64)), {}),
            ("scatter_add", (x, 0, generator.integers(0, 64, y.shape), y), {}), ("matmul", (specials(x), w), {}),
        ]:  # fmt: skip
            one(f"{name} {kind}", getattr(repmath, name), arguments, keywords)
        logs = repmath.nn.log_softmax(x)
        for name, arguments in [("nll_loss", (logs, target)), ("nll_loss_backward", (np.ones((), dtype), logs, target))]:
            one(f"nn.{name} {kind}", getattr(repmath.nn, name), arguments, {})
        for name, ufunc in repmath._core.ufuncs.items():
            one(f"dlpack.{name} {kind}", getattr(repmath.dlpack, name), (x, y, x)[: ufunc.nin], {})


def sanitizer(report: Report, build: pathlib.Path) -> None:
    """Memory accesses, races and barriers of the test programs at small sizes."""
    tool = shutil.which("compute-sanitizer")
    if tool is None:
        report.line("compute-sanitizer is not installed")
        report.failed += 1
        return
    options = ["--error-exitcode", "3", "--print-limit", "5"]
    checks = [(kind, program) for kind in ("memcheck", "racecheck", "synccheck") for program in programs(build)]
    report.each(lambda c: run_program(report, [tool, "--tool", c[0], *options, c[1], "1"], SANITIZED_SECONDS, 30), checks)


def timed(torch, call, least: float = 0.002 if REHEARSED else 0.2) -> tuple[float, float]:
    """The median and the longest of times in ms, on a GPU by events."""
    start = time.perf_counter()
    call()
    finish(torch)
    if time.perf_counter() - start > 2:  # too slow to be repeated
        return (1000 * (time.perf_counter() - start),) * 2
    times, spent = [], 0.0
    while spent < least * 1000 and len(times) < 50 or len(times) < 3:
        if REHEARSED:
            start = time.perf_counter()
            call()
            times.append(1000 * (time.perf_counter() - start))
        else:
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            call()
            end.record()
            torch.cuda.synchronize()
            times.append(begin.elapsed_time(end))
        spent += times[-1]
    return sorted(times)[len(times) // 2], max(times)


def finish(torch) -> None:
    """Wait for the device."""
    if not REHEARSED:
        torch.cuda.synchronize()


def free_memory(torch) -> int:
    """Bytes of the device that nobody has."""
    return 0 if REHEARSED else int(torch.cuda.mem_get_info()[0])


def numbers(torch, *shape, dtype=None, seed: int = 1):
    """Normal numbers on the device."""
    if REHEARSED:
        return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype or torch.float32).to(DEVICE)
    made = torch.randn(*shape, device=DEVICE, generator=torch.Generator(DEVICE).manual_seed(seed))
    return made.to(dtype or torch.float32)


def sized(n: int, most: int) -> int:
    """A size; in a rehearsal at most another."""
    return min(n, most) if REHEARSED else n


def shares(report: Report, build: pathlib.Path) -> None:
    """Results that first kernels leave undecided, of how many."""
    import torch

    import repmath.torch
    from repmath._cuda import _library

    functional, library = torch.nn.functional, _library.load()
    counter = torch.zeros(1, dtype=torch.int64, device=DEVICE)
    rows, n, k = sized(1024, 6), sized(50257, 90), sized(4096, 40)
    most: list[int] = [0]  # bytes of the largest workspace
    end = library.rm_cuda_end_workspace

    def measured(size) -> int:
        status = end(size)
        if size is not None:
            most[0] = max(most[0], size._obj.value)
        return status

    def one(name: str, of: int, call) -> None:
        counter.zero_()
        most[0] = 0
        library.rm_cuda_end_workspace = measured
        _library.call("rm_cuda_count_undecided", ctypes.c_void_p(counter.data_ptr()))
        try:
            with repmath.torch.reproducible() as block:
                call()
        except Exception as error:  # the others are still counted
            report.failed += 1
            report.line(f"{name}: {type(error).__name__}: {error}")
            return
        finally:
            _library.call("rm_cuda_count_undecided", None)
            library.rm_cuda_end_workspace = end
        left, places = int(counter), {place for _, place in block.places}
        where = "" if "in main memory" not in places else ", some of it in main memory"
        report.line(f"{name}: {left} of {of}, {100 * left / of:.4f} %{where}")
        report.line(f"[memory] workspace of {name}: {most[0] / 2**20:.1f} MiB")

    for dtype in (torch.float32, torch.bfloat16, torch.float64):
        kind = str(dtype).removeprefix("torch.")
        x = numbers(torch, rows, n, dtype=dtype)
        target = torch.arange(rows, device=DEVICE) % n
        one(f"softmax {kind}, rows of {n}", rows, lambda x=x: x.softmax(-1))
        one(f"log_softmax {kind}, rows of {n}", rows, lambda x=x: x.log_softmax(-1))
        gradient = torch.ops.aten._softmax_backward_data
        one(f"gradient of softmax {kind}, rows of {n}", rows, lambda x=x, g=gradient: g(x, x, -1, x.dtype))
        one(f"cross_entropy {kind}, rows of {n}", rows, lambda x=x, t=target: functional.cross_entropy(x, t))
        one(f"layer_norm {kind}, rows of {n}, twice", 2 * rows, lambda x=x: functional.layer_norm(x, (n,)))
        a, b = (numbers(torch, sized(1024, 12), k, dtype=dtype, seed=seed) for seed in (2, 3))
        one(f"matmul {kind}, sums of {k}", a.shape[0] ** 2, lambda a=a, b=b: a @ b.T)
        p = [numbers(torch, BIG >> 4, dtype=dtype, seed=seed) for seed in (4, 5)]
        p[0].requires_grad_()
        p[0].grad = p[1]
        for kind_of in (torch.optim.SGD, torch.optim.AdamW):
            more = {"momentum": 0.9} if kind_of is torch.optim.SGD else {}
            optimizer = kind_of([p[0]], lr=0.01, fused=True, **more)
            one(f"step of {kind_of.__name__} {kind}", BIG >> 4, optimizer.step)
        one(f"addcmul {kind}", BIG >> 4, lambda p=p: p[1].addcmul(p[1], p[1], value=0.1))


def times(report: Report, build: pathlib.Path) -> None:
    """repmath's and PyTorch's times in one process and their ratio; bytes or operations over the time; memory that a call keeps."""
    import torch

    import repmath
    from repmath import nn

    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    functional, normal = torch.nn.functional, partial(numbers, torch)

    def compare(what: str, ours, theirs, moved: float = 0, operations: float = 0) -> None:
        if REHEARSED:  # NumPy's functions do not know that device
            ours = theirs
        free = free_memory(torch)
        try:
            (a, first), (b, _) = timed(torch, ours), timed(torch, theirs)
            again, last = timed(torch, ours)
        except Exception as error:  # the other calls are still measured
            report.failed += 1
            report.line(f"{what}: {type(error).__name__}: {error}")
            return
        rate = f", {moved / again / 1e6:.0f} GB/s" if moved else ""
        rate += f", {operations / again / 1e9:.2f} TFLOP/s" if operations else ""
        kept = (free - free_memory(torch)) / 2**20
        report.line(f"{what}: {again:.3f} ms (first {a:.3f}), PyTorch {b:.3f} ms, ratio {again / b:.2f}{rate}")
        report.line(f"[tail] {what}: the longest of many {max(first, last):.3f} ms, {max(first, last) / again:.2f} medians")
        report.line(f"[memory] kept by {what}: {kept:.0f} MiB")

    def of_dtype(dtype) -> None:
        x, y = normal(BIG, dtype=dtype), normal(BIG, dtype=dtype)
        size, kind = x.element_size(), str(dtype).removeprefix("torch.")
        for name, other in (("exp", torch.exp), ("tanh", torch.tanh), ("gelu", functional.gelu), ("sin", torch.sin)):
            ours = getattr(repmath.dlpack, name)
            compare(f"{name} {kind} 2^{BIG.bit_length() - 1}", partial(ours, x), partial(other, x), 2 * size * BIG)
        compare(
            f"add {kind} 2^{BIG.bit_length() - 1}",
            partial(repmath.dlpack.add, x, y),
            partial(torch.add, x, y),
            3 * size * BIG,
        )
        compare(f"sum {kind} 2^{BIG.bit_length() - 1}", partial(repmath.sum, x), partial(torch.sum, x), size * BIG)
        many = x.view(-1, sized(1024, 32))
        compare(
            f"mean of rows {kind} {tuple(many.shape)}",
            partial(repmath.mean, many, axis=1),
            partial(torch.mean, many, 1),
            size * BIG,
        )
        del x, y, many
        rows = normal(sized(8192, 4), sized(50257 if size < 8 else 5025, 70), dtype=dtype)
        target = torch.arange(rows.shape[0], device=DEVICE) % rows.shape[1]
        moved = 2 * rows.numel() * size
        compare(f"softmax {kind} {tuple(rows.shape)}", partial(nn.softmax, rows), partial(torch.softmax, rows, -1), moved)
        compare(f"log_softmax {kind}", partial(nn.log_softmax, rows), partial(torch.log_softmax, rows, -1), moved)
        ours, theirs = partial(nn.cross_entropy, rows, target), partial(functional.cross_entropy, rows, target)
        compare(f"cross_entropy {kind}", ours, theirs, moved / 2)
        ours, theirs = partial(nn.layer_norm, rows, rows.shape[1]), partial(functional.layer_norm, rows, rows.shape[1:])
        compare(f"layer_norm {kind}", ours, theirs, moved)
        few, step = (
            sized(32, 2),
            rows.shape[0] // sized(32, 2),
        )  # the time must not depend on where rows are that the last kernel finishes
        for where, places in (("apart", slice(None, None, step)), ("beside each other", slice(None, few))):
            unfinished = rows.clone()
            unfinished[places, 0] = torch.nan
            ours, theirs = partial(nn.softmax, unfinished), partial(torch.softmax, unfinished, -1)
            compare(f"softmax {kind}, a NaN in {few} rows {where}", ours, theirs, moved)
        del unfinished
        del rows
        for n in (sized(1024, 8), sized(4096, 16)):
            a, b = normal(n, n, dtype=dtype), normal(n, n, dtype=dtype)
            compare(f"matmul {kind} {n}", partial(repmath.matmul, a, b), partial(torch.matmul, a, b), operations=2 * n**3)

    import numpy as np

    rows, vocabulary, width = sized(1024, 4), sized(50257, 50), sized(768, 6)
    ties = torch.from_numpy(near_ties(np.random.default_rng(1), rows, vocabulary)).to(DEVICE)
    words, inner = normal(vocabulary, width), normal(rows, width)
    for what, a, b in (
        (f"matmul beside ties {tuple(ties.shape)} by {tuple(words.shape)}", ties, words),
        ("matmul beside ties, transposed", ties.T, inner),
    ):
        compare(
            what,
            partial(repmath.matmul, a, b),
            partial(torch.matmul, a, b),
            operations=2 * a.shape[0] * a.shape[1] * b.shape[1],
        )
    del ties, words, inner
    source, sink = normal(BIG), torch.empty(BIG, device=DEVICE)
    report.line(f"copy of {BIG >> 18} MiB: {2 * 4 * BIG / timed(torch, partial(sink.copy_, source))[0] / 1e6:.0f} GB/s")
    for n, dtype in ((sized(8192, 8), torch.float32), (sized(4096, 8), torch.float64)):
        peak = normal(n, n, dtype=dtype)
        rate = 2 * n**3 / timed(torch, partial(torch.matmul, peak, peak))[0] / 1e9
        report.line(f"{str(dtype).removeprefix('torch.')} product of {n}, cuBLAS: {rate:.1f} TFLOP/s")
    del source, sink, peak
    samples, channels, side = sized(32, 1), sized(64, 2), sized(56, 5)
    image, kernel = normal(samples, channels, side, side), normal(channels, channels, 3, 3)
    ours, theirs = (partial(f, image, kernel, padding=1) for f in (repmath.conv2d, functional.conv2d))
    compare(f"conv2d float32 {tuple(image.shape)} 3x3", ours, theirs, operations=2 * image.numel() * channels * 9)
    for dtype in (torch.float32, torch.bfloat16, torch.float64):
        of_dtype(dtype)


def training(report: Report, build: pathlib.Path) -> None:
    """The networks of the demo, trained on the GPU, have weights with the published digests."""
    published = json.loads((ROOT / "python/repmath/demo/published.json").read_text())

    def train(name: str) -> None:
        more = ["--generated"] if name == "generated" else []
        command = [sys.executable, ROOT / "examples/python/digits_gpu.py", "--steps", published[name]["steps"], *more]
        start = time.perf_counter()
        done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        right = done.returncode == 0 and published[name]["sha256"] in done.stdout
        with report.lock:
            report.wrong += not right
        report.line(
            f"training on {name}: {'the published digest' if right else 'ANOTHER DIGEST'}, {time.perf_counter() - start:.1f} s"
        )
        if not right:
            report.line(done.stdout[-2000:])

    report.each(train, ("generated", "digits"))


def models(report: Report, build: pathlib.Path) -> None:
    """Networks of PyTorch, trained under reproducible() on the GPU and on the CPU, have one digest."""
    import gpu_models

    gpu_models.models(report, build)


def graphs(report: Report, build: pathlib.Path) -> None:
    """Calls that a graph has captured give, replayed with other numbers, the bits of the same calls without one."""
    import torch

    import repmath.torch

    functional, generator = torch.nn.functional, torch.Generator("cuda").manual_seed(3)
    target = torch.randint(0, 1000, (256,), device="cuda", generator=generator)
    calls = {
        "exp": torch.exp, "a number": lambda x: x * 1.7 + 0.3, "matmul": lambda x: x @ x.T, "sum": lambda x: x.sum(1), "std": lambda x: x.std(1),
        "cumsum": lambda x: x.cumsum(1), "softmax": lambda x: x.softmax(-1), "layer_norm": lambda x: functional.layer_norm(x, x.shape[1:]),
        "cross_entropy": lambda x: functional.cross_entropy(x, target),
    }  # fmt: skip

    def one(name: str, call, dtype) -> str:
        x, current = torch.randn(256, 1000, device="cuda", generator=generator, dtype=dtype), torch.cuda.current_stream()
        with repmath.torch.reproducible():
            call(x)  # what is made at the first call
            side, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
            side.wait_stream(current)
            with torch.cuda.stream(side):
                call(x)
            current.wait_stream(side)
            with torch.cuda.graph(graph):
                held = call(x)
            for _ in range(2):  # of other numbers than were there at the capture
                x.neg_()
                graph.replay()
                if as_bytes(torch, held) != as_bytes(torch, call(x)):
                    return "DIFFERS"
        return "right"

    def steps(which, captured: bool) -> list:
        """What steps of a fused optimiser leave, which read counts, a scale and whether they are left out on the device."""
        generator.manual_seed(5)
        made = [torch.randn(n, device="cuda", generator=generator).requires_grad_() for n in (1000, 33, 70000)]
        for p in made:
            p.grad = torch.randn(p.shape, device="cuda", generator=generator)
        with repmath.torch.reproducible():
            optimizer = which(made, lr=0.01, fused=True, **({} if which is torch.optim.SGD else {"capturable": True}))
            optimizer.grad_scale, optimizer.found_inf = torch.tensor(1.5, device="cuda"), torch.zeros((), device="cuda")
            side, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                optimizer.step()
            torch.cuda.current_stream().wait_stream(side)
            if captured:
                with torch.cuda.graph(graph):
                    optimizer.step()
            for found in (0.0, 1.0, 0.0):
                optimizer.found_inf.fill_(found)
                graph.replay() if captured else optimizer.step()
        return [as_bytes(torch, t) for p in made for t in (p, p.grad)]

    for which in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW):
        try:
            found = "right" if steps(which, True) == steps(which, False) else "DIFFERS"
        except Exception as error:  # the others are still captured
            found = f"{type(error).__name__}: {error}"
        report.wrong += found != "right"
        report.line(f"fused {which.__name__} in a graph: {found}")
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        for name, call in calls.items():
            try:
                found = one(name, call, dtype)
            except Exception as error:  # the others are still captured
                found = f"{type(error).__name__}: {error}"
            report.wrong += found != "right"
            report.line(f"{name} {dtype} in a graph: {found}")


def operators(report: Report, build: pathlib.Path) -> None:
    """A sample of every operator that PyTorch has samples of has the CPU's bits, and raises what it raises there."""
    command = [sys.executable, ROOT / "tests/support/stand_in_samples.py", "1"]
    environment = {**os.environ, "REPMATH_SAMPLES_DEVICE": "cuda"}
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env=environment)
    if done.returncode:
        report.failed += 1
        report.line(f"operators: status {done.returncode}, {done.stderr[-2000:]}")
        return
    found = json.loads(done.stdout.splitlines()[-1])
    report.wrong += len(found["differ"])
    report.line(f"operators: {found['compared']} calls compared, {len(found['differ'])} operators differ")
    for name, what in found["differ"].items():
        report.line(f"{name}: {what}")
    for place, names in found["places"].items():
        report.line(f"{place}: {', '.join(names)}")


STAGES = {
    stage.__name__: stage for stage in (bits, golden, calls, training, models, graphs, operators, sanitizer, shares, times)
}
BITS = ("bits", "golden", "calls", "training", "models", "graphs", "operators")
SHOWN = 60  # lines of a stage that say what is wrong


def lines_of(output: pathlib.Path, stage: str, start: str = "") -> list[str]:
    """The lines of a stage that begin so, without that; "" are those of no other section."""
    path = output / f"{stage}.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    if start:
        return [line.removeprefix(start) for line in lines if line.startswith(start)]
    return [line for line in lines if not line.startswith("[")]


def write_report(output: pathlib.Path, device: str, found: dict[str, dict[str, float]]) -> pathlib.Path:
    """The report, from what the stages have written. found: the counts and seconds of each that ran."""
    text = [
        "# A GPU under repmath's checks",
        "",
        device,
        "",
        f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M} UTC",
        "",
    ]
    text += ["| stage | wrong | could not run | s |", "| --- | --- | --- | --- |"]
    for stage in STAGES:
        c = found.get(stage)
        text.append(f"| {stage} | {c['wrong']} | {c['failed']} | {c['seconds']:.0f} |" if c else f"| {stage} | | not run | |")

    def section(title: str, *stages: str, start: str = "", brief: bool = False) -> None:
        text.extend(["", f"## {title}", ""])
        for stage in stages:
            lines = lines_of(output, stage, start) if stage in found else []
            if brief:
                lines = [line for line in lines if line.startswith(WRONG)][:SHOWN] + lines[-1:]
            text.extend([f"    {line}" for line in lines] or [f"    {stage}: nothing"])

    section("Bits", *BITS, brief=True)
    section("Undecided shares", "shares")
    section("Times against PyTorch", "times")
    section("Tails", "times", start="[tail] ")
    section("Memory", "shares", "times", start="[memory] ")
    section("Sanitizer", "sanitizer")
    path = output / "report.md"
    path.write_text("\n".join(text) + "\n")
    return path


def run_here(name: str, options: argparse.Namespace) -> dict[str, float]:
    """Run a stage in this process; its counts."""
    if REHEARSED:
        sys.path.insert(0, str(ROOT / "tools"))
        import gpu_models
        import stand_in

        gpu_models.import_repmath()
        stand_in.use(ROOT / "build/native/stand_in")
    report, start = Report(options.output, name, options.jobs), time.perf_counter()
    STAGES[name](report, options.build)
    counts = {"wrong": report.wrong, "failed": report.failed, "seconds": time.perf_counter() - start}
    report.line(f"{name}: {report.wrong} wrong, {report.failed} could not run, {counts['seconds']:.0f} s")
    return counts


def run_stage(name: str, options: argparse.Namespace) -> dict[str, float]:
    """Run a stage in a process of its own, which is ended with all that it has begun when its time is over."""
    counts, start = options.output / f"{name}.json", time.perf_counter()
    for old in (counts, options.output / f"{name}.txt"):
        old.unlink(missing_ok=True)
    command = [
        sys.executable,
        __file__,
        "--one",
        name,
        "--build",
        options.build,
        "--jobs",
        options.jobs,
        "--output",
        options.output,
    ]
    child = subprocess.Popen([str(c) for c in command], start_new_session=True)
    try:
        child.wait(STAGE_SECONDS)
        reason = f"ended with status {child.returncode}"
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        reason = f"cut off after {STAGE_SECONDS:.0f} s"
    if counts.exists():
        return dict(json.loads(counts.read_text()))
    text = f"{WRONG}{name}: {reason}"
    print(text, flush=True)
    options.output.mkdir(parents=True, exist_ok=True)
    with open(options.output / f"{name}.txt", "a") as file:
        file.write(text + "\n")
    wrong = sum(line.startswith(WRONG) for line in lines_of(options.output, name)) - 1
    return {"wrong": wrong, "failed": 1, "seconds": time.perf_counter() - start}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stages", nargs="*", metavar="stage", help=", ".join(STAGES))
    parser.add_argument("--build", type=pathlib.Path, help="the folder of the CUDA library and its test programs")
    parser.add_argument("--jobs", type=int, default=1, help="how many programs run at a time, where times don't count (1)")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "out/gpu", help="where the report goes")
    parser.add_argument("--one", choices=STAGES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    unknown = set(options.stages) - set(STAGES)
    if unknown:
        parser.error(f"no stage is called {', '.join(sorted(unknown))}")
    if options.one:
        counts = run_here(options.one, options)
        (options.output / f"{options.one}.json").write_text(json.dumps(counts))
        return 0
    query = ["nvidia-smi", "--query-gpu=name,compute_cap,driver_version,memory.total", "--format=csv,noheader"]
    device = subprocess.run(query, capture_output=True, text=True) if shutil.which("nvidia-smi") and not REHEARSED else None
    if not REHEARSED and (device is None or device.returncode):
        print("gpu_check: there is no GPU")
        return 2
    name = device.stdout.strip() if device else f"a rehearsal on {DEVICE}"
    print(name)
    if options.build is None:
        options.build = run.build()
    library = next(
        (options.build / p for p in ("src/cuda/librepmath_cuda.so", "librepmath_cuda.so") if (options.build / p).exists()),
        None,
    )
    if library:
        os.environ.setdefault("REPMATH_CUDA_LIBRARY", str(library))
    found = {}
    for stage in options.stages or STAGES:
        print(f"== {stage}", flush=True)
        found[stage] = run_stage(stage, options)
        path = write_report(options.output, name, found)  # after each, as the machine may be taken away
    print(path.read_text())
    if any(c["wrong"] for c in found.values()):
        return 1
    return 2 if any(c["failed"] for c in found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
