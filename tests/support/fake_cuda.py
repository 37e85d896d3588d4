"""What tests/torch/test_cuda_routes.py has run in a process of its own: python fake_cuda.py NETWORK ... prints a line of JSON, for each network of
tools/gpu_models.py the operators that a step of PyTorch's own calls for tensors of a CUDA device, by the place to which reproducible() sends them.
The tensors have no memory (FakeTensorMode), so that neither a GPU nor PyTorch for CUDA is needed; their sizes are those of the checks of a GPU."""

import collections
import ctypes
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = pathlib.Path(importlib.util.find_spec("torch").origin).parent
UNKNOWN = "no line of the table"


def load(folder):
    """The answers of CUDA's (fake_cuda.cpp), before PyTorch asks."""
    from importlib.metadata import version

    source = pathlib.Path(__file__).with_suffix(".cpp")
    path = folder / f"fake_cuda-{version('torch')}.so"
    if not path.exists() or path.stat().st_mtime < source.stat().st_mtime:
        folder.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(f".{os.getpid()}")
        flags = ["-std=c++20", "-O0", "-fPIC", "-shared", "-w", f"-I{PACKAGES / 'include'}"]
        libraries = [f"-L{PACKAGES / 'lib'}", "-ltorch_cpu", "-lc10"]
        subprocess.run([shutil.which("c++"), *flags, "-o", new, source, *libraries], check=True)
        new.rename(path)
    for name in ("libc10.so", "libtorch_cpu.so"):
        ctypes.CDLL(str(PACKAGES / "lib" / name), mode=ctypes.RTLD_GLOBAL)
    ctypes.CDLL(str(path))


def without_memory(model, mode):
    """The model's parameters and buffers on the device, without memory."""
    import torch

    made = {}
    for module in model.modules():
        for kind in (module._parameters, module._buffers):
            for name, t in kind.items():
                if t is not None and id(t) not in made:
                    fake = mode.from_tensor(t).detach().to("cuda")
                    made[id(t)] = t, torch.nn.Parameter(fake) if kind is module._parameters else fake
                kind[name] = None if t is None else made[id(t)][1]


def routes(name):
    """The operators of a step, by place."""
    import gpu_models
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils._python_dispatch import TorchDispatchMode

    from repmath.torch._aten import devices

    found = collections.defaultdict(set)

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            if devices.device_of((*args, *kwargs.values())) is not None:
                try:
                    found[devices.route(func, args, kwargs)].add(str(func))
                except KeyError:
                    found[UNKNOWN].add(str(func))
            if func.overloadpacket.__name__.startswith("_fused_") and not func._schema.returns:
                return None  # some have no sizes of results, for they return none
            return func(*args, **kwargs)

    make, optimizer_of, _ = gpu_models.NETWORKS[name]
    model, batch, loss = make(False)
    with FakeTensorMode(allow_fallback_kernels=False) as mode:
        without_memory(model, mode)
        batch = [mode.from_tensor(t).to("cuda") for t in batch]
        optimizer = optimizer_of(model.parameters())
        for group in optimizer.param_groups:
            group["foreach"] = None if group.get("fused") else True  # as PyTorch chooses for parameters with memory
        with Watch():
            loss(model, *batch).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
            optimizer.step()
    return {place: sorted(names) for place, names in found.items()}


def main():
    load(ROOT / "build/native/stand_in")
    sys.path.insert(0, str(ROOT / "tools"))
    import gpu_models

    gpu_models.import_repmath()
    from repmath.torch._aten import devices

    devices._meets = lambda *_: False  # tensors without memory have no addresses
    kept = set(devices._LAUNCHING)
    made = {}
    for name in sys.argv[1:]:
        made[name] = routes(name)
    devices._LAUNCHING = frozenset(kept - {"mm", "addmm"})
    made["control"] = routes("lenet")
    print(json.dumps(made))


if __name__ == "__main__":
    main()
