"""The deviations that norms return, with eps before them in their storage: ATen's gradients of norms are not given eps."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

MARK = 0x6D72_6570_7374_6174
HEAD = 16  # bytes before the deviations in their storage: a mark and eps


def marked(root: torch.Tensor, eps: float) -> torch.Tensor:
    """Moves 1/sqrt(variance + eps) of each set, a dense tensor, into a storage of its own, behind the mark and eps. That of a device has eps
    as an attribute, too, so that nobody waits for the device to read it."""
    if not root.is_cpu:
        there = torch.empty(HEAD + root.nbytes, dtype=torch.uint8, device=root.device)
        head = there[:HEAD].view(torch.int64)
        head[0].fill_(MARK)
        head[1].fill_(int(np.float64(eps).view(np.int64)))
        there[HEAD:].view(root.dtype).view(root.shape).copy_(root)
        remember(there, eps)
        storage = there.untyped_storage()
        return torch.empty(0, dtype=root.dtype, device=root.device).set_(
            storage, HEAD // root.itemsize, root.shape, root.stride()
        )
    held = np.empty(HEAD + root.nbytes, np.uint8)
    held[:8].view(np.int64)[0], held[8:HEAD].view(np.float64)[0] = MARK, eps
    storage = torch.from_numpy(held).untyped_storage()
    made = torch.empty(0, dtype=root.dtype).set_(storage, HEAD // root.itemsize, root.shape, root.stride())
    made.copy_(root)
    return root.set_(made)


def remember(t: torch.Tensor, eps: float | None) -> None:
    """Note eps on the storage of a tensor on a device."""
    t.untyped_storage()._repmath_eps = eps


def eps_before(t: torch.Tensor) -> float | None:
    """What `marked` put into the storage; None for tensors that it has not made."""
    if t.layout is not torch.strided or t.storage_offset() * t.itemsize < HEAD:
        return None
    storage = t.untyped_storage()
    if storage.nbytes() < HEAD:  # of a tensor without elements, or one whose memory is freed: `set_` would make it larger
        return None
    noted = None if t.is_cpu else getattr(storage, "_repmath_eps", None)
    if noted is not None:
        return float(noted)
    held = torch.empty(0, dtype=torch.int64, device=t.device).set_(storage, 0, (2,), (1,)).cpu()
    return float(held.view(torch.float64)[1]) if int(held[0]) == MARK else None


def cloning(overload: Any) -> Callable[..., torch.Tensor]:
    """What runs in place of `aten.clone`. Transforms of torch.func copy a norm's deviations before they call its gradient, and eps goes with them."""

    def clone(x: torch.Tensor, **kwargs: Any) -> torch.Tensor:
        made: torch.Tensor = overload(x, **kwargs)
        known = x.storage_offset() * x.itemsize == HEAD and (x.is_cpu or hasattr(x.untyped_storage(), "_repmath_eps"))
        eps = eps_before(x) if known else None
        return made if eps is None else marked(made, eps)

    clone.moves = True  # type: ignore[attr-defined]
    return clone
