"""torchvision's models and operators, and 50 architectures of timm, with small images: a step of AdamW."""

import functools

from .cases import Absent, Case
from .training import sampled, trained

CLASSES, BATCH = 10, 2
# The sides of images that models need which do not take 32.
SIDES = {"inception_v3": 299, "vit_h_14": 28, "maxvit_t": 224, "alexnet": 64, "raft": 128, "s3d": 224, "mvit": 224}
TIMM = {
    name: side
    for side, names in {
        32: """
            cspnext_s densenet121 dla46_c ese_vovnet19b_slim efficientnet_b0 fbnetv3_b ghostnet_050 hardcorenas_a hrnet_w18_small
            lcnetv2_small legacy_seresnet18 mobilevit_xxs regnetx_002 repghostnet_050 resnest14d resnetv2_18 rexnet_100
            selecsls42 skresnet18 starnet_s1 mobilenetv3_small_050 mixnet_s resnet18 eca_nfnet_l0 dpn48b resnet26d repvit_m0_9
        """,
        64: """
            beit_base_patch16_224 cait_xxs24_224 convmixer_768_32 convnext_atto csatv2 deit_tiny_patch16_224 edgenext_xx_small
            efficientvit_b0 efficientvit_m0 fasternet_t0 fastvit_t8 inception_next_atto mambaout_femto pvt_v2_b0 semnasnet_050
            res2net50_14w_8s xcit_nano_12_p8_224 poolformer_s12 lowformer_b0 shvit_s1 visformer_tiny twins_svt_small crossvit_tiny_240
            vit_tiny_patch16_224 eva02_tiny_patch14_224 mixer_s32_224 gmlp_ti16_224 resmlp_12_224 convit_tiny
        """,
        224: """
            swin_tiny_patch4_window7_224 levit_128s tiny_vit_5m_224 efficientformerv2_s0 coat_lite_tiny pit_ti_224 nest_tiny
            maxvit_rmlp_pico_rw_256
        """,
    }.items()
    for name in names.split()
}


def image(side, frames=None):
    import torch

    generator = torch.Generator().manual_seed(1)
    return torch.randn(BATCH, 3, *(() if frames is None else (frames,)), side, side, generator=generator)


def side_of(name):
    return next((side for start, side in SIDES.items() if name.startswith(start)), 32)


def classified(model, arguments, loss):
    """Classifiers, segmentation and optical flow: what they return, their heads' outputs beside it."""
    import torch

    made = model(*arguments)
    outputs = [
        t for t in torch.utils._pytree.tree_leaves(made if not hasattr(made, "items") else dict(made)) if t is not None
    ]
    if not loss:
        return made
    if outputs[0].dim() == 2:
        target = torch.arange(BATCH) % CLASSES
        return sum(torch.nn.functional.cross_entropy(t, target) for t in outputs)
    return sum(t.square().mean() for t in outputs)


def detected(model, arguments, loss):
    """The detection models: their losses in training, what they find otherwise."""
    images, targets = arguments
    if not loss:
        return model(images)
    return sum(model(images, targets).values())


def targets():
    import torch

    found = []
    for i in range(BATCH):
        masks = torch.zeros(2, 96, 96, dtype=torch.uint8)
        masks[:, 10:60, 10:70] = 1
        found.append(
            {
                "boxes": torch.tensor([[10.0, 12.0, 60.0, 70.0 + i], [30.0, 5.0, 90.0, 50.0]]),
                "labels": torch.tensor([1, 1]),
                "masks": masks,
                "keypoints": torch.tensor([[[20.0, 20.0, 1.0]] * 17] * 2),
            }
        )
    return found


def run(name):
    import torchvision

    models = torchvision.models
    compare = sampled(name, 4)
    if name.startswith("quantized_"):
        raise Absent("a quantised model is for inference")
    module = models.get_model_builder(name).__module__.split(".")[2]
    if module == "detection":
        options = {"weights": None, "weights_backbone": None, "num_classes": 2}
        options |= {"size": (96, 96)} if name.startswith("ssd") else {"min_size": 96, "max_size": 96}
        if name.startswith("ssd"):
            options.pop("size")
        images = [t[:, :96, :96] for t in image(96)]
        return trained(lambda: models.get_model(name, **options), (images, targets()), call=detected)
    options = {"weights": None}
    if module == "segmentation":
        options |= {"weights_backbone": None, "num_classes": CLASSES, "aux_loss": None}
        options = {k: v for k, v in options.items() if k != "aux_loss" or not name.startswith("lraspp")}
        arguments = (image(64),)
    elif module == "optical_flow":
        arguments = (image(128), image(128).flip(0), 2)
    elif module == "video":
        options |= {"num_classes": CLASSES}
        arguments = (image(side_of(name), 16 if name.startswith(("s3d", "mvit")) else 4),)
    else:
        options |= {"num_classes": CLASSES}
        side = side_of(name)
        if name.startswith("vit_"):
            options["image_size"] = side
        if name in ("googlenet", "inception_v3"):
            options |= (
                {"aux_logits": True, "init_weights": False}
                if name == "inception_v3"
                else {"aux_logits": False, "init_weights": False}
            )
        arguments = (image(side),)
    return trained(lambda: models.get_model(name, **options), arguments, compare, classified)


def run_timm(name, side):
    import timm

    def build():
        try:
            return timm.create_model(name, pretrained=False, num_classes=CLASSES, img_size=side)
        except TypeError:
            return timm.create_model(name, pretrained=False, num_classes=CLASSES)

    side = 256 if name.endswith("_256") else side
    return trained(build, (image(side),), sampled(name, 4), classified)


def cases():
    try:
        import torchvision
    except ImportError:
        return
    for name in torchvision.models.list_models():
        yield Case("torchvision", name, functools.partial(run, name))
    from . import vision_operators

    yield from vision_operators.cases()


def timm_cases():
    for name, side in sorted(TIMM.items()):
        yield Case("timm", name, functools.partial(run_timm, name, side))
