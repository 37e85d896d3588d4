"""What programs do around a model, under reproducible(): the digest of each part (torch/test_integration.py).

Usage: integration_program.py THREADS
"""

import copy
import io
import json
import pickle
import sys
import warnings

import torch
import torch.nn.functional as F
from torch import nn

import repmath.torch as rt
from repmath.torch import _blocks


@torch.library.custom_op("repmath_integration::gate", mutates_args=())
def gate(x: torch.Tensor, slope: float) -> torch.Tensor:
    return x * torch.sigmoid(slope * x)


gate.register_fake(lambda x, slope: torch.empty_like(x))


def _gate_gradient(ctx, g):
    x, slope = ctx.kept
    s = torch.sigmoid(slope * x)
    return g * (s + slope * x * s * (1 - s)), None


def _keep(ctx, inputs, output):
    ctx.kept = inputs


gate.register_autograd(_gate_gradient, setup_context=_keep)


class Rows(torch.utils.data.Dataset):
    """Rows that are drawn and computed where they are asked for: in a worker."""

    def __len__(self):
        return 24

    def __getitem__(self, i):
        x = torch.randn(16, generator=torch.Generator().manual_seed(i))
        return x.softmax(0).log1p(), torch.randn(3), i


def network():
    torch.manual_seed(5)
    return nn.Sequential(nn.Linear(16, 24), nn.GELU(), nn.LayerNorm(24), nn.Linear(24, 3))


def data(rows=8):
    return torch.randn(rows, 16), torch.randint(0, 3, (rows,))


def step(model, optimizer, x, y, clip=None):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    if clip:
        clip(model.parameters())
    optimizer.step()


def hessian():
    model, (x, y) = network(), data(4)
    weights = dict(model.named_parameters())
    narrow = {name: w for name, w in weights.items() if name in ("3.bias", "2.weight")}

    def loss(some):
        return F.cross_entropy(torch.func.functional_call(model, weights | some, (x,)), y)

    found = torch.func.hessian(loss)(narrow)
    return [found[a][b] for a in narrow for b in narrow]


def jacobians():
    model, (x, _) = network(), data(3)
    one = torch.func.jacfwd(lambda row: model(row).log_softmax(-1))
    return [torch.vmap(one)(x), torch.func.jacrev(lambda row: model(row).log_softmax(-1))(x[0]), one(x[0])]


def tangents():
    model, (x, _) = network(), data(3)
    return list(torch.func.jvp(model, (x,), (x.cos(),)))


def per_sample():
    model, (x, y) = network(), data()
    weights = {name: w.detach() for name, w in model.named_parameters()}

    def loss(w, row, target):
        return F.cross_entropy(torch.func.functional_call(model, w, (row[None],)), target[None])

    found = torch.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(weights, x, y)
    for i in range(2):  # vmap composes linear maps and norms of more operators
        alone = torch.func.grad(loss)(weights, x[i], y[i])
        assert all(torch.allclose(found[name][i], alone[name], rtol=1e-4, atol=1e-6) for name in weights), i
    return list(found.values())


def loaders():
    """Workers that are forked, that are spawned (once, since these import everything again), and none: one result."""
    made = []
    spawned = ((1, "spawn"),) if torch.get_num_threads() == 1 else ()
    for workers, way in ((0, None), (2, "fork"), *spawned):
        torch.manual_seed(11)
        loader = torch.utils.data.DataLoader(
            Rows(), batch_size=6, shuffle=True, num_workers=workers, multiprocessing_context=way, worker_init_fn=inside
        )
        made.append([t for x, _, i in loader for t in (x, i)])
    assert all(torch.equal(a, b) for other in made[1:] for a, b in zip(made[0], other, strict=True))
    return made[0]


def inside(worker):
    """In a worker, before it begins."""
    if not _blocks.inside():
        raise RuntimeError(f"worker {worker} is in no block")


def averaged():
    model, (x, y) = network(), data()
    mean = torch.optim.swa_utils.AveragedModel(model)
    ema = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9))
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    for _ in range(3):
        step(model, optimizer, x, y)
        mean.update_parameters(model)
        ema.update_parameters(model)
    return [*mean.parameters(), *ema.parameters(), mean(x)]


def copies():
    """A model and its optimiser by deepcopy, pickle, torch.save with and without weights_only, and their state dicts: one step each."""
    x, y = data()
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), 0.01, amsgrad=True)
    step(model, optimizer, x, y)

    def stored(value, **options):
        file = io.BytesIO()
        torch.save(value, file)
        file.seek(0)
        return torch.load(file, **options)

    def from_states():
        made = network()
        made.load_state_dict(stored(model.state_dict(), weights_only=True))
        theirs = torch.optim.AdamW(made.parameters(), 0.01, amsgrad=True)
        theirs.load_state_dict(stored(optimizer.state_dict(), weights_only=True))
        return made, theirs

    found = [
        copy.deepcopy((model, optimizer)),
        pickle.loads(pickle.dumps((model, optimizer))),
        stored((model, optimizer), weights_only=False),
        from_states(),
    ]
    digests = set()
    for made, theirs in [*found, (model, optimizer)]:
        step(made, theirs, x, y)
        digests.add(rt.digest(made, theirs))
    assert len(digests) == 1, digests
    return list(model.parameters())


def scaled():
    """Autocast to float16 with a GradScaler, which unscales, finds an infinite gradient and grows."""
    model, (x, y) = network(), data()
    optimizer = torch.optim.AdamW(model.parameters(), 0.01)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**14, growth_interval=2)
    for i in range(4):
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.float16):
            loss = F.cross_entropy(model(x * (1e6 if i == 1 else 1)), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    return [*model.parameters(), torch.tensor(scaler.get_scale(), dtype=torch.float64)]


def clipped():
    model, (x, y) = network(), data()
    optimizer = torch.optim.RMSprop(model.parameters(), 0.01)
    for foreach in (True, False):
        step(model, optimizer, x, y, lambda parameters, f=foreach: nn.utils.clip_grad_value_(parameters, 0.01, foreach=f))
    return list(model.parameters())


def own_operators():
    model, (x, y) = network(), data()
    model[1] = Gate()
    optimizer = torch.optim.AdamW(model.parameters(), 0.01, fused=True)
    for _ in range(2):
        step(model, optimizer, x, y)
    return list(model.parameters())


class Gate(nn.Module):
    def forward(self, x):
        return gate(x, 1.7)


def exported():
    model, (x, _) = network(), data()
    model[1] = Gate()
    program = torch.export.export(model, (x,))
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    made = [program.module()(x), torch.export.load(file).module()(x), program.run_decompositions().module()(x)]
    assert torch.equal(made[0], model(x)) and torch.equal(made[1], made[0])
    return made


def meta():
    """Shapes on the device "meta", then numbers from elsewhere; a FakeTensorMode inside of the block."""
    from torch._subclasses import FakeTensorMode

    with torch.device("meta"):
        model = network()
    with FakeTensorMode():
        assert network()(torch.ones(2, 16)).shape == (2, 3)
    model = model.to_empty(device="cpu")
    model.load_state_dict(network().state_dict())
    return [model(data()[0])]


def twice():
    """Gradients of gradients: a penalty on the norm of a gradient, and of absolute values."""
    model, (x, y) = network(), data()
    x.requires_grad_()
    (g,) = torch.autograd.grad(F.cross_entropy(model(x), y), x, create_graph=True)
    (g.norm(2, dim=1).sub(1).square().sum() + g.abs().sum()).backward()
    return [p.grad for p in model.parameters() if p.grad is not None]


def checkpointed():
    from torch.utils.checkpoint import checkpoint

    model, (x, y) = network(), data()
    F.cross_entropy(checkpoint(model, x, use_reentrant=False), y).backward()
    return [p.grad for p in model.parameters()]


PARTS = (
    hessian, jacobians, tangents, per_sample, loaders, averaged, copies, scaled, clipped, own_operators, exported, meta, twice,
    checkpointed,
)  # fmt: skip


def main(threads, names):
    warnings.simplefilter("ignore")
    torch.set_num_threads(threads)
    found = {}
    for part in PARTS:
        if names and part.__name__ not in names:
            continue
        with rt.reproducible():
            torch.manual_seed(7)
            found[part.__name__] = rt.digest(*(t.detach() for t in part()))
    print(json.dumps(found))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
