"""torch_geometric's layers whose arguments are not the graph's tensors alone: dictionaries of several kinds of nodes, other networks, data objects.

A program gives `build()`, which makes the layer, its arguments, and `call(model, arguments)`, which computes what has a gradient.
"""

from .training import loss_of, sampled, trained

KINDS = ("a", "b")
WITHOUT = ("conv.WLConv", "models.CorrectAndSmooth", "models.LabelPropagation")  # which PyTorch runs without gradients


def _classes(graph, width, nodes):
    """Programs by their names: (build, arguments, call)."""
    import torch
    from torch_geometric import nn
    from torch_geometric.data import Batch, Data
    from torch_geometric.nn.models.tgn import IdentityMessage, LastAggregator

    x, edges, batch = graph["x"], graph["edge_index"], graph["batch"]
    types = [("a", "to", "b"), ("b", "from", "a"), ("a", "self", "a")]
    several = {
        "x_dict": {"a": x, "b": x.flip(0)},
        "edge_index_dict": {t: (edges + k) % nodes for k, t in enumerate(types)},
    }
    metadata = (list(KINDS), types)
    plain = {"x": x, "edge_index": edges}
    ends = {"edge_index": edges, "neg_edge_index": (edges * 5 + 1) % nodes}
    labels = torch.arange(nodes) % 3
    chances = torch.softmax(torch.randn(nodes, 3, generator=torch.Generator().manual_seed(8)), -1)

    def gcn(to=width):
        return nn.GCNConv(width, to)

    class Variational(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.mean, self.deviation = gcn(), gcn()

        def forward(self, x, edge_index):
            return self.mean(x, edge_index), self.deviation(x, edge_index)

    def reconstructed(model, given, more=lambda model, z: 0.0):
        z = model.encode(x, given["edge_index"])
        return model.recon_loss(z, given["edge_index"], given["neg_edge_index"]) + more(model, z)

    def adversary(model, z):
        return model.reg_loss(z) + model.discriminator_loss(z)

    def divergence(model, z):
        return model.kl_loss() / nodes

    def of_data(model, given):
        data = Data(x=given["x"].clone(), edge_index=edges, y=x[:, :1], y_graph=x[:2, :1], batch=batch)
        data.num_graphs = 2
        return model(data)

    def memory(model, given):
        model.reset_state()
        source, target = edges[:, :6]
        for k in range(2):
            model.update_state(source, target + 0, torch.arange(6) + 6 * k, given["raw"])
        made = model(torch.arange(nodes))[0]
        model.detach()
        return made

    def events():
        one = {"sub": [0, 3], "rel": [0, 1], "obj": [2, 5], "h_sub": [1, 2, 4], "h_sub_t": [0, 1, 1], "h_obj": [6, 7, 3]}
        one |= {"h_obj_t": [0, 0, 1], "h_sub_batch": [0, 0, 1], "h_obj_batch": [0, 1, 1]}
        return Data(**{k: torch.tensor(v) for k, v in one.items()})

    def walks(model, given):
        return model.loss(*model._sample(given["batch"]))

    def kept(model, given):
        made = given["x"] * 1.0
        return model.correct(model.smooth(made, labels[:6], graph["mask"], edges), labels[:6], graph["mask"], edges)

    def called(model, given):
        return model(**given)

    graph["mask"] = torch.arange(nodes) < nodes // 2
    dense = torch.eye(nodes) * 0.5 + 0.5 / nodes
    linear = torch.nn.Linear
    return {
        "aggr.QuantileAggregation": (lambda: nn.QuantileAggregation([0.25, 0.5]), {"x": x, "index": batch}, called),
        "conv.HANConv": (lambda: nn.HANConv(width, width, metadata, heads=2), several, called),
        "conv.HGTConv": (lambda: nn.HGTConv(width, width, metadata, heads=2), several, called),
        "conv.HeteroConv": (lambda: nn.HeteroConv({t: nn.SAGEConv((width, width), width) for t in types}), several, called),
        "conv.GMMConv": (lambda: nn.GMMConv(width, width, 2, 3), plain | {"edge_attr": graph["pseudo"]}, called),
        "conv.WLConv": (nn.WLConv, {"x": labels, "edge_index": edges}, called),
        "dense.HeteroLinear": (lambda: nn.HeteroLinear(width, width, 2), {"x": x, "type_vec": graph["node_type"]}, called),
        "dense.HeteroDictLinear": (lambda: nn.HeteroDictLinear({"a": width, "b": width}, 4), {"x_dict": several["x_dict"]}, called),
        "models.ARGA": (lambda: nn.ARGA(gcn(), linear(width, 1)), ends, lambda m, g: reconstructed(m, g, adversary)),
        "models.ARGVA": (lambda: nn.ARGVA(Variational(), linear(width, 1)), ends, lambda m, g: reconstructed(m, g, adversary)),
        "models.GAE": (lambda: nn.GAE(gcn()), ends, reconstructed),
        "models.VGAE": (lambda: nn.VGAE(Variational()), ends, lambda m, g: reconstructed(m, g, divergence)),
        "models.InnerProductDecoder": (nn.InnerProductDecoder, {"z": x, "edge_index": edges}, called),
        "models.CorrectAndSmooth": (lambda: nn.CorrectAndSmooth(2, 0.5, 2, 0.5), {"x": chances}, kept),
        "models.DeepGraphInfomax": (
            lambda: nn.DeepGraphInfomax(width, gcn(), lambda z, *a, **k: z.mean(0).sigmoid(), lambda x, e: (x.flip(0), e)),
            plain,
            lambda m, g: m.loss(*m(g["x"], g["edge_index"])),
        ),
        "models.DeepGCNLayer": (lambda: nn.DeepGCNLayer(gcn(), torch.nn.LayerNorm(width), torch.nn.ReLU()), plain, lambda m, g: m(g["x"], g["edge_index"])),
        "models.GroupAddRev": (lambda: nn.GroupAddRev(nn.SAGEConv(width // 2, width // 2), num_groups=2), plain, lambda m, g: m(g["x"], g["edge_index"])),
        "models.GPSE": (lambda: nn.GPSE(width, 4, 16, layers_mp=2, num_node_targets=1, num_graph_targets=1, multi_head_dim_inner=4, dropout=0.0), {"x": x}, of_data),
        "models.GPSENodeEncoder": (lambda: nn.GPSENodeEncoder(16, width, 4, width, expand_x=True), {"x": x, "pos_enc": x.flip(1)}, called),
        "models.JumpingKnowledge": (lambda: nn.JumpingKnowledge("lstm", width, 3), {"xs": [x, x.flip(0), x.flip(1)]}, called),
        "models.HeteroJumpingKnowledge": (
            lambda: nn.HeteroJumpingKnowledge(list(KINDS), "lstm", width, 2),
            {"xs_dict": {"a": [x, x.flip(0)], "b": [x.flip(1), x]}},
            called,
        ),
        "models.LabelPropagation": (lambda: nn.LabelPropagation(2, 0.5), {"y": chances, "edge_index": edges, "mask": graph["mask"]}, called),
        "models.LPFormer": (
            lambda: nn.LPFormer(width, 16, gnn_dropout=0.0, transformer_dropout=0.0),
            {"batch": edges[:, :4], "x": x, "edge_index": edges, "ppr_matrix": dense.to_sparse()},
            called,
        ),
        "models.MaskLabel": (lambda: nn.MaskLabel(3, width), {"x": x, "y": labels, "mask": graph["mask"]}, called),
        "models.MetaPath2Vec": (
            lambda: nn.MetaPath2Vec(several["edge_index_dict"], 8, [types[0], types[1]], 4, 3, num_nodes_dict={"a": nodes, "b": nodes}),
            {"batch": torch.arange(4)},
            walks,
        ),
        "models.PMLP": (lambda: nn.PMLP(width, 16, 4, 2), plain, called),
        "models.RENet": (lambda: nn.RENet(nodes, 3, 8, 2), {}, lambda m, g: torch.cat(m(events()))),
        "models.TGNMemory": (lambda: nn.TGNMemory(nodes, 4, 8, 4, IdentityMessage(4, 8, 4), LastAggregator()), {"raw": x[:6, :4]}, memory),
        "norm.HeteroBatchNorm": (lambda: nn.HeteroBatchNorm(width, 2), {"x": x, "type_vec": graph["node_type"]}, called),
        "norm.HeteroLayerNorm": (lambda: nn.HeteroLayerNorm(width, 2), {"x": x, "type_vec": graph["node_type"]}, called),
        "norm.MessageNorm": (lambda: nn.MessageNorm(True), {"x": x, "msg": x.flip(0)}, called),
        "models.to_captum_model": (
            lambda: nn.to_captum_model(nn.GCN(width, 8, 2, 4), "edge", 0),
            {"mask": graph["edge_weight"][None].sigmoid()},
            lambda m, g: m(g["mask"], x, edges),
        ),
        "pool.avg_pool": (None, {"x": x}, lambda m, g: nn.avg_pool(labels, Batch(x=g["x"], edge_index=edges, batch=batch * 0)).x),
        "pool.max_pool": (None, {"x": x}, lambda m, g: nn.max_pool(labels, Batch(x=g["x"], edge_index=edges, batch=batch * 0)).x),
        "pool.avg_pool_x": (None, {"x": x}, lambda m, g: nn.avg_pool_x(labels, g["x"], batch * 0)[0]),
        "pool.max_pool_x": (None, {"x": x}, lambda m, g: nn.max_pool_x(labels, g["x"], batch * 0)[0]),
        "pool.avg_pool_neighbor_x": (None, {"x": x}, lambda m, g: nn.avg_pool_neighbor_x(Data(x=g["x"], edge_index=edges)).x),
        "pool.max_pool_neighbor_x": (None, {"x": x}, lambda m, g: nn.max_pool_neighbor_x(Data(x=g["x"], edge_index=edges)).x),
    }  # fmt: skip


def run(name, graph, width, nodes):
    """The outcome of one of the programs, or None where there is none of this name."""
    import torch

    programs = _classes(graph, width, nodes)
    if name not in programs:
        return None
    build, arguments, call = programs[name]

    if name in WITHOUT:
        return _evaluated(build, arguments, call)

    def loss(model, given, wanted):
        made = call(model, leaves(given))
        return (
            loss_of(made)
            if wanted and not (isinstance(made, torch.Tensor) and made.requires_grad and made.dim() == 0)
            else made
        )

    return trained(build or torch.nn.Identity, arguments, sampled(name, 3), loss)


def _evaluated(build, arguments, call):
    """The digest of what a layer gives that makes no gradients."""
    import torch

    import repmath.torch

    def made():
        torch.manual_seed(0)
        return call(build(), arguments)

    made()  # PyTorch's own
    with repmath.torch.reproducible(strict=True):
        return {"digest": repmath.torch.digest(made())}


def leaves(value):
    """The same, with a gradient of every tensor of floats."""
    import torch
    from torch.utils._pytree import tree_map_only

    return tree_map_only(torch.Tensor, lambda t: t.clone().requires_grad_() if _wanted(t) else t, value)


def _wanted(t):
    import torch

    return t.is_floating_point() and t.layout is torch.strided and torch.is_grad_enabled()
