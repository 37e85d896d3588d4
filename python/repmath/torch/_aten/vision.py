"""torchvision's operators: nms, roi_align, roi_pool, ps_roi_align, ps_roi_pool, deform_conv2d. They are of another library, and known by their names alone.

Places, sides and weights are numbers of binary64, rounded in each step, in the order that the functions below have; sums are exact.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import torch

from ... import _core, _reductions, _scatter, _statistics
from ..._dtypes import NAMES
from .._tensors import FORMATS, as_array, as_tensor
from .common import Array, Uncovered, convert_array, widened

# Name of the schema -> function
FUNCTIONS: dict[str, Callable[..., Any]] = {}


def _operator(function: Callable[..., Any]) -> Callable[..., Any]:
    FUNCTIONS[f"torchvision::{function.__name__}"] = function
    return function


def _rounded(x: Array, dtype: torch.dtype) -> torch.Tensor:
    return as_tensor(np.ascontiguousarray(convert_array(np.ascontiguousarray(x), FORMATS[dtype])))


def _of_one_format(*tensors: torch.Tensor) -> None:
    if any(t.dtype not in FORMATS or t.dtype is not tensors[0].dtype for t in tensors):
        raise Uncovered(f"tensors of {', '.join(str(t.dtype) for t in tensors)}")


# boxes


def _overlaps_exactly(a: Array, b: Array, threshold: float) -> bool:
    """Whether the intersection of two boxes over their union is above the threshold."""
    (ax, ay, aX, aY), (bx, by, bX, bY) = ([Fraction(float(v)) for v in box] for box in (a, b))
    common = max(min(aX, bX) - max(ax, bx), Fraction(0)) * max(min(aY, bY) - max(ay, by), Fraction(0))
    union = (aX - ax) * (aY - ay) + (bX - bx) * (bY - by) - common
    return common / union > Fraction(threshold) if union else common > 0


def _overlaps(box: Array, others: Array, threshold: float) -> Array:
    """Of which of the other boxes the overlap is above the threshold; all are finite.

    The test is common > threshold * union, of a union above 0. With u = 2^-53 and S the sum of the magnitudes of the two areas and of common: each
    area and common has at most three roundings, and so an error below 3.01u of itself; the union two more, and in all below 5.1u S; its product
    with the threshold, at most 1, one, below 1.1u S; the difference one, below 2.1u S. With the error of common the difference has one below 12u S, and the
    computed S is within 6u of S. The bound of 2^-48, which is 32u, covers that, and 2^-1000 what is lost below the normal numbers, a
    few units of 2^-1074. What overflows is not finite, and left undecided.
    """
    wide = np.minimum(box[2], others[:, 2]) - np.maximum(box[0], others[:, 0])
    high = np.minimum(box[3], others[:, 3]) - np.maximum(box[1], others[:, 1])
    common = np.maximum(wide, 0.0) * np.maximum(high, 0.0)
    area = (box[2] - box[0]) * (box[3] - box[1])
    areas = (others[:, 2] - others[:, 0]) * (others[:, 3] - others[:, 1])
    union = area + areas - common
    difference = common - threshold * union
    bound = 2.0**-48 * (np.abs(area) + np.abs(areas) + common) + 2.0**-1000
    found: Array = difference > bound
    decided = (union > bound) & (np.abs(difference) > bound) if 0 <= threshold <= 1 else np.zeros(len(others), bool)
    for i in np.flatnonzero(~decided):
        found[i] = _overlaps_exactly(box, others[i], threshold)
    return found


@_operator
def nms(boxes: torch.Tensor, scores: torch.Tensor, iou_threshold: float) -> torch.Tensor:
    """The boxes that are kept: by falling score, and of equal ones in their order, each that no kept one before it overlaps by more than the threshold.

    Overlaps are exact. A box with a number that is not finite overlaps none.
    """
    if boxes.ndim != 2 or boxes.shape[1] != 4 or scores.shape != boxes.shape[:1]:
        raise ValueError(f"boxes of shape {tuple(boxes.shape)} and scores of shape {tuple(scores.shape)}")
    order = scores.sort(stable=True, dim=0, descending=True).indices
    places = np.ascontiguousarray(as_array(widened(boxes[order])))
    finite = np.isfinite(places).all(1)
    kept, left = [], np.flatnonzero(finite)
    while len(left):
        first, left = left[0], left[1:]
        kept.append(first)
        left = left[~_overlaps(places[first], places[left], float(iou_threshold))] if iou_threshold == iou_threshold else left
    found = np.sort(np.concatenate([np.asarray(kept, np.int64), np.flatnonzero(~finite)]))
    return order[torch.from_numpy(found)]


# regions of images


def _regions(x: torch.Tensor | None, rois: torch.Tensor, samples: int) -> tuple[Array, Array]:
    if rois.ndim != 2 or rois.shape[1] != 5:
        raise ValueError(f"regions of shape {tuple(rois.shape)}")
    _of_one_format(rois, *(() if x is None else (x,)))
    wide = as_array(widened(rois))
    which = np.trunc(wide[:, 0]) if np.isfinite(wide).all() else np.full(len(wide), -1.0)
    if ((which < 0) | (which >= samples)).any():
        raise Uncovered("regions that are not finite, or of images that are not there")
    return which.astype(np.int64), wide[:, 1:]


def _tap_terms(y: Array, x: Array, height: int, width: int) -> tuple[Array, Array]:
    """Places in the flattened image and weights of the four taps of each sample of roi_align, -1 and 0 outside; the taps are the last axis."""
    inside = (y >= -1) & (y <= height) & (x >= -1) & (x <= width)

    def along(v: Array, n: int) -> tuple[Array, Array, Array, Array]:
        v = np.maximum(np.where(inside, v, 0.0), 0.0)
        low = np.minimum(np.trunc(v), n - 1.0)
        high = np.minimum(low + 1, n - 1.0)
        part = np.where(low >= n - 1, 0.0, v - low)
        return low.astype(np.int64), high.astype(np.int64), 1 - part, part

    y0, y1, v0, v1 = along(y, height)
    x0, x1, w0, w1 = along(x, width)
    at = np.stack([y0 * width + x0, y0 * width + x1, y1 * width + x0, y1 * width + x1], -1)
    weight = np.stack([v0 * w0, v0 * w1, v1 * w0, v1 * w1], -1)
    return np.where(inside[..., None], at, -1), np.where(inside[..., None], weight, 0.0)


def _roi_terms(
    which: Array,
    regions: Array,
    scale: float,
    bins: tuple[int, int],
    size: tuple[int, int],
    ratio: int,
    aligned: bool,
    own: bool = False,
) -> Iterator[tuple[Array, Array]]:
    """Of each region: (bins, terms), where in the images laid one after another, and by which weights; each bin may have images of its own."""
    height, width = size
    for image, region in zip(which, regions, strict=True):
        begin = region[:2] * scale - (0.5 if aligned else 0.0)
        side = region[2:] * scale - (0.5 if aligned else 0.0) - begin
        if not aligned:
            side = np.maximum(side, 1.0)
        along = []
        for axis, n in ((1, bins[0]), (0, bins[1])):
            each = side[axis] / n
            taken = ratio if ratio > 0 else max(int(np.ceil(each)), 0)
            within = (np.arange(taken) + 0.5) * each / max(taken, 1)
            along.append((begin[axis] + np.arange(n) * each)[:, None] + within)
        y, x = np.broadcast_arrays(along[0][:, None, :, None], along[1][None, :, None, :])
        at, weight = _tap_terms(y, x, height, width)
        count = max(along[0].shape[1] * along[1].shape[1], 1)
        points = bins[0] * bins[1]
        terms = at.size // points
        plane = image * points + np.arange(points)[:, None] if own else image
        at = at.reshape(points, terms)
        yield np.where(at < 0, -1, at + plane * height * width), (weight / count).reshape(points, terms)


def _all_terms(*arguments: Any) -> tuple[Array, Array, Array]:
    """The terms of all points, one after another, and where each point's begin."""
    found = list(_roi_terms(*arguments))
    counts = np.concatenate([np.full(len(at), at.shape[1]) for at, _ in found] or [np.zeros(0, np.int64)])
    first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    at = np.concatenate([at.ravel() for at, _ in found] or [np.zeros(0, np.int64)])
    return at.astype(np.int64), np.concatenate([w.ravel() for _, w in found] or [np.zeros(0)]), first


def _weighted(x: Array, at: Array, weight: Array, first: Array) -> Array:
    """Of lines x[line, element]: the exact sums of weight * element of each point's terms, rounded once; in binary64 each product is rounded too."""
    points = len(first) - 1
    made = np.empty((len(x), points), x.dtype)
    if x.dtype != np.float64:
        name = NAMES[x.dtype]
        _core.gather_sum(name, name, x[:, :, None], at, weight, first, len(x), False, made[:, :, None])
        return made
    of = np.repeat(np.arange(points), np.diff(first))[at >= 0]
    for line, to in zip(x, made, strict=True):
        to[:] = _scatter.segment_sum(line[at[at >= 0]] * weight[at >= 0], of, points)
    return made


@_operator
def roi_align(
    x: torch.Tensor,
    rois: torch.Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
    aligned: bool,
) -> torch.Tensor:
    """RN(sum of weight*x), weights of binary64, one rounding per step: bilinear ones over the number of samples."""
    if x.ndim != 4 or not all(x.shape[2:]):
        raise ValueError(f"an input of shape {tuple(x.shape)}")
    samples, channels, height, width = x.shape
    which, regions = _regions(x, rois, samples)
    bins = pooled_height, pooled_width
    at, weight, first = _all_terms(which, regions, float(spatial_scale), bins, (height, width), sampling_ratio, aligned)
    lines = np.ascontiguousarray(np.swapaxes(as_array(x), 0, 1)).reshape(channels, samples * height * width)
    made = _weighted(lines, at, weight, first).reshape(channels, len(which), *bins)
    return as_tensor(np.ascontiguousarray(np.swapaxes(made, 0, 1)))


@_operator
def _roi_align_backward(
    g: torch.Tensor,
    rois: torch.Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    batch_size: int,
    channels: int,
    height: int,
    width: int,
    sampling_ratio: int,
    aligned: bool,
) -> torch.Tensor:
    """RN(sum of weight*g) over the bins that an element is in."""
    which, regions = _regions(g, rois, batch_size)
    bins = pooled_height, pooled_width
    terms = _all_terms(which, regions, float(spatial_scale), bins, (height, width), sampling_ratio, aligned)
    return _received(g, terms, batch_size, 1, (height, width))


def _halves_away(v: Array) -> Array:
    """To the nearest whole number, halves away from 0."""
    whole = np.trunc(v)
    return whole + np.where(np.abs(v - whole) >= 0.5, np.copysign(1.0, v), 0.0)


def _pool_bins(
    which: Array, regions: Array, scale: float, bins: tuple[int, int], size: tuple[int, int], last: int
) -> Iterator[tuple[int, ...]]:
    """Region, image, bin's row and column, and the rows and columns of each bin that has any. last: 1 where the last ones of a region, and of an image,
    are in one, else 0."""
    for r, (image, region) in enumerate(zip(which, _halves_away(regions * scale), strict=True)):
        left, top, right, bottom = (int(v) for v in region)
        rows, columns = max(bottom - top + last, 1), max(right - left + last, 1)
        for i in range(bins[0]):
            y0, y1 = top + i * rows // bins[0], top - (-(i + 1) * rows // bins[0])
            y0, y1 = (min(max(y, 0), size[0] - 1 + last) for y in (y0, y1))
            for j in range(bins[1]):
                x0, x1 = left + j * columns // bins[1], left - (-(j + 1) * columns // bins[1])
                x0, x1 = (min(max(x, 0), size[1] - 1 + last) for x in (x0, x1))
                if y0 < y1 and x0 < x1:
                    yield r, int(image), i, j, y0, y1, x0, x1


@_operator
def roi_pool(
    x: torch.Tensor, rois: torch.Tensor, spatial_scale: float, pooled_height: int, pooled_width: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The greatest element of each bin, 0 of an empty one, and where it is. The corners are RN(place*scale), to the nearest whole number; bins are exact."""
    samples, channels, height, width = x.shape
    which, regions = _regions(x, rois, samples)
    planes = np.asarray(as_array(x))
    wide = as_array(widened(x))
    made = np.zeros((len(which), channels, pooled_height, pooled_width), planes.dtype)
    where = np.full(made.shape, -1, np.int32)
    bins = _pool_bins(which, regions, float(spatial_scale), (pooled_height, pooled_width), (height, width), 1)
    for r, image, i, j, y0, y1, x0, x1 in bins:
        part = wide[image, :, y0:y1, x0:x1].reshape(channels, (y1 - y0) * (x1 - x0))
        best = np.where(np.isnan(part), -np.inf, part).argmax(1)
        row, column = y0 + best // (x1 - x0), x0 + best % (x1 - x0)
        made[r, :, i, j] = planes[image, np.arange(channels), row, column]
        where[r, :, i, j] = row * width + column
    return as_tensor(made), torch.from_numpy(where)


@_operator
def _roi_pool_backward(
    g: torch.Tensor,
    rois: torch.Tensor,
    argmax: torch.Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    batch_size: int,
    channels: int,
    height: int,
    width: int,
) -> torch.Tensor:
    """RN(sum of g) over the bins whose greatest element it is."""
    which, _ = _regions(g, rois, batch_size)
    where = argmax.numpy().astype(np.int64)
    place = (which[:, None, None, None] * channels + np.arange(channels)[None, :, None, None]) * height * width + where
    taken = where >= 0
    made = _scatter.segment_sum(
        as_array(widened(g.contiguous()))[taken], place[taken], batch_size * channels * height * width
    )
    return _rounded(np.asarray(made), g.dtype).view(batch_size, channels, height, width)


# regions whose bins have channels of their own


def _channels_of_bins(channels: int, bins: tuple[int, int], regions: int) -> tuple[int, torch.Tensor]:
    """How many channels are made, and which of the input each element of the result is of: c*bins + bin."""
    if min(bins) < 1 or channels % (bins[0] * bins[1]):
        raise ValueError(f"{channels} channels for {bins[0]} x {bins[1]} bins")
    mapping = torch.arange(channels, dtype=torch.int32).view(1, channels // (bins[0] * bins[1]), *bins)
    return channels // (bins[0] * bins[1]), mapping.repeat(regions, 1, 1, 1)


@_operator
def ps_roi_align(
    x: torch.Tensor, rois: torch.Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """That of roi_align with aligned, of the bin's own channel; NaN in a region without samples because a side is 0."""
    if x.ndim != 4 or not all(x.shape[2:]):
        raise ValueError(f"an input of shape {tuple(x.shape)}")
    samples, channels, height, width = x.shape
    which, regions = _regions(x, rois, samples)
    bins = pooled_height, pooled_width
    made_channels, mapping = _channels_of_bins(channels, bins, len(which))
    arguments = which, regions, float(spatial_scale), bins, (height, width), sampling_ratio, True, True
    at, weight, first = _all_terms(*arguments)
    planes = as_array(x).reshape(samples, made_channels, bins[0] * bins[1] * height * width)
    lines = np.ascontiguousarray(np.swapaxes(planes, 0, 1)).reshape(made_channels, -1)
    made = _weighted(lines, at, weight, first).reshape(made_channels, len(which), *bins)
    result = as_tensor(np.ascontiguousarray(np.swapaxes(made, 0, 1)))
    if sampling_ratio <= 0:
        begin = regions[:, :2] * float(spatial_scale) - 0.5
        sides = np.ceil((regions[:, 2:] * float(spatial_scale) - 0.5 - begin) / np.asarray(bins[::-1], float))
        result[torch.from_numpy((sides == 0).any(1))] = float("nan")
    return result, mapping


@_operator
def _ps_roi_align_backward(
    g: torch.Tensor,
    rois: torch.Tensor,
    channel_mapping: torch.Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
    batch_size: int,
    channels: int,
    height: int,
    width: int,
) -> torch.Tensor:
    """RN(sum of weight*g) over the bins that an element is in."""
    which, regions = _regions(g, rois, batch_size)
    bins = pooled_height, pooled_width
    arguments = which, regions, float(spatial_scale), bins, (height, width), sampling_ratio, True, True
    return _received(g, _all_terms(*arguments), batch_size, bins[0] * bins[1], (height, width))


def _received(
    g: torch.Tensor, terms: tuple[Array, Array, Array], samples: int, planes: int, size: tuple[int, int]
) -> torch.Tensor:
    """Of each element of the input, whose channels are those of g times so many planes: RN(sum of weight*g)."""
    at, weight, first = terms
    point = np.repeat(np.arange(len(first) - 1), np.diff(first))
    order = np.argsort(at, kind="stable")
    order = order[at[order] >= 0]
    begins = np.searchsorted(at[order], np.arange(samples * planes * size[0] * size[1] + 1)).astype(np.int64)
    channels = g.shape[1]
    lines = np.ascontiguousarray(np.swapaxes(as_array(g), 0, 1)).reshape(channels, len(first) - 1)
    made = _weighted(lines, point[order], weight[order], begins).reshape(channels, samples, planes, *size)
    made = np.ascontiguousarray(np.swapaxes(made, 0, 1)).reshape(samples, channels * planes, *size)
    return as_tensor(made)


@_operator
def ps_roi_pool(
    x: torch.Tensor, rois: torch.Tensor, spatial_scale: float, pooled_height: int, pooled_width: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """RN(sum/count) of each bin, in the bin's own channel, 0 of an empty one. The corners are RN(place*scale), to the nearest whole number; bins are exact."""
    samples, channels, height, width = x.shape
    which, regions = _regions(x, rois, samples)
    bins = pooled_height, pooled_width
    made_channels, mapping = _channels_of_bins(channels, bins, len(which))
    planes = as_array(x).reshape(samples, made_channels, *bins, height, width)
    made = np.zeros((len(which), made_channels, *bins), planes.dtype)
    for r, image, i, j, y0, y1, x0, x1 in _pool_bins(which, regions, float(spatial_scale), bins, (height, width), 0):
        made[r, :, i, j] = _statistics.mean(planes[image, :, i, j, y0:y1, x0:x1].reshape(made_channels, -1), axis=1)
    return as_tensor(made), mapping


@_operator
def _ps_roi_pool_backward(
    g: torch.Tensor,
    rois: torch.Tensor,
    channel_mapping: torch.Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    batch_size: int,
    channels: int,
    height: int,
    width: int,
) -> torch.Tensor:
    """RN(sum of weight*g) over the bins that an element is in, of weights RN64(1/count)."""
    which, regions = _regions(g, rois, batch_size)
    bins, plane = (pooled_height, pooled_width), np.arange(height * width).reshape(height, width)
    points = bins[0] * bins[1]
    at = [np.zeros(0, np.int64)] * (len(which) * points)
    for r, image, i, j, y0, y1, x0, x1 in _pool_bins(which, regions, float(spatial_scale), bins, (height, width), 0):
        own = i * bins[1] + j
        at[r * points + own] = plane[y0:y1, x0:x1].ravel() + (image * points + own) * height * width
    counts = np.asarray([len(a) for a in at], np.int64)
    weight = np.repeat(1.0 / np.maximum(counts, 1), counts)
    terms = np.concatenate([np.zeros(0, np.int64), *at]), weight, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return _received(g, terms, batch_size, points, (height, width))


# deformable convolutions


class _Deformed:
    """The samples of a deformable convolution, in binary64: (samples, groups of offsets, taps, places), with the corners' axis last where there is one."""

    def __init__(self, x: torch.Tensor, weight: torch.Tensor, offset: torch.Tensor, mask: torch.Tensor, *geometry: int):
        *pairs, groups, sets, masked = geometry
        stride, pad, dilation = pairs[:2], pairs[2:4], pairs[4:]
        self.masked = bool(masked)
        _of_one_format(x, weight, offset, *((mask,) if masked else ()))
        n, channels, height, width = x.shape
        out, each, kh, kw = weight.shape
        oh, ow = (
            (size + 2 * p - d * (k - 1) - 1) // s + 1
            for size, p, d, k, s in zip((height, width), pad, dilation, (kh, kw), stride, strict=True)
        )
        taps = kh * kw
        if (
            channels != each * groups or out % groups or channels % sets or offset.shape != (n, 2 * sets * taps, oh, ow)
            or masked and mask.shape != (n, sets * taps, oh, ow) or min(oh, ow, height, width) < 1
        ):  # fmt: skip
            raise ValueError("shapes that do not fit")
        self.n, self.channels, self.out, self.groups, self.sets, self.taps = n, channels, out, groups, sets, taps
        self.size, self.made = (height, width), (oh, ow)
        moved = as_array(widened(offset)).reshape(n, sets, taps, 2, oh, ow)
        rows = np.arange(oh) * stride[0] - pad[0] + (np.arange(kh) * dilation[0])[:, None]
        columns = np.arange(ow) * stride[1] - pad[1] + (np.arange(kw) * dilation[1])[:, None]
        y = np.repeat(rows, kw, 0)[:, :, None] + moved[:, :, :, 0]
        z = np.tile(columns, (kh, 1))[:, None, :] + moved[:, :, :, 1]
        shape = n, sets, taps, oh * ow
        self.mask = as_array(widened(mask)).reshape(shape) if masked else np.ones(shape)
        y, z = y.reshape(shape), z.reshape(shape)
        # A place that is not finite, or far outside, is beside the image.
        self.inside = (y > -1) & (y < height) & (z > -1) & (z < width)
        near = (np.abs(y) < 2.0**40) & (np.abs(z) < 2.0**40)
        y, z = np.where(near, y, -9.0), np.where(near, z, -9.0)
        y0, z0 = np.floor(y), np.floor(z)
        ly, lz = y - y0, z - z0
        hy, hz = 1 - ly, 1 - lz
        corners, valid = [], []
        for a in (0, 1):
            for b in (0, 1):
                row, column = y0 + a, z0 + b
                valid.append((row >= 0) & (row < height) & (column >= 0) & (column < width))
                corners.append(np.where(valid[-1], row * width + column, 0.0))
        self.at, self.valid = np.stack(corners, -1).astype(np.int64), np.stack(valid, -1)
        self.weight = np.stack([hy * hz, hy * lz, ly * hz, ly * lz], -1)
        self.ly, self.lz, self.hy, self.hz = ly, lz, hy, hz
        lines = as_array(widened(x)).reshape(n, sets, channels // sets, height * width)
        values = np.empty((n, sets, channels // sets, *self.at.shape[2:]))
        for i in range(n):
            for s in range(sets):
                values[i, s] = np.where(self.valid[i, s], lines[i, s][:, self.at[i, s]], 0.0)
        self.values = values  # (samples, groups of offsets, channels, taps, places, corners)
        self.filters = as_array(widened(weight)).reshape(groups, out // groups, each * taps)

    def sampled(self) -> Array:
        """Each product and sum rounded, corner by corner; 0 outside."""
        v, w = self.values, self.weight[:, :, None]
        made = v[..., 0] * w[..., 0]
        for corner in range(1, 4):
            made = made + v[..., corner] * w[..., corner]
        return np.where(self.inside[:, :, None], made, 0.0)

    def columns(self) -> Array:
        """(samples, groups, channels and taps, places): the samples times the mask."""
        return self._as_columns(self.sampled() * self.mask[:, :, None])

    def _as_columns(self, v: Array) -> Array:
        return np.ascontiguousarray(v).reshape(self.n, self.groups, self.filters.shape[2], v.shape[-1])

    def received(self, g: torch.Tensor) -> Array:
        """(samples, groups, channels of a group, places)."""
        return as_array(widened(g)).reshape(self.n, self.groups, self.out // self.groups, self.made[0] * self.made[1])


@_operator
def deform_conv2d(
    x: torch.Tensor,
    weight: torch.Tensor,
    offset: torch.Tensor,
    mask: torch.Tensor,
    bias: torch.Tensor,
    *geometry: int,
) -> torch.Tensor:
    """RN(bias + sum of weight*sample), samples of binary64: bilinear ones times the mask, one rounding per step."""
    d = _Deformed(x, weight, offset, mask, *geometry)
    columns = d.columns()
    added = np.ones((d.n, d.groups, 1, columns.shape[3]))
    own = as_array(widened(bias)).reshape(d.groups, d.out // d.groups, 1)
    made = _reductions.matmul(
        np.concatenate([d.filters, own], 2), np.concatenate([columns, added], 2), dtype=FORMATS[x.dtype]
    )
    return as_tensor(np.ascontiguousarray(made)).view(d.n, d.out, *d.made)


@_operator
def _deform_conv2d_backward(
    g: torch.Tensor,
    x: torch.Tensor,
    weight: torch.Tensor,
    offset: torch.Tensor,
    mask: torch.Tensor,
    bias: torch.Tensor,
    *geometry: int,
) -> tuple[torch.Tensor, ...]:
    """With s the sample of a column, c = RN64(sum of weight*g) what it receives and m = RN64(c*mask): of weight RN(sum of g*RN64(s*mask)), of bias RN(sum of g), of
    mask RN(sum of c*s), of offset RN(sum of m*slope), of x RN(RN64(sum of RN64(m*weight of the corner)))."""
    d = _Deformed(x, weight, offset, mask, *geometry)
    received, dtype = d.received(g), FORMATS[x.dtype]
    n, sets, shape = d.n, d.sets, d.values.shape[:-1]
    c = np.asarray(_reductions.matmul(np.swapaxes(d.filters, 1, 2), received)).reshape(shape)
    m = c * d.mask[:, :, None]

    def joined(a: Array) -> Array:
        """Samples and places as one axis, the last: (groups, rows, samples and places)."""
        return np.ascontiguousarray(np.moveaxis(a, 0, 2)).reshape(d.groups, a.shape[2], n * a.shape[3])

    of_weight = _reductions.matmul(joined(received), np.swapaxes(joined(d.columns()), 1, 2), dtype=dtype)
    of_bias = _reductions.matmul(joined(received), np.ones((n * received.shape[3], 1)), dtype=dtype)

    def over_channels(a: Array, b: Array) -> Array:
        """Exact sums of products over the channels of a group of offsets: (samples, groups, taps, places)."""
        a, b = (np.ascontiguousarray(np.moveaxis(v, 2, -1)) for v in (a, b))
        return np.asarray(_reductions.matmul(a[..., None, :], b[..., :, None], dtype=dtype))[..., 0, 0]

    inside = d.inside[:, :, None]
    of_mask = over_channels(np.where(inside, c, 0.0), d.sampled())
    v = d.values
    ly, lz, hy, hz = (w[:, :, None] for w in (d.ly, d.lz, d.hy, d.hz))
    slope_y = lz * (v[..., 3] - v[..., 1]) + hz * (v[..., 2] - v[..., 0])
    slope_z = ly * (v[..., 3] - v[..., 2]) + hy * (v[..., 1] - v[..., 0])
    of_offset = np.stack([over_channels(m, slope_y), over_channels(m, slope_z)], 3)
    used = np.broadcast_to((d.valid & d.inside[..., None])[:, :, None], v.shape)
    terms = (m[..., None] * d.weight[:, :, None])[used]
    plane = d.size[0] * d.size[1]
    base = (np.arange(n * d.channels) * plane).reshape(n, sets, d.channels // sets, 1, 1, 1)
    at = (base + d.at[:, :, None])[used]
    of_x = np.asarray(_scatter.segment_sum(terms, at, n * d.channels * plane))
    return (
        _rounded(of_x, x.dtype).view(x.shape),
        as_tensor(np.ascontiguousarray(of_weight)).view(weight.shape),
        as_tensor(np.ascontiguousarray(of_offset)).view(offset.shape),
        as_tensor(np.ascontiguousarray(of_mask)).view(mask.shape) if d.masked else torch.zeros_like(mask),
        as_tensor(np.ascontiguousarray(of_bias)).view(-1),
    )
