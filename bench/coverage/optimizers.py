"""Every optimiser of torch.optim in every way that the CPU has: for loops, on lists, fused, capturable, and their options."""

import functools
import inspect

from .cases import Absent, Case

OPTIONS = {
    "": {},
    "weight decay": {"weight_decay": 0.01},
    "maximize": {"maximize": True},
    "amsgrad": {"amsgrad": True},
    "momentum": {"momentum": 0.9},
    "momentum, nesterov": {"momentum": 0.9, "nesterov": True},
    "momentum, dampening": {"momentum": 0.9, "dampening": 0.3},
    "centered": {"centered": True},
    "centered, momentum": {"centered": True, "momentum": 0.9},
    "decoupled": {"decoupled_weight_decay": True, "weight_decay": 0.01},
    "lr tensor": {"lr": "tensor"},
    "no lr": {"lr": None},
    "first momentum": {"beta1": 0.9},
    "strong wolfe": {"line_search_fn": "strong_wolfe"},
    "lr decay": {"lr_decay": 0.1},
}
WAYS = {
    "": {},
    "for loop": {"foreach": False},
    "foreach": {"foreach": True},
    "fused": {"fused": True},
    "capturable": {"capturable": True},
}
NAMES = "ASGD Adadelta Adafactor Adagrad Adam AdamW Adamax LBFGS Muon NAdam RAdam RMSprop Rprop SGD SparseAdam".split()


def parameters(name):
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(7, 9, bias=name != "Muon"), torch.nn.Tanh(), torch.nn.Linear(9, 5, bias=name != "Muon")
    )
    return model, torch.randn(6, 7), torch.randn(6, 5)


def sparse_parameters():
    import torch

    torch.manual_seed(0)
    return torch.nn.Embedding(8, 5, sparse=True), torch.tensor([1, 2, 1, 5, 0, 1]), torch.randn(6, 5)


def train(name, options, steps=3):
    """A few steps, with gradients that are limited each in another way; the parameters and the states."""
    import torch

    made = {k: (torch.tensor(0.01) if v == "tensor" else v) for k, v in options.items()}
    model, x, y = sparse_parameters() if name == "SparseAdam" else parameters(name)
    optimizer = getattr(torch.optim, name)(model.parameters(), **made)

    def closure():
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        return loss

    for i in range(steps):
        loss = closure()
        if name != "SparseAdam":
            if i == 0:
                torch.nn.utils.clip_grad_value_(model.parameters(), 0.05)
            elif i == 1:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step(closure) if name == "LBFGS" else optimizer.step()
    return model, optimizer, loss


def variants():
    """Name and options of each that PyTorch takes by its signature."""
    import torch

    for name in NAMES:
        takes = inspect.signature(getattr(torch.optim, name)).parameters
        for option, values in OPTIONS.items():
            for way, more in WAYS.items():
                if all(k in takes for k in (*values, *more)):
                    yield " ".join(filter(None, (name, f"({option})" if option else "", way))), name, values | more


def taken(name, options):
    """Whether PyTorch takes it here: capturable ones are for devices, fused ones of dense gradients."""
    try:
        train(name, options, 1)
    except Exception as error:
        return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:120]}"
    return None


def run(name, options):
    import torch

    import repmath.torch

    reason = taken(name, options)
    if reason is not None:
        raise Absent(reason)
    with repmath.torch.reproducible(strict=True):
        ours = train(name, options)[0]
    if not all(bool(torch.isfinite(p).all()) for p in ours.parameters()):
        raise ArithmeticError("a parameter is not finite")


def cases():
    for title, name, options in variants():
        yield Case("optimisers", title, functools.partial(run, name, options))
