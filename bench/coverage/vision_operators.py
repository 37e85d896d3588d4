"""torchvision's operators and transforms, with their gradients."""

import functools

from .cases import Absent, Case
from .training import double, short

# Transforms that change in place what their gradients need.
WITHOUT_GRADIENTS = tuple(f"transforms.{name}" for name in ("adjust_hue", "adjust_sharpness", "AugMix", "ColorJitter"))
BOXES = [[1.0, 2.0, 9.5, 12.0], [0.5, 1.0, 9.0, 11.0], [6.0, 6.0, 15.0, 15.0], [2.0, 3.0, 2.5, 14.0]]


def calls():
    """Name, tensors, whether they have gradients, and the call."""
    import torch
    from torchvision import ops
    from torchvision.transforms import v2

    generator = torch.Generator().manual_seed(2)

    def normal(*shape):
        return torch.randn(*shape, generator=generator)

    boxes, scores = torch.tensor(BOXES), torch.tensor([0.9, 0.8, 0.95, 0.3])
    rois = torch.cat([torch.tensor([[0.0], [1.0], [0.0], [1.0]]), boxes], 1)
    classes = torch.tensor([0, 0, 1, 1])
    x, images = normal(2, 4, 16, 16), torch.rand(2, 3, 16, 16, generator=generator)
    yield "nms", (boxes, scores), lambda b, s: ops.nms(b, s, 0.5)
    yield "batched_nms", (boxes, scores), lambda b, s: ops.batched_nms(b, s, classes, 0.5)
    for name in ("box_area",):
        yield name, (boxes,), getattr(ops, name)
    for name in "box_iou generalized_box_iou distance_box_iou complete_box_iou".split():  # noqa: SIM905
        yield name, (boxes, boxes + 1), getattr(ops, name)
    for name in "generalized_box_iou_loss distance_box_iou_loss complete_box_iou_loss".split():  # noqa: SIM905
        yield name, (boxes, boxes + 1), getattr(ops, name)
    yield "sigmoid_focal_loss", (normal(4, 3), torch.ones(4, 3)), ops.sigmoid_focal_loss
    yield "box_convert", (boxes,), lambda b: ops.box_convert(b, "xyxy", "cxcywh")
    yield "clip_boxes_to_image", (boxes,), lambda b: ops.clip_boxes_to_image(b, (10, 10))
    yield "remove_small_boxes", (boxes,), lambda b: ops.remove_small_boxes(b, 2.0)
    yield "masks_to_boxes", (images[:, 0] > 0.5,), ops.masks_to_boxes
    yield "roi_align", (x, rois), lambda t, r: ops.roi_align(t, r, 3, 0.5)
    yield "roi_align aligned", (x, rois), lambda t, r: ops.roi_align(t, r, (2, 3), 0.5, 2, True)
    yield "roi_pool", (x, rois), lambda t, r: ops.roi_pool(t, r, 3, 0.5)
    yield "ps_roi_align", (x, rois), lambda t, r: ops.ps_roi_align(t, r, 2, 0.5)
    yield "ps_roi_pool", (x, rois), lambda t, r: ops.ps_roi_pool(t, r, 2, 0.5)
    offset, mask = normal(2, 18, 14, 14), normal(2, 9, 14, 14)
    yield "deform_conv2d", (x, offset, normal(5, 4, 3, 3), normal(5)), ops.deform_conv2d
    yield "deform_conv2d mask", (x, offset, normal(5, 4, 3, 3), mask), lambda t, o, w, m: ops.deform_conv2d(t, o, w, mask=m)
    yield "stochastic_depth", (x,), lambda t: ops.stochastic_depth(t, 0.5, "row")
    yield "drop_block2d", (x,), lambda t: ops.drop_block2d(t, 0.3, 3)
    yield "drop_block3d", (normal(1, 2, 6, 6, 6),), lambda t: ops.drop_block3d(t, 0.3, 3)
    f = v2.functional
    for name, call in {
        "resize": lambda t: f.resize(t, [11, 13], antialias=True),
        "rotate": lambda t: f.rotate(t, 20.0, interpolation=v2.InterpolationMode.BILINEAR),
        "affine": lambda t: f.affine(t, 10.0, [1, 2], 1.1, [3.0, 4.0]),
        "perspective": lambda t: f.perspective(t, [[0, 0], [15, 0], [15, 15], [0, 15]], [[1, 1], [14, 2], [15, 15], [0, 13]]),
        "gaussian_blur": lambda t: f.gaussian_blur(t, [5, 5]),
        "adjust_brightness": lambda t: f.adjust_brightness(t, 1.3),
        "adjust_contrast": lambda t: f.adjust_contrast(t, 1.3),
        "adjust_saturation": lambda t: f.adjust_saturation(t, 0.6),
        "adjust_hue": lambda t: f.adjust_hue(t, 0.2),
        "adjust_gamma": lambda t: f.adjust_gamma(t, 1.7),
        "adjust_sharpness": lambda t: f.adjust_sharpness(t, 1.5),
        "equalize": lambda t: f.equalize((t * 255).to(torch.uint8)),
        "posterize": lambda t: f.posterize((t * 255).to(torch.uint8), 3),
        "normalize": lambda t: f.normalize(t, [0.4, 0.5, 0.6], [0.2, 0.3, 0.4]),
        "rgb_to_grayscale": f.rgb_to_grayscale,
        "elastic": lambda t: f.elastic(t, torch.zeros(1, 16, 16, 2) + 0.1),
        "center_crop": lambda t: f.center_crop(t, [8, 8]),
        "MixUp": lambda t: v2.MixUp(num_classes=3)(t, torch.tensor([0, 1]))[0],
        "CutMix": lambda t: v2.CutMix(num_classes=3)(t, torch.tensor([0, 1]))[0],
        "RandAugment": lambda t: v2.RandAugment()((t * 255).to(torch.uint8)),
        "AugMix": lambda t: v2.AugMix()(t),
        "RandomResizedCrop": lambda t: v2.RandomResizedCrop(8, antialias=True)(t),
        "ColorJitter": lambda t: v2.ColorJitter(0.3, 0.3, 0.3, 0.1)(t),
        "GaussianNoise": lambda t: v2.GaussianNoise()(t),
    }.items():
        yield f"transforms.{name}", (images,), call


def called(tensors, call, gradients=True):
    """The result of the call and the gradients that it has."""
    import torch

    torch.manual_seed(0)
    leaves = [t.clone().requires_grad_(gradients and t.is_floating_point()) for t in tensors]
    made = call(*leaves)
    if not made.requires_grad:
        return made, []
    weights = (torch.arange(made.numel(), dtype=torch.float64) % 7 - 3).reshape(made.shape).to(made.dtype)
    leaves = [t for t in leaves if t.requires_grad]
    return made, torch.autograd.grad(made, leaves, weights, allow_unused=True)


def far(ours, plain):
    """Whether a float32 result is far from that of binary64."""
    ours, plain = ours.detach().double(), plain.detach().double()
    return ours.shape != plain.shape or bool(((ours - plain).abs() > 1e-4 * (1 + plain.abs().max())).any())


def run(name):
    import torch

    import repmath.torch

    tensors, call = next((t, c) for n, t, c in calls() if n == name)
    wanted = name not in WITHOUT_GRADIENTS
    try:
        called(tensors, call, wanted)
    except Exception as error:
        raise Absent(short(error)) from None
    with repmath.torch.reproducible(strict=True):
        made, gradients = called(tensors, call, wanted)
    found = {"digest": repmath.torch.digest(made.detach(), *(g for g in gradients if g is not None))}
    drawn = ("drop_block", "stochastic", "transforms.", "masks")
    if not name.startswith(drawn):
        exact, slopes = called(double(tensors), call)
        apart = far(made, exact) if made.numel() else False
        for g, s in zip(gradients, slopes, strict=True):
            apart = apart or (g is not None and far(g, s))
        if apart:
            raise ArithmeticError("far from binary64")
        found["apart"] = (0.0, 0.0)
    if isinstance(made, torch.Tensor) and made.is_floating_point() and not bool(torch.isfinite(made).all()):
        raise ArithmeticError("not finite")
    return found


def cases():
    for name, _, _ in calls():
        yield Case("torchvision", f"ops.{name}", functools.partial(run, name))
