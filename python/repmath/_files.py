"""The arrays that a file holds, by name: .npy, .npz, .safetensors, and what torch.save writes."""

import os
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np


class UnreadableFileError(ValueError):
    """The file is of no known kind, or holds something beside numbers, or the package that reads it is absent."""


Reader = Callable[[str | os.PathLike[str]], dict[str, np.ndarray]]


def arrays(path: str | os.PathLike[str], of_torch: Reader) -> dict[str, np.ndarray]:
    """The arrays of a file by their names, in the order in which `repmath.digest` takes those of a mapping.

    Parameters
    ----------
    path : path
        A .npy file, whose one array has the name "", or a .npz, .safetensors or PyTorch
        file. What kind it is, its first bytes tell.
    of_torch : callable
        What reads a PyTorch file.

    Returns
    -------
    dict of str to ndarray
        Sorted by name. Of a PyTorch file the tensors and numbers: the names of nested
        entries are joined by dots, as in "state.0.exp_avg", and lists keep their order.

    Raises
    ------
    UnreadableFileError
        The file is empty, or nothing of this, or the package that reads it is not installed.
    OSError
        It cannot be read.
    """
    with open(path, "rb") as file:
        start = file.read(9)
    if not start:
        raise UnreadableFileError("the file is empty")
    if start.startswith(b"\x93NUMPY"):
        found = {"": np.load(path)}
    elif start.startswith(b"PK"):
        found = _of_archive(path, of_torch)
    elif len(start) == 9 and start.endswith(b"{"):
        found = _of_safetensors(path)
    elif start.startswith(b"\x80"):
        found = of_torch(path)
    else:
        raise UnreadableFileError("this is no .npy, .npz, .safetensors or PyTorch file")
    return found


def _of_archive(path: Any, of_torch: Reader) -> dict[str, np.ndarray]:
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    if any(name.endswith("/data.pkl") for name in names):
        return of_torch(path)
    if not all(name.endswith(".npy") for name in names):
        raise UnreadableFileError("this archive is neither a .npz nor a PyTorch file")
    with np.load(path) as loaded:
        return {name: loaded[name] for name in sorted(loaded)}


def _of_safetensors(path: Any) -> dict[str, np.ndarray]:
    try:
        from safetensors import safe_open
    except ImportError:
        raise UnreadableFileError("safetensors, which reads this file, is not installed") from None
    with safe_open(path, framework="np") as file:
        return {name: file.get_tensor(name) for name in sorted(file.keys())}
