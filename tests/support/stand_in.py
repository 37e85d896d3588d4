"""A device of PyTorch's in main memory (stand_in.cpp), in the place of a GPU: `use()` once in a process that does nothing else."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import types

import torch

NAME = "standin"


def built(folder: pathlib.Path) -> pathlib.Path:
    """The library, compiled where it is not there yet, for the running PyTorch."""
    source, packages = pathlib.Path(__file__).with_suffix(".cpp"), pathlib.Path(torch.__file__).parent
    path = folder / f"stand_in-{torch.__version__}.so"
    if not path.exists() or path.stat().st_mtime < source.stat().st_mtime:
        compiler = shutil.which("c++")
        assert compiler, "there is no C++ compiler"
        folder.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(f".{os.getpid()}")
        include, lib = packages / "include", packages / "lib"
        flags = ["-std=c++20", "-O0", "-fPIC", "-shared", "-w", f"-I{include}", f"-I{include}/torch/csrc/api/include"]
        subprocess.run([compiler, *flags, "-o", new, source, f"-L{lib}", "-ltorch_cpu", "-lc10"], check=True)
        new.rename(path)
    return path


def use(folder: pathlib.Path) -> None:
    """Let PyTorch have the device, and repmath take its tensors for those of a GPU."""
    torch.ops.load_library(str(built(folder)))
    torch.utils.rename_privateuse1_backend(NAME)
    module = types.ModuleType(f"torch.{NAME}")
    for name, value in {"is_available": True, "current_device": 0, "device_count": 1, "_is_in_bad_fork": False}.items():
        setattr(module, name, lambda value=value: value)
    module.manual_seed_all = module.set_rng_state = lambda state: None
    module.get_rng_state, module.device = (lambda: torch.empty(0)), contextlib.nullcontext
    module.get_amp_supported_dtype = lambda: [torch.bfloat16, torch.float16]
    torch._register_device_module(NAME, module)
    torch.utils.generate_methods_for_privateuse1_backend()
    from repmath.torch import _blocks, _device_tensors

    _device_tensors.KINDS.add(NAME)
    _blocks.look_at_devices()
