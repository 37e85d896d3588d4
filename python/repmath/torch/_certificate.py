"""What repmath.certificate and `repmath digest` have of PyTorch: its calls, the digests of its things and its files."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch

from .. import certificate
from ._digest import digest
from ._enable import disable, enable
from ._tensors import as_array
from ._trace import trace


class Framework(certificate.Framework):
    """The kinds of PyTorch's things that have numbers, and how a script is run."""

    kinds = (torch.Tensor, torch.nn.Module, torch.optim.Optimizer)

    def digest(self, *things: Any) -> str:
        return digest(*things)

    @contextlib.contextmanager
    def calls(self, strict: bool, marks: Any) -> Iterator[dict[str, int]]:
        """Inside, operators are reproducible and `marks` takes each call. Afterwards what is yielded has those that were PyTorch's own."""
        uncovered: dict[str, int] = {}
        block = enable(strict)
        try:
            with trace() as traced:
                traced.calls = marks
                yield uncovered
        finally:
            disable()
            uncovered.update(sorted(block.uncovered.items()))


def arrays(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """The tensors and numbers of a file that `torch.save` wrote. No code of the file runs."""
    loaded = torch.load(path, map_location="cpu", weights_only=True)
    return {name: as_array(v.detach()) if isinstance(v, torch.Tensor) else np.asarray(v) for name, v in _leaves(loaded, "")}


def _leaves(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Tensors and numbers with their names. Texts and None say nothing of numbers."""
    if isinstance(value, Mapping):
        for key, v in sorted(value.items(), key=lambda item: str(item[0])):
            yield from _leaves(v, f"{name}.{key}" if name else str(key))
    elif isinstance(value, (list, tuple)):
        for key, v in enumerate(value):
            yield from _leaves(v, f"{name}.{key}" if name else str(key))
    elif isinstance(value, (bool, int, float, torch.Tensor)):
        yield name, value


certificate.frameworks.append(Framework())
