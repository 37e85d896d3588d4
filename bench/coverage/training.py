"""What every model of the libraries does: PyTorch's own loss and gradients, then a step inside of a block, and for some a comparison."""

import copy
import zlib

from .cases import Absent

LARGEST = 400_000_000


def sampled(name, share):
    """Whether the comparison is made for this case: for one in so many, by its name."""
    return zlib.crc32(name.encode()) % share == 0


def short(error):
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:120]}"


def loss_of(made):
    """Its loss, of several the mean, or the mean of the squares of its first numbers, times different ones: what is normalised has gradients too."""
    import torch
    from torch.utils._pytree import tree_leaves

    if getattr(made, "loss", None) is not None:
        return made.loss if made.loss.dim() == 0 else made.loss.mean()
    values = dict(made) if hasattr(made, "items") else made
    for t in tree_leaves(values):
        if isinstance(t, torch.Tensor) and t.is_floating_point() and t.requires_grad:
            t = t if t.dtype == torch.float64 else t.float()
            return (t * (torch.arange(t.numel()).reshape(t.shape) % 7 - 3)).square().mean()
    raise Absent("no result has a gradient")


def double(value):
    """The same, with every tensor of floats in binary64."""
    import torch
    from torch.utils._pytree import tree_map_only

    return tree_map_only(torch.Tensor, lambda t: t.double() if t.is_floating_point() else t, value)


def _gradients(model):
    return {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


def agreement(model, loss):
    """The relative errors of loss and gradients beside PyTorch in binary64, or nothing where it does not run so, or draws: `loss(model, convert)`."""
    import torch

    import repmath.torch

    exact = copy.deepcopy(model).double()
    exact.eval()
    before = torch.get_rng_state()
    try:
        loss64 = loss(exact, double)
        loss64.backward()
    except Exception:  # it has float32 written into it
        return ()
    if not torch.equal(before, torch.get_rng_state()):  # what it draws is another number in each format
        return ()
    with repmath.torch.reproducible(strict=True):
        model.eval()
        ours = loss(model, lambda value: value)
        ours.backward()
    found, wanted = _gradients(model), _gradients(exact)
    with torch.no_grad():
        apart = float(sum((found[n].double() - wanted[n]).square().sum() for n in wanted)) ** 0.5
        size = float(sum(g.square().sum() for g in wanted.values())) ** 0.5
    model.zero_grad()
    return abs(float(ours.detach()) - float(loss64.detach())) / max(abs(float(loss64.detach())), 1e-30), apart / max(
        size, 1e-30
    )


def build_plainly(build):
    """A model of PyTorch's own, or Absent."""
    import torch

    torch.manual_seed(0)
    try:
        model = build()
    except Absent:
        raise
    except Exception as error:
        raise Absent(short(error)) from None
    size = sum(p.numel() for p in model.parameters() if not isinstance(p, torch.nn.UninitializedParameter))
    if size > LARGEST:
        raise Absent(f"{size // 10**6} million parameters: not tried")
    return model


def trained(build, arguments, compare=False, call=None):
    """A step of AdamW inside of a block of what PyTorch runs: the digest of the model after it, and what the comparison found.

    `call(model, arguments, loss)` computes the loss, or with loss=False what evaluation gives.
    """
    import torch

    import repmath.torch

    call = call or _call
    model = build_plainly(build)
    model.train()
    try:
        call(model, arguments, True).backward()
        model.eval()
        with torch.no_grad():
            call(model, arguments, False)
    except Absent:
        raise
    except Exception as error:
        raise Absent(short(error)) from None
    del model
    found = {}
    with repmath.torch.reproducible(strict=True):
        torch.manual_seed(0)
        model = build()
        model.eval()
        with torch.no_grad():
            call(model, arguments, False)
        if compare:
            untrained = copy.deepcopy(model)
        model.train()
        loss = call(model, arguments, True)
        parameters = list(model.parameters())
        optimizer = torch.optim.AdamW(parameters, 1e-3, fused=True) if parameters else None
        loss.backward()
        if parameters:
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
    found["digest"] = repmath.torch.digest(model, loss.detach())
    if compare:
        found["apart"] = agreement(untrained, lambda m, convert: call(m, convert(arguments), True))
    return found


def _call(model, arguments, loss):
    made = model(**arguments) if isinstance(arguments, dict) else model(*arguments)
    return loss_of(made) if loss else made
