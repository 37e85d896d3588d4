"""torch_geometric's layers, norms, aggregations, poolings and models, that run with PyTorch alone, on a small graph: a step of AdamW.

Each is made by the first of a few calls of its constructor with which PyTorch runs it with one of a few lists of arguments.
"""

import functools
import inspect

from . import graph_programs
from .cases import Absent, Case
from .training import loss_of, sampled, short, trained

NODES, WIDTH, EDGES = 12, 8, 40
KINDS = ("conv", "norm", "aggr", "dense", "models", "pool")


def graph():
    """Tensors by the names that parameters of `forward` have."""
    import torch

    generator = torch.Generator().manual_seed(4)
    x = torch.randn(NODES, WIDTH, generator=generator)
    edges = torch.randint(0, NODES, (2, EDGES), generator=generator)
    attributes = torch.randn(EDGES, WIDTH, generator=generator)
    batch = torch.arange(NODES) // 6
    position = torch.randn(NODES, 3, generator=generator)
    adjacency = (torch.rand(2, 6, 6, generator=generator) > 0.5).float()
    adjacency = (adjacency + adjacency.mT).clamp(max=1.0)
    return {
        **dict.fromkeys(("x", "x_0", "h", "node_feat", "x_s"), x),
        **dict.fromkeys(("edge_index", "pos_edge_index", "hyperedge_index", "neg_edge_index"), edges),
        "edge_weight": attributes[:, 0].abs(),
        "edge_attr": attributes,
        "pseudo": attributes[:, :2].sigmoid(),
        "edge_type": torch.arange(EDGES) % 3,
        "node_type": torch.arange(NODES) % 2,
        "pos": position,
        "normal": torch.nn.functional.normalize(position, dim=1),
        **dict.fromkeys(("batch", "index"), batch),
        "ptr": torch.tensor([0, 6, 12]),
        "batch_size": 2,
        "dim_size": 2,
        "adj": adjacency,
        "z": torch.arange(NODES) % 5 + 1,
        "edge_label_index": edges[:, :5],
    }


def _inner(width=WIDTH, to=WIDTH):
    import torch

    return torch.nn.Sequential(torch.nn.Linear(width, 16), torch.nn.ReLU(), torch.nn.Linear(16, to))


def constructions(made):
    """Keywords of the constructor, by their names."""
    import torch
    from torch_geometric import nn

    degrees = torch.tensor([0, 2, 4, 3, 2, 1])
    common = {
        **dict.fromkeys(
            ("in_channels", "out_channels", "channels", "hidden_channels", "in_dim", "out_dim", "hidden_dim", "emb_dim"),
            WIDTH,
        ),
        **dict.fromkeys(("space_dimensions", "propagate_dimensions"), 3),
        **dict.fromkeys(("num_layers", "K", "k", "num_seed_points", "num_encoder_blocks", "num_blocks"), 2),
        **dict.fromkeys(("edge_dim", "embedding_dim", "num_features"), WIDTH),
        **dict.fromkeys(("num_relations", "num_edge_types"), 3),
        "num_node_types": 2,
        "num_types": 2,
        "edge_type_emb_dim": 4,
        "edge_attr_emb_dim": 4,
        "num_bases": 2,
        "dim": 2,
        "kernel_size": 3,
        "aggregators": ["mean", "max", "std"],
        "scalers": ["identity", "amplification"],
        "aggr": "mean",
        "aggrs": ["mean", "max"],
        "deg": degrees,
        "alpha": 0.1,
        "nn": _inner(),
        "mlp": _inner(),
        "local_nn": None,
        "global_nn": None,
        "gate_nn": _inner(to=1),
        "first_aggr": True,
        "num_groups": 2,
        "groups": 2,
        "num_nodes": NODES,
        "max_num_elements": 6,
        "max_num_nodes_in_dataset": 6,
        "processing_steps": 2,
        "ratio": 0.5,
        "num_timesteps": 2,
        "num_out_layers": 2,
        "num_clusters": 3,
        "act": "relu",
        "mode": "cat",
        "conv": nn.GCNConv(WIDTH, WIDTH),
        "lambda_": 1.0,
        "heads": 2,
    }
    parameters = inspect.signature(made.__init__).parameters
    needed = {
        n
        for n, p in parameters.items()
        if p.default is inspect.Parameter.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    } - {"self"}
    own = OWN.get(made.__name__)
    if own is not None:
        yield own()
    if needed <= set(common):
        base = {n: common[n] for n in needed}
        yield base
        for more in ({"edge_dim": WIDTH}, {"heads": 2}, {"in_channels": WIDTH}):
            if set(more) <= set(parameters):
                yield base | more


def _own():
    import torch
    from torch_geometric import nn

    linear = torch.nn.Linear
    return {
        "PointNetConv": lambda: {"local_nn": linear(WIDTH + 3, WIDTH)},
        "PPFConv": lambda: {"local_nn": linear(WIDTH + 4, WIDTH)},
        "NNConv": lambda: {"in_channels": WIDTH, "out_channels": WIDTH, "nn": linear(WIDTH, WIDTH * WIDTH)},
        "EdgeConv": lambda: {"nn": linear(2 * WIDTH, WIDTH)},
        "CGConv": lambda: {"channels": WIDTH, "dim": WIDTH},
        "GMMConv": lambda: {"in_channels": WIDTH, "out_channels": WIDTH, "dim": 2, "kernel_size": 3},
        "GravNetConv": lambda: {"in_channels": WIDTH, "out_channels": WIDTH, "space_dimensions": 3, "propagate_dimensions": 4, "k": 2},
        "PointGNNConv": lambda: {"mlp_h": _inner(to=3), "mlp_f": linear(WIDTH + 3, WIDTH), "mlp_g": linear(WIDTH, WIDTH)},
        "FusedGATConv": lambda: {"in_channels": WIDTH, "out_channels": WIDTH, "add_self_loops": False},
        "SignedConv": lambda: {"in_channels": WIDTH, "out_channels": WIDTH, "first_aggr": True},
        "DNAConv": lambda: {"channels": WIDTH, "heads": 2},
        "EGConv": lambda: {"in_channels": WIDTH, "out_channels": WIDTH, "num_heads": 2, "num_bases": 2},
        "PDNConv": lambda: {"in_channels": WIDTH, "out_channels": WIDTH, "edge_dim": WIDTH, "hidden_channels": 4},
        "HEATConv": lambda: {"in_channels": WIDTH, "out_channels": WIDTH, "num_node_types": 2, "num_edge_types": 3, "edge_type_emb_dim": 4, "edge_dim": WIDTH, "edge_attr_emb_dim": 4},
        "GPSConv": lambda: {"channels": WIDTH, "conv": nn.GCNConv(WIDTH, WIDTH), "heads": 2},
        "DirGNNConv": lambda: {"conv": nn.GCNConv(WIDTH, WIDTH)},
        "MetaLayer": lambda: {},
        "MultiAggregation": lambda: {"aggrs": ["mean", "max", "std"]},
        "DegreeScalerAggregation": lambda: {"aggr": ["mean", "max"], "scaler": ["identity", "amplification"], "deg": torch.tensor([0, 2, 4, 3])},
        "PNA": lambda: {"in_channels": WIDTH, "hidden_channels": WIDTH, "num_layers": 2, "aggregators": ["mean", "std"], "scalers": ["identity"], "deg": torch.tensor([0, 2, 4, 3])},
        "MLP": lambda: {"channel_list": [WIDTH, 16, 4]},
        "GraphUNet": lambda: {"in_channels": WIDTH, "hidden_channels": WIDTH, "out_channels": 4, "depth": 2},
        "SchNet": lambda: {"hidden_channels": 16, "num_filters": 16, "num_interactions": 2, "num_gaussians": 8, "interaction_graph": complete},
        "AttentiveFP": lambda: {"in_channels": WIDTH, "hidden_channels": WIDTH, "out_channels": 2, "edge_dim": WIDTH, "num_layers": 2, "num_timesteps": 2},
        "RECT_L": lambda: {"in_channels": WIDTH, "hidden_channels": 8},
        "LINKX": lambda: {"num_nodes": NODES, "in_channels": WIDTH, "hidden_channels": 8, "out_channels": 4, "num_layers": 2},
        "LightGCN": lambda: {"num_nodes": NODES, "embedding_dim": 8, "num_layers": 2},
        "NeuralFingerprint": lambda: {"in_channels": WIDTH, "hidden_channels": 8, "out_channels": 4, "num_layers": 2},
        "DMoNPooling": lambda: {"channels": WIDTH, "k": 3},
        "PatchTransformerAggregation": lambda: {"in_channels": WIDTH, "out_channels": WIDTH, "patch_size": 2, "hidden_channels": 8, "num_transformer_blocks": 1, "heads": 2},
        "SetTransformerAggregation": lambda: {"channels": WIDTH, "heads": 2},
        "GraphMultisetTransformer": lambda: {"channels": WIDTH, "k": 2, "heads": 2},
        "AttentionalAggregation": lambda: {"gate_nn": linear(WIDTH, 1)},
        "MLPAggregation": lambda: {"in_channels": WIDTH, "out_channels": WIDTH, "max_num_elements": 6, "num_layers": 1},
        "DeepSetsAggregation": lambda: {"local_nn": linear(WIDTH, WIDTH), "global_nn": linear(WIDTH, WIDTH)},
        "EquilibriumAggregation": lambda: {"in_channels": WIDTH, "out_channels": 4, "num_layers": [8, 8], "grad_iter": 2},
        "LCMAggregation": lambda: {"in_channels": WIDTH, "out_channels": WIDTH},
        "DenseGINConv": lambda: {"nn": _inner()},
    }  # fmt: skip


def complete(pos, batch):
    """The edges between all nodes of each graph, with their lengths."""
    same = batch[:, None] == batch[None, :]
    same.fill_diagonal_(False)
    edges = same.nonzero().T
    return edges, (pos[edges[0]] - pos[edges[1]]).norm(dim=-1)


class _Own(dict):
    """The constructors' own keywords, made when they are first asked for."""

    def get(self, name):
        if not self:
            self.update(_own())
        return super().get(name)


OWN = _Own()


def givens(model):
    """Arguments that a forward pass may take, by its parameters' names."""
    import torch

    values = graph()
    dense = any(p == "adj" for p in inspect.signature(model.forward).parameters) and not hasattr(model, "propagate")
    if dense:
        values["x"] = values["x"].reshape(2, 6, WIDTH)
    parameters = inspect.signature(model.forward).parameters
    needed = [
        n
        for n, p in parameters.items()
        if p.default is inspect.Parameter.empty and p.kind is not p.VAR_KEYWORD and p.kind is not p.VAR_POSITIONAL
    ]
    lists = (
        needed,
        [*needed, "edge_attr"],
        [*needed, "edge_weight"],
        [*needed, "index"],
        [*needed, "batch"],
        [*needed, "edge_type"],
        [*needed, "index", "ptr", "dim_size"],
        ["x"],
        ["x", "batch"],
        ["x", "edge_index"],
        ["x", "index"],
        ["x", "edge_index", "edge_attr"],
    )
    for names in lists:
        if all(n in values for n in names) and set(names) <= set(parameters) | set(needed):
            yield {n: values[n] for n in dict.fromkeys(names)}
    if "x" in needed:
        for wide in (
            values["x"].reshape(NODES, 2, WIDTH // 2),
            torch.randn(NODES, 3, WIDTH, generator=torch.Generator().manual_seed(5)),
        ):
            yield {n: values[n] for n in needed if n in values} | {"x": wide}
        yield {n: values[n] for n in needed if n in values} | {"x": (values["x"], values["x"])}


def run(kind, name):
    import torch
    from torch_geometric import nn

    own = graph_programs.run(f"{kind}.{name}", graph(), WIDTH, NODES)
    if own is not None:
        return own
    made = getattr(getattr(nn, kind), name)
    if not inspect.isclass(made):
        return _run_function(made)
    if not issubclass(made, torch.nn.Module):
        raise Absent("not a layer")
    last = "its constructor takes what the recipe lacks"
    for settings in constructions(made):

        def build(settings=settings):
            import copy

            model = made(**copy.deepcopy(settings))
            if hasattr(model, "reset_parameters"):
                model.reset_parameters()
            return model

        try:
            model = build()
            choices = list(givens(model))
        except Exception as error:
            last = short(error)
            continue
        for arguments in choices:
            try:
                torch.manual_seed(0)
                loss_of(build()(**gradients_of(arguments))).backward()
            except Exception as error:
                last = short(error)
                continue
            return trained(build, gradients_of(arguments), sampled(name, 3))
    raise Absent(last)


def gradients_of(arguments):
    """The same, with a gradient of what the layer is given."""
    import torch

    return {
        n: t.clone().requires_grad_() if isinstance(t, torch.Tensor) and t.is_floating_point() and n == "x" else t
        for n, t in arguments.items()
    }


def _run_function(function):
    import torch

    import repmath.torch

    values = graph()
    parameters = inspect.signature(function).parameters
    needed = [n for n, p in parameters.items() if p.default is inspect.Parameter.empty]
    values |= {"s": torch.randn(2, 6, 3, generator=torch.Generator().manual_seed(6)), "size": 2.0, "r": 1.5, "k": 3}
    if "adj" in needed:
        values["x"] = values["x"].reshape(2, 6, WIDTH)
    if not set(needed) <= set(values):
        raise Absent("it takes what the recipe lacks")

    def called():
        x = values["x"].clone().requires_grad_()
        made = function(**{n: x if n == "x" else values[n] for n in needed})
        loss = loss_of(made)
        return loss, torch.autograd.grad(loss, x)[0]

    try:
        called()
    except Exception as error:
        raise Absent(short(error)) from None
    with repmath.torch.reproducible(strict=True):
        return {"digest": repmath.torch.digest(*(t.detach() for t in called()))}


def cases():
    try:
        from torch_geometric import nn
    except ImportError:
        return
    for kind in KINDS:
        for name in getattr(nn, kind).__all__:
            yield Case("torch_geometric", f"{kind}.{name}", functools.partial(run, kind, name))
