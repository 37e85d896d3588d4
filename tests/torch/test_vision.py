"""torchvision's operators under reproducible(), against loops over rational numbers; where it is not installed, against stand-ins of its names."""

import itertools
import math
from fractions import Fraction

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from exact_oracle import round_rational  # noqa: E402

import repmath.torch as rt  # noqa: E402
from repmath.torch._aten import vision  # noqa: E402

NAMES = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64"}
SCHEMAS = """
nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor
roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, int sampling_ratio, bool aligned) -> Tensor
ps_roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, int sampling_ratio) -> (Tensor, Tensor)
ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width) -> (Tensor, Tensor)
"""


@pytest.fixture(scope="module")
def operators():
    """The namespace of torchvision's operators."""
    try:
        import torchvision  # noqa: F401
    except Exception:  # not installed, or for another PyTorch
        library = torch.library.Library("torchvision", "FRAGMENT")
        for schema in SCHEMAS.strip().splitlines():
            if not hasattr(torch.ops.torchvision, schema.split("(")[0]):
                library.define(schema)
        yield torch.ops.torchvision
        del library
    else:
        yield torch.ops.torchvision


def codes(t):
    width = {2: torch.int16, 4: torch.int32, 8: torch.int64}[t.itemsize]
    return [v % (1 << 8 * t.itemsize) for v in t.contiguous().view(width).reshape(-1).tolist()]


def same(made, exact, zeros=True):
    """Whether the elements are the rational numbers, each rounded once to the format."""
    want = [round_rational(Fraction(v), NAMES[made.dtype]) for v in exact]
    if zeros:  # of either sign
        negative = 1 << 8 * made.itemsize - 1
        return [c if c != negative else 0 for c in codes(made)] == [c if c != negative else 0 for c in want]
    return codes(made) == want


def numbers(*shape, dtype=torch.float32, seed=0, scale=1.0):
    return (torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * scale).to(dtype)


# nms


def over(a, b):
    (ax, ay, aX, aY), (bx, by, bX, bY) = ([Fraction(v) for v in box] for box in (a, b))
    common = max(min(aX, bX) - max(ax, bx), 0) * max(min(aY, bY) - max(ay, by), 0)
    union = (aX - ax) * (aY - ay) + (bX - bx) * (bY - by) - common
    return common / union if union else math.inf if common else math.nan


def kept(boxes, scores, threshold):
    left, found = sorted(range(len(boxes)), key=lambda i: -scores[i]), []
    while left:
        first, *left = left
        found.append(first)
        left = [i for i in left if not over(boxes[first], boxes[i]) > threshold]
    return found


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_nms_is_that_of_exact_overlaps(dtype):
    for seed in range(4):
        corners = numbers(40, 2, dtype=dtype, seed=seed, scale=5.0)
        boxes = torch.cat([corners, corners + numbers(40, 2, dtype=dtype, seed=seed + 9, scale=6.0).abs()], 1)
        scores = numbers(40, seed=seed + 5, dtype=dtype).round(decimals=1)
        for threshold in (0.0, 0.3, 0.5, 1.0):
            made = vision.nms(boxes, scores, threshold)
            assert made.tolist() == kept(boxes.tolist(), scores.tolist(), threshold)


def test_nms_decides_beside_the_threshold():
    """Overlaps that are the threshold, and a unit of binary64 beside it: for 1/3 the test in binary64 is not certain."""
    boxes, scores = torch.tensor([[0.0, 0.0, 2.0, 1.0], [1.0, 0.0, 3.0, 1.0]]), torch.tensor([0.9, 0.8])
    third = 1 / 3  # below the overlap
    assert Fraction(third) < over(*boxes.tolist()) < Fraction(math.nextafter(third, 1))
    for threshold, n in ((third, 1), (math.nextafter(third, 1), 2), (math.nextafter(third, 0), 1)):
        assert len(vision.nms(boxes, scores, threshold)) == n
    half = torch.tensor([[0.0, 0.0, 3.0, 1.0], [1.0, 0.0, 4.0, 1.0]])
    assert len(vision.nms(half, scores, 0.5)) == 2 and len(vision.nms(half, scores, math.nextafter(0.5, 0))) == 1
    far = half * 2.0**500  # areas overflow to the right of half the range
    assert len(vision.nms(far.double() * 2.0**100, scores, 0.5)) == 2


def test_nms_control(monkeypatch):
    """Without the exact decision the box at the threshold of 1/3 is another one."""
    monkeypatch.setattr(vision, "_overlaps_exactly", lambda *_: False)
    boxes, scores = torch.tensor([[0.0, 0.0, 2.0, 1.0], [1.0, 0.0, 3.0, 1.0]]), torch.tensor([0.9, 0.8])
    assert len(vision.nms(boxes, scores, 1 / 3)) == 2


def test_nms_keeps_what_is_not_finite_and_degenerate():
    boxes = torch.tensor(
        [
            [0.0, 0.0, 2.0, 2.0],
            [0.0, 0.0, math.inf, 2.0],
            [math.nan, 0.0, 2.0, 2.0],
            [1.0, 1.0, 1.0, 1.0],
            [0.0, 0.0, 2.0, 2.0],
        ]
    )
    assert vision.nms(boxes, torch.tensor([0.5, 0.9, 0.7, 0.6, 0.4]), 0.5).tolist() == [1, 2, 3, 0]
    assert vision.nms(torch.zeros(0, 4), torch.zeros(0), 0.5).tolist() == []
    with pytest.raises(ValueError, match="shape"):
        vision.nms(torch.zeros(3, 5), torch.zeros(3), 0.5)


# roi_align


def taps(y, x, height, width):
    """Rows, columns and weights of binary64, a step after the other."""
    if y < -1 or y > height or x < -1 or x > width:
        return
    y, x = max(y, 0.0), max(x, 0.0)
    (y0, y1, ly), (x0, x1, lx) = (
        (n - 1, n - 1, 0.0) if int(v) >= n - 1 else (int(v), int(v) + 1, v - int(v)) for v, n in ((y, height), (x, width))
    )
    for row, by in ((y0, 1 - ly), (y1, ly)):
        for column, bx in ((x0, 1 - lx), (x1, lx)):
            yield row, column, by * bx


def aligned_terms(rois, scale, bins, size, ratio, aligned):
    """(region, bin): the image, row, column and weight of each term."""
    for r, (image, *region) in enumerate(rois):
        off = 0.5 if aligned else 0.0
        x0, y0, x1, y1 = (v * scale - off for v in region)
        wide, high = x1 - x0, y1 - y0
        if not aligned:
            wide, high = max(wide, 1.0), max(high, 1.0)
        by, bx = high / bins[0], wide / bins[1]
        ny, nx = (ratio, ratio) if ratio > 0 else (max(math.ceil(by), 0), max(math.ceil(bx), 0))
        for i, j in itertools.product(range(bins[0]), range(bins[1])):
            terms = []
            for a, b in itertools.product(range(ny), range(nx)):
                y = y0 + i * by + (a + 0.5) * by / ny
                x = x0 + j * bx + (b + 0.5) * bx / nx
                terms += [(int(image), row, column, w / max(ny * nx, 1)) for row, column, w in taps(y, x, *size)]
            yield r, i, j, terms


ROIS = [
    [0.0, 1.0, 2.0, 9.5, 6.3],
    [1.0, -3.0, -2.0, 4.0, 30.0],
    [0.0, 5.0, 5.0, 5.0, 5.0],
    [1.0, 40.0, 40.0, 50.0, 60.0],
    [1.0, 0.3, 0.7, 7.1, 7.9],
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize(("ratio", "aligned"), [(2, False), (0, True), (0, False)])
def test_roi_align_and_its_gradient(ratio, aligned, dtype):
    x, rois, bins, scale = numbers(2, 2, 6, 7, dtype=dtype), torch.tensor(ROIS, dtype=dtype), (2, 3), 0.7
    x[0, 0, 2, 3] = 1000.0
    made = vision.roi_align(x, rois, scale, *bins, ratio, aligned)
    exact = torch.zeros(0).new_zeros(made.shape).tolist()
    g = numbers(*made.shape, dtype=dtype, seed=4)
    received = {}
    for r, i, j, terms in aligned_terms(rois.tolist(), scale, bins, (6, 7), ratio, aligned):
        for c in range(2):
            exact[r][c][i][j] = sum(
                (Fraction(w) * Fraction(float(x[image, c, y, z])) for image, y, z, w in terms), Fraction(0)
            )
            for image, y, z, w in terms:
                place = image, c, y, z
                received[place] = received.get(place, 0) + Fraction(w) * Fraction(float(g[r, c, i, j]))
    assert made.dtype is dtype and same(made, [v for a in exact for b in a for d in b for v in d])
    back = vision._roi_align_backward(g, rois, scale, *bins, 2, 2, 6, 7, ratio, aligned)
    assert same(back, [received.get(place, 0) for place in itertools.product(range(2), range(2), range(6), range(7))])


def test_roi_align_in_binary64():
    """Its products are rounded, then their exact sum."""
    x, rois = numbers(2, 2, 6, 7, dtype=torch.float64), torch.tensor(ROIS, dtype=torch.float64)
    made = vision.roi_align(x, rois, 0.7, 2, 3, 2, True)
    for r, i, j, terms in aligned_terms(rois.tolist(), 0.7, (2, 3), (6, 7), 2, True):
        for c in range(2):
            assert same(made[r, c, i, j], [sum(Fraction(float(x[image, c, y, z]) * w) for image, y, z, w in terms)])


def test_regions_that_are_refused():
    x = numbers(1, 2, 5, 5)
    with rt.reproducible(), pytest.raises(vision.Uncovered, match="regions"):
        vision.roi_align(x, torch.tensor([[1.0, 0.0, 0.0, 2.0, 2.0]]), 1.0, 2, 2, 2, False)
    with pytest.raises(vision.Uncovered, match="regions"):
        vision.roi_align(x, torch.tensor([[0.0, 0.0, math.nan, 2.0, 2.0]]), 1.0, 2, 2, 2, False)
    with pytest.raises(vision.Uncovered, match="float64"):
        vision.roi_align(x, torch.zeros(1, 5, dtype=torch.float64), 1.0, 2, 2, 2, False)


def test_roi_pool_and_its_gradient():
    x, rois, bins = numbers(2, 3, 6, 7), torch.tensor(ROIS), (2, 3)
    made, where = vision.roi_pool(x, rois, 0.7, *bins)
    g = numbers(*made.shape, seed=3)
    sums = {}
    for r, (image, *region) in enumerate(rois.tolist()):
        x0, y0, x1, y1 = (int(math.copysign(math.floor(abs(v * 0.7) + 0.5), v)) for v in region)
        rows, columns = max(y1 - y0 + 1, 1), max(x1 - x0 + 1, 1)
        for c, i, j in itertools.product(range(3), range(2), range(3)):
            inside = [
                (y, z)
                for y in range(y0 + math.floor(Fraction(i * rows, 2)), y0 + math.ceil(Fraction((i + 1) * rows, 2)))
                for z in range(x0 + math.floor(Fraction(j * columns, 3)), x0 + math.ceil(Fraction((j + 1) * columns, 3)))
                if 0 <= y < 6 and 0 <= z < 7
            ]
            if not inside:
                assert made[r, c, i, j] == 0 and where[r, c, i, j] == -1
                continue
            y, z = max(inside, key=lambda place: float(x[int(image), c, *place]))
            assert made[r, c, i, j] == x[int(image), c, y, z] and where[r, c, i, j] == y * 7 + z
            sums[int(image), c, y, z] = sums.get((int(image), c, y, z), 0) + Fraction(float(g[r, c, i, j]))
    back = vision._roi_pool_backward(g, rois, where, 0.7, *bins, 2, 3, 6, 7)
    assert same(back, [sums.get(place, 0) for place in itertools.product(range(2), range(3), range(6), range(7))])


# regions whose bins have channels of their own


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("ratio", [2, 0])
def test_ps_roi_align_and_its_gradient(ratio, dtype):
    x, rois, bins, scale = numbers(2, 12, 6, 7, dtype=dtype), torch.tensor(ROIS, dtype=dtype), (2, 3), 0.7
    x[0, 1, 2, 3] = 1000.0
    made, mapping = vision.ps_roi_align(x, rois, scale, *bins, ratio)
    assert made.shape == mapping.shape == (5, 2, 2, 3) and mapping.dtype is torch.int32
    g = numbers(*made.shape, dtype=dtype, seed=4)
    received = {}
    for r, i, j, terms in aligned_terms(rois.tolist(), scale, bins, (6, 7), ratio, True):
        for c in range(2):
            channel = (c * 2 + i) * 3 + j
            assert mapping[r, c, i, j] == channel
            for image, y, z, w in terms:
                place = image, channel, y, z
                received[place] = received.get(place, 0) + Fraction(w) * Fraction(float(g[r, c, i, j]))
            if not ratio and r == 2:  # a region without sides has no samples
                assert torch.isnan(made[r, c, i, j])
            else:
                exact = sum((Fraction(w) * Fraction(float(x[image, channel, y, z])) for image, y, z, w in terms), Fraction(0))
                assert made.dtype is dtype and same(made[r, c, i, j], [exact])
    back = vision._ps_roi_align_backward(g, rois, mapping, scale, *bins, ratio, 2, 12, 6, 7)
    assert same(back, [received.get(place, 0) for place in itertools.product(range(2), range(12), range(6), range(7))])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_ps_roi_pool_and_its_gradient(dtype):
    x, rois, bins = numbers(2, 12, 6, 7, dtype=dtype), torch.tensor(ROIS, dtype=dtype), (2, 3)
    x[0, 0, 2:4] *= 1000.0
    made, mapping = vision.ps_roi_pool(x, rois, 0.7, *bins)
    g, sums, empty = numbers(*made.shape, dtype=dtype, seed=3), {}, 0
    for r, (image, *region) in enumerate(rois.tolist()):
        x0, y0, x1, y1 = (int(math.copysign(math.floor(abs(v * 0.7) + 0.5), v)) for v in region)
        rows, columns = max(y1 - y0, 1), max(x1 - x0, 1)
        for c, i, j in itertools.product(range(2), range(2), range(3)):
            channel = (c * 2 + i) * 3 + j
            assert mapping[r, c, i, j] == channel
            inside = [
                (int(image), channel, y, z)
                for y in range(y0 + math.floor(Fraction(i * rows, 2)), y0 + math.ceil(Fraction((i + 1) * rows, 2)))
                for z in range(x0 + math.floor(Fraction(j * columns, 3)), x0 + math.ceil(Fraction((j + 1) * columns, 3)))
                if 0 <= y < 5 and 0 <= z < 6  # the last row and column are in no bin
            ]
            empty += not inside
            exact = sum((Fraction(float(x[place])) for place in inside), Fraction(0)) / max(len(inside), 1)
            assert same(made[r, c, i, j], [exact])
            for place in inside:
                weighted = Fraction(float(g[r, c, i, j])) * Fraction(1 / len(inside))
                weighted = Fraction(float(weighted)) if dtype is torch.float64 else weighted
                sums[place] = sums.get(place, 0) + weighted
    assert 0 < empty < made.numel()
    back = vision._ps_roi_pool_backward(g, rois, mapping, 0.7, *bins, 2, 12, 6, 7)
    assert same(back, [sums.get(place, 0) for place in itertools.product(range(2), range(12), range(6), range(7))])


def test_channels_that_are_no_multiple_of_the_bins():
    x, rois = numbers(2, 8, 6, 7), torch.tensor(ROIS)
    for call in (lambda: vision.ps_roi_align(x, rois, 1.0, 2, 3, 2), lambda: vision.ps_roi_pool(x, rois, 1.0, 3, 3)):
        with pytest.raises(ValueError, match="8 channels"):
            call()
    none = vision.ps_roi_align(x, rois[:0], 1.0, 2, 2, 2), vision.ps_roi_pool(x, rois[:0], 1.0, 2, 2)
    assert all(made.shape == mapping.shape == (0, 2, 2, 2) for made, mapping in none)
    assert not vision._ps_roi_pool_backward(none[0][0], rois[:0], none[0][1], 1.0, 2, 2, 2, 8, 6, 7).any()


# deform_conv2d


def rounded(v):
    return float(Fraction(v))  # Python rounds a quotient of integers once


def deformed(x, weight, offset, mask, bias, g, stride, pad, dilation, groups, sets):
    """The result and the gradients of deform_conv2d, as rational numbers by place."""
    n, channels, height, width = x.shape
    out, each, kh, kw = weight.shape
    value = lambda i, c, y, z: float(x[i, c, y, z]) if 0 <= y < height and 0 <= z < width else 0.0  # noqa: E731
    made, dx, dw, db, doff, dmask = ({} for _ in range(6))
    of = channels // sets
    for i, y, z in itertools.product(range(n), range(g.shape[2]), range(g.shape[3])):
        for o in range(out):
            made[i, o, y, z] = Fraction(float(bias[o]))
            db[o] = db.get(o, 0) + Fraction(float(g[i, o, y, z]))
        for c, a, b in itertools.product(range(channels), range(kh), range(kw)):
            s, k = c // of, a * kw + b
            dy, dz = (float(offset[i, 2 * (s * kh * kw + k) + e, y, z]) for e in (0, 1))
            m = float(mask[i, s * kh * kw + k, y, z]) if mask is not None else 1.0
            py, pz = (y * stride - pad + a * dilation) + dy, (z * stride - pad + b * dilation) + dz
            y0, z0 = math.floor(py), math.floor(pz)
            ly, lz = py - y0, pz - z0
            inside = -1 < py < height and -1 < pz < width
            corners = [(y0 + p, z0 + q, (ly if p else 1 - ly) * (lz if q else 1 - lz)) for p in (0, 1) for q in (0, 1)]
            v00, v01, v10, v11 = (value(i, c, p, q) for p, q, _ in corners)
            sample = (
                ((v00 * corners[0][2] + v01 * corners[1][2]) + v10 * corners[2][2]) + v11 * corners[3][2] if inside else 0.0
            )
            group = c // each
            received = Fraction(0)
            for o in range(group * out // groups, (group + 1) * out // groups):
                w = Fraction(float(weight[o, c % each, a, b]))
                made[i, o, y, z] += w * Fraction(sample * m)
                received += w * Fraction(float(g[i, o, y, z]))
                key = o, c % each, a, b
                dw[key] = dw.get(key, 0) + Fraction(float(g[i, o, y, z])) * Fraction(sample * m)
            r = rounded(received)
            if inside:
                key = i, s * kh * kw + k, y, z
                dmask[key] = dmask.get(key, 0) + Fraction(r) * Fraction(sample)
                for p, q, w in corners:
                    if 0 <= p < height and 0 <= q < width:
                        dx[i, c, p, q] = dx.get((i, c, p, q), 0) + Fraction((r * m) * w)
            for e, slope in enumerate((lz * (v11 - v01) + (1 - lz) * (v10 - v00), ly * (v11 - v10) + (1 - ly) * (v01 - v00))):
                key = i, 2 * (s * kh * kw + k) + e, y, z
                doff[key] = doff.get(key, 0) + Fraction(r * m) * Fraction(slope)
    return made, dx, dw, doff, dmask, db


@pytest.mark.parametrize(("groups", "sets", "masked"), [(1, 1, True), (2, 2, False), (1, 2, True)])
def test_deform_conv2d_and_its_gradients(groups, sets, masked):
    x, weight = numbers(2, 4, 5, 6), numbers(2, 4 // groups, 2, 3, seed=1)
    arguments = 2, 1, 1, groups, sets  # stride, padding, dilation
    height, width = (5 + 2 - 2) // 2 + 1, (6 + 2 - 3) // 2 + 1
    offset, bias = numbers(2, 2 * sets * 6, height, width, seed=2, scale=2.0), numbers(2, seed=3)
    offset[0, :2, 0, 0] = torch.tensor([0.0, 1.0])  # a place of the grid, one beside the image
    mask = numbers(2, sets * 6, height, width, seed=5)
    g = numbers(2, 2, height, width, seed=6)
    exact, *slopes = deformed(x, weight, offset, mask if masked else None, bias, g, *arguments)
    stride, pad, dilation, *rest = arguments
    numbers_of = (stride, stride, pad, pad, dilation, dilation, *rest, masked)
    made = vision.deform_conv2d(x, weight, offset, mask, bias, *numbers_of)
    assert same(made, [exact[place] for place in itertools.product(*map(range, made.shape))])
    of_x, of_weight, of_offset, of_mask, of_bias = vision._deform_conv2d_backward(
        g, x, weight, offset, mask, bias, *numbers_of
    )
    twice = {
        place: rounded(v) for place, v in slopes[0].items()
    }  # an exact sum of binary64 numbers, rounded to binary64, then to the format
    assert same(of_x, [twice.get(place, 0) for place in itertools.product(*map(range, x.shape))])
    assert same(of_weight, [slopes[1].get(place, 0) for place in itertools.product(*map(range, weight.shape))])
    assert same(of_offset, [slopes[2].get(place, 0) for place in itertools.product(*map(range, offset.shape))])
    if masked:
        assert same(of_mask, [slopes[3].get(place, 0) for place in itertools.product(*map(range, mask.shape))])
    assert same(of_bias, [slopes[4][o] for o in range(2)])


# inside of a block


def test_operators_of_torchvision_are_those_of_the_block(operators):
    boxes, scores = torch.tensor([[0.0, 0.0, 2.0, 1.0], [1.0, 0.0, 3.0, 1.0]]), torch.tensor([0.9, 0.8])
    x, rois = numbers(2, 2, 6, 7), torch.tensor(ROIS)
    with rt.reproducible(strict=True):
        assert operators.nms(boxes, scores, 1 / 3).tolist() == [0]
        made = operators.roi_align(x, rois, 0.7, 2, 3, 2, True)
        own = operators.ps_roi_align(x, rois, 0.7, 2, 1, 2)[0]
        pooled = operators.ps_roi_pool(x, rois, 0.7, 2, 1)[0]
        with pytest.raises(rt.UncoveredOperatorError, match="regions"):
            operators.roi_align(x[:1], rois, 0.7, 2, 3, 2, True)
    assert torch.equal(made, vision.roi_align(x, rois, 0.7, 2, 3, 2, True))
    assert torch.equal(own, vision.ps_roi_align(x, rois, 0.7, 2, 1, 2)[0])
    assert torch.equal(pooled, vision.ps_roi_pool(x, rois, 0.7, 2, 1)[0])
