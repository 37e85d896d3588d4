"""Prepared calls of functions between layers have the bits, the layouts and the errors of the table's functions: losses of probabilities, distances,
lengths of weights, samples of images, results that are given, margins, bins, bags, resized images."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from prepared_calls import FORMATS, checked, gaps, tensor, turned  # noqa: E402

aten = torch.ops.aten


def losses(dtype):
    x, y, w = tensor(dtype, 3, 4), tensor(dtype, 3, 4, seed=2), tensor(dtype, 3, 4, seed=3)
    strange, chances = tensor(dtype, 3, 4, special=True), x.double().sigmoid().to(dtype)
    chances[0, 0], chances[1, 1] = 0.0, 1.0
    entropy, from_entropy = aten.binary_cross_entropy.default, aten.binary_cross_entropy_backward.default
    margin, from_margin = aten.soft_margin_loss.default, aten.soft_margin_loss_backward.default
    one = tensor(dtype, 1, seed=4)[0]
    for t in (y, strange, (y > 0).to(dtype)):
        for p in (chances, (chances > 0.5).to(dtype)):
            yield True, entropy, (p, t)
            yield True, from_entropy, (one, p, t)
            for reduction in range(3):
                for weight in (None, w, w[0]):
                    yield True, entropy, (p, t, weight, reduction)
                    yield True, from_entropy, (one if reduction else w, p, t, weight, reduction)
        for a in (x, strange, x[0, 0]):
            b = t if a.ndim else t[0, 0]
            yield True, margin, (a, b)
            for reduction in range(3):
                yield True, margin, (a, b, reduction)
                yield True, from_margin, (one if reduction else w if a.ndim else one, a, b, reduction)
    yield False, entropy, (chances + 1, y)
    yield False, entropy, (chances * torch.nan, y)
    yield False, entropy, (gaps(chances), y)
    yield False, margin, (gaps(x), y)
    for dim, shape in ((0, (4, 3, 2)), (1, (2, 6, 3)), (-1, (2, 3, 4))):
        for special in (False, True):
            a = tensor(dtype, *shape, special=special)
            g = tensor(dtype, *(n // 2 if i == dim % 3 else n for i, n in enumerate(shape)), seed=2)
            # In 16 bits a gradient may lie beside a boundary of rounding, which the table decides.
            yield True if dtype.itemsize > 2 and not special else None, aten.glu_backward.default, (g, a, dim)
            yield None, aten.glu_backward.default, (turned(g), gaps(a), dim)
    yield False, aten.glu_backward.default, (x, x, 1)


def weights(dtype):
    for special in (False, True):
        for shape in ((4, 6), (3, 2, 4), (2, 3, 2, 2)):
            v, r = tensor(dtype, *shape, special=special), tensor(dtype, *shape, seed=2)
            for dim in (0, -1, 1):
                g = tensor(dtype, *(n if i == dim % len(shape) else 1 for i, n in enumerate(shape)), seed=3)
                others = [i for i in range(len(shape)) if i != dim % len(shape)]
                norms = torch.linalg.vector_norm(v.double(), dim=others, keepdim=True).to(dtype)
                for a in (v, v * 0):
                    yield True, aten._weight_norm_interface.default, (a, g, dim)
                    yield True, aten._weight_norm_interface_backward.default, (r, a, g, norms, dim)
                yield False, aten._weight_norm_interface.default, (turned(v), g, dim)
                yield False, aten._weight_norm_interface_backward.default, (r, gaps(v), g, norms, dim)
                yield False, aten._weight_norm_interface.default, (v, g.reshape(-1), dim)
                for limit in (0.5, 3, 0.0, 1e4):
                    yield True, aten.renorm.default, (v, 2, dim, limit)
                    yield True, aten.renorm_.default, (v, 2.0, dim, limit)
                yield False, aten.renorm.default, (v, 1, dim, 0.5)
                yield False, aten.renorm.default, (gaps(v), 2, dim, 0.5)
            yield True, aten._weight_norm_interface.default, (v, v.new_ones((shape[0],) + (1,) * (len(shape) - 1)))
        for lines, n, dim in (
            (7, 1500, 0),
            (2, 5000, -2),
            (1, 70000, 0),
            (2, 40000, 1),
        ):  # several lines of few elements, or one, at a time
            v, r = tensor(dtype, lines, n, special=special), tensor(dtype, lines, n, seed=2)
            g = tensor(dtype, *((1, n) if dim == 1 else (lines, 1)), seed=3)
            norms = torch.linalg.vector_norm(v.double(), dim=1 - dim % 2, keepdim=True).to(dtype)
            yield dim != 1, aten._weight_norm_interface.default, (v, g, dim)
            yield dim != 1, aten._weight_norm_interface_backward.default, (r, v, g, norms, dim)
        table = tensor(dtype, 5, 4, special=special)
        for indices in (torch.tensor([0, 3, 3]), torch.tensor([[4, 1], [1, 1]]), torch.tensor(2)):
            yield True, aten.embedding_renorm_.default, (table, indices, 0.75, 2.0)
        yield False, aten.embedding_renorm_.default, (table, torch.tensor([0, 1]), 0.75, 3.0)
        yield False, aten.renorm.default, (table, 2, 0, -1.0)


def distances(dtype):
    for special in (False, True):
        x, z = tensor(dtype, 4, 3, special=special), tensor(dtype, 5, 3, seed=2, special=special)
        z[0] = x[1]
        stack, other = tensor(dtype, 2, 4, 3, special=special), tensor(dtype, 2, 5, 3, seed=3)
        for a, b in ((x, z), (stack, other), (gaps(x), turned(z)), (x, x.clone()), (x[:1], z[:1])):
            yield True, aten._cdist_forward.default, (a, b, 2.0, None)
            yield True, aten._euclidean_dist.default, (a, b)
            far = torch.cdist(a.double(), b.double()).to(dtype)
            g = tensor(dtype, *far.shape, seed=4, special=special)
            yield True, aten._cdist_backward.default, (g, a, b, 2.0, far)
            yield True, aten._cdist_backward.default, (turned(g), a, b, 2.0, far * 0)
            yield False, aten._cdist_forward.default, (a, b, 1.0, None)
            yield True, aten.dist.default, (a, a * 0.5)
        wide, rows = tensor(dtype, 6, 40), tensor(dtype, 4, 40, special=special)
        wide[1], rows[2, :20] = rows[0], wide[3, :20]  # differences of 0 beside gradients and distances of all kinds
        for g in (1.0, -1.0, 0.0, float("inf"), float("nan")):
            for far in (1.5, 0.0, float("inf"), float("nan")):
                yield (
                    True,
                    aten._cdist_backward.default,
                    (tensor(dtype, 4, 6) * g, rows, wide, 2.0, torch.full((4, 6), far, dtype=dtype)),
                )
        for a in (x, gaps(x), tensor(dtype, 1, 3), x * 0):
            far = torch.pdist(a.double()).to(dtype)
            yield True, aten._pdist_forward.default, (a,)
            yield True, aten._pdist_forward.default, (a, 2)
            yield False, aten._pdist_forward.default, (a, 3.0)
            yield True, aten._pdist_backward.default, (tensor(dtype, *far.shape, seed=5), a, 2.0, far)
        for shape, dim in (((4, 3), -1), ((3, 2, 2), 0), ((2, 3, 2), 1)):
            a, b = tensor(dtype, *shape, special=special), tensor(dtype, *shape, seed=6, special=special)
            yield True, aten.linalg_cross.default, (a, turned(b)), {"dim": dim}
        yield True, aten.linalg_cross.default, (x, gaps(x))
        yield False, aten.linalg_cross.default, (x, x[0])
        yield False, aten.dist.default, (x, z)
        yield False, aten.dist.default, (x, x, 1)


def samples(dtype):
    for dims in (2, 3):
        name = f"grid_sampler_{dims}d"
        forward, backward = getattr(aten, name).default, getattr(aten, f"{name}_backward").default
        x = tensor(dtype, 2, 3, *(5, 4, 3)[:dims])
        grid = (tensor(dtype, 2, *(3, 2, 2)[:dims], dims, seed=2).clamp(-2, 2) / 1.5).to(dtype)
        grid[0, 0, 0] = torch.nan
        for mode in range(3 if dims == 2 else 2):
            for padding in range(3):
                for align_corners in (False, True):
                    options = mode, padding, align_corners
                    quick = dtype is not torch.float64
                    yield quick, forward, (x, grid, *options)
                    yield quick, forward, (gaps(tensor(dtype, *x.shape, special=True)), turned(grid), *options)
                    g = tensor(dtype, 2, 3, *grid.shape[1:-1], seed=3)
                    # A gradient by the grid that may lie on a boundary of rounding is the table's.
                    sure = None if quick else True
                    for mask in ([True, True], [False, True], [True, False]):
                        yield sure if mask[1] else True, backward, (g, x, grid, *options, mask)
                    yield sure, backward, (turned(g), gaps(x), grid, *options, [True, True])
        yield False, forward, (x[:1], grid, 0, 0, False)


def copies(dtype):
    x, source, index = tensor(dtype, 4, 3, special=True), tensor(dtype, 3, 3, seed=2), torch.tensor([3, 0, 3])
    for overload in (aten.index_copy.default, aten.index_copy_.default):
        yield True, overload, (x, 0, index, source)
        yield True, overload, (x, -2, index, turned(source))
        yield True, overload, (x, 1, index[1:2], tensor(dtype, 4, 1))
        yield True, overload, (x[0, 0].clone(), 0, index[1:2], source[1, 1])
        yield False, overload, (x, 0, index + 1, source)
        yield False, overload, (x, 0, index, source[:2])
    yield False, aten.index_copy_.default, (x, 0, index[:1], x[:1])
    a, b, c = tensor(dtype, 4, 6), tensor(dtype, 6, 5, seed=2), tensor(dtype, 4, 5, seed=3)
    for args, options in (((c, a, b), {}), ((c[:1], a, b), {"alpha": -1}), ((c[0], a, b), {"beta": 2})):
        yield True, aten.addmm.out, args, options | {"out": c * 0}
    yield True, aten.mm.out, (a, b), {"out": c.clone()}
    yield True, aten.mse_loss.out, (a, a + 1), {"out": a[0, 0].clone()}
    yield True, aten._softmax.out, (a, 1, False), {"out": a.clone()}
    yield False, aten._softmax.out, (a, 1, False), {"out": a}
    yield False, aten.mm.out, (a, b), {"out": gaps(c)}
    yield False, aten.mm.out, (a, b), {"out": c[:0]}
    yield False, aten.mm.out, (a, b), {"out": c[:2].clone()}


def margins(dtype):
    for special in (False, True):
        for shape in ((3, 4), (4,), (3, 1)):
            x, classes = tensor(dtype, *shape, special=special), shape[-1]
            rows = x.numel() // classes
            target = torch.arange(rows).view(shape[:-1]) % classes
            weight, g = tensor(dtype, classes, seed=2).abs(), tensor(dtype, *shape[:-1], seed=3)
            if x.ndim > 1 and classes > 1:
                yield False, aten.multi_margin_loss.default, (turned(x), target)
            for a in (x, x * 0.5):
                yield True, aten.multi_margin_loss.default, (a, target)
                yield True, aten.multi_margin_loss_backward.default, (tensor(dtype, 1)[0], a, target, 1, 1.0)
                for p in (1, 2):
                    for w in (None, weight):
                        for reduction in range(3):
                            yield True, aten.multi_margin_loss.default, (a, target, p, 0.75, w, reduction)
                            received = tensor(dtype, 1, seed=4)[0] if reduction else g
                            yield True, aten.multi_margin_loss_backward.default, (received, a, target, p, 0.75, w, reduction)
            yield False, aten.multi_margin_loss.default, (x, target - 1)
            labels = (
                torch.tensor([[2, 0, -1, 1], [-1, 3, 1, 0], [1, 1, 3, 2]])[:rows, :classes]
                .clamp(max=classes - 1)
                .reshape(shape)
            )
            for a in (x, x * 0.5):
                for reduction in range(3):
                    yield True, aten.multilabel_margin_loss_forward.default, (a, labels, reduction)
                    received = tensor(dtype, 1, seed=4)[0] if reduction else g
                    given = received, a, labels, reduction, (labels > 0).to(dtype)
                    yield True, aten.multilabel_margin_loss_backward.default, given
            yield False, aten.multilabel_margin_loss_forward.default, (x, labels * 0 + classes, 1)


def bins(dtype):
    for x in (tensor(dtype, 5, 7), tensor(dtype, 40, special=True), tensor(dtype, 1)[0], gaps(tensor(dtype, 5, 7))):
        for limits in ((7, -1, 2), (3, 0, 1), (100, -2.5, 1e-3), (1, 0.1, 0.3), (5, -3, 3)):
            yield True, aten.histc.default, (x, *limits)
        yield False, aten.histc.default, (x.nan_to_num(1, 2, 3), 5, 1, 1)
    edges = torch.tensor([-1 + 3 * k / 7 for k in range(8)], dtype=torch.float64).to(dtype)
    yield True, aten.histc.default, (edges, 7, -1, 2)


def bags(dtype):
    quick = dtype is not torch.float64
    table, indices = tensor(dtype, 5, 3), torch.tensor([4, 0, 0, 2, 4, 1])
    weights = tensor(dtype, 6, seed=2)
    for offsets in (torch.tensor([0, 2]), torch.tensor([0, 0, 3, 6]), torch.tensor([0])):
        for overload in (aten._embedding_bag.default, aten._embedding_bag_forward_only.default):
            for padding in (-1, 4):
                for mode in range(2):
                    yield quick, overload, (table, indices, offsets, False, mode, False, None, False, padding)
                yield quick, overload, (table, indices, offsets, False, 0, False, weights, False, padding)
            yield quick, overload, (table, indices, offsets)
            yield False, overload, (table, indices, offsets, False, 2)
            yield False, overload, (table, indices.int(), offsets.int())
        _, places, sizes, greatest = torch.ops.aten._embedding_bag(table, indices, offsets)
        g = tensor(dtype, len(offsets), 3, seed=3)
        for padding in (-1, 4):
            for w in (None, weights):
                given = indices, offsets, places, sizes, greatest, 5, False, 0, False, w, padding
                yield quick, aten._embedding_bag_backward.default, (g, *given)
                yield quick, aten._embedding_bag_backward.default, (turned(g), *given)
            given = g, table, indices, offsets, places, 0, padding
            yield True, aten._embedding_bag_per_sample_weights_backward.default, given
            yield True, aten._embedding_bag_per_sample_weights_backward.default, (gaps(g), turned(table), *given[2:])
            for received in (g, tensor(dtype, len(offsets), 3, seed=4, special=True)):
                given = indices, offsets, places, sizes, greatest, 5, False, 1, False, None, padding
                yield quick, aten._embedding_bag_backward.default, (received, *given)


def images(dtype):
    quick = dtype is not torch.float64
    for name, dims in (("upsample_linear1d", 1), ("upsample_bilinear2d", 2), ("upsample_trilinear3d", 3), ("upsample_bicubic2d", 2),
                       ("_upsample_bilinear2d_aa", 2), ("_upsample_bicubic2d_aa", 2)):  # fmt: skip
        forward, backward = (getattr(aten, name + end).default for end in ("", "_backward"))
        shape = (2, 3, *(4, 5, 3)[:dims])
        for x in (
            tensor(dtype, *shape),
            tensor(dtype, *shape, special=True),
            gaps(tensor(dtype, *shape)),
            turned(tensor(dtype, *shape)),
        ):
            for size in ((6, 3, 5)[:dims], (2, 7, 4)[:dims]):
                for align_corners in (False, True):
                    yield quick, forward, (x, list(size), align_corners)
                    g = tensor(dtype, 2, 3, *size, seed=2)
                    yield quick, backward, (g, list(size), list(shape), align_corners)
                yield quick, forward, (x, list(size), False, *(1.5, None, 0.7)[:dims])
                yield quick, backward, (turned(g), list(size), list(shape), False, *(1.5, 2.0, None)[:dims])
        many, size = (5, 7, *(3, 2, 4)[:dims]), [4, 5, 3][:dims]  # planes whose numbers at each place come together
        for special in (False, True):
            yield quick, forward, (tensor(dtype, *many, special=special), size, False)
            yield quick, backward, (tensor(dtype, 5, 7, *size, special=special), size, list(many), False)


@pytest.mark.sample(3)
@pytest.mark.parametrize("dtype", FORMATS, ids=str)
@pytest.mark.parametrize(
    "family", (losses, weights, distances, samples, copies, margins, bins, bags, images), ids=lambda f: f.__name__
)
def test_alike(family, dtype, general):
    checked(family(dtype), general)
