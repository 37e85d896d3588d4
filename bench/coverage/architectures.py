"""Architectures of transformers, from small configurations: loss, gradients, a step of AdamW.

One recipe sets the widths, heads, layers and vocabulary that a configuration has, also in the configurations that it is made of. A family
is run with the first of `HEADS` that it has and that PyTorch runs with one of the inputs of `given`; one that PyTorch cannot run so is absent.
"""

import functools
import inspect
import random

from ..sweep.models import changes_of, with_changes
from .cases import Absent, Case

HEADS = """
CausalLM MaskedLM Seq2SeqLM ImageClassification ImageTextToText Pretraining SpeechSeq2Seq CTC AudioClassification SequenceClassification
ObjectDetection SemanticSegmentation UniversalSegmentation DepthEstimation VideoClassification TokenClassification
""".split()  # noqa: SIM905
WIDTH, VOCABULARY, LENGTH, BATCH, LARGEST = 64, 256, 24, 2, 30_000_000


def small(made, family, changes=None):
    """A configuration of the class, by the recipe."""
    plain = made()
    wanted = changes_of(made, plain, family, WIDTH) | (changes or {})
    for name in getattr(made, "sub_configs", {}):
        inner = getattr(plain, name, None)
        if inner is not None and hasattr(type(inner), "model_type"):
            wanted[name] = small(type(inner), type(inner).model_type).to_dict()
    return with_changes(made, wanted)


def _of(config, name, otherwise):
    """An attribute of the configuration or of one that it is made of."""
    for c in (config, *(getattr(config, n, None) for n in getattr(type(config), "sub_configs", {}))):
        found = getattr(c, name, None)
        if found is not None:
            return found
    return otherwise


def given(model, config, head):
    """Arguments that a model may take, the likeliest first."""
    import torch

    takes = set(inspect.signature(model.forward).parameters)
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(5, min(_of(config, "vocab_size", VOCABULARY), VOCABULARY), (BATCH, LENGTH), generator=generator)
    size = _of(config, "image_size", 32)
    size = tuple(size) if isinstance(size, (list, tuple)) else (size, size)
    image = torch.randn(BATCH, _of(config, "num_channels", 3), *size, generator=generator)
    bins = _of(config, "num_mel_bins", 80)
    found = []
    texts = {"input_ids": ids}
    if "labels" in takes and head in ("CausalLM", "MaskedLM", "Seq2SeqLM", "ImageTextToText"):
        found.append(texts | {"labels": ids})
    found.append(texts)
    found.append(texts | {"decoder_input_ids": ids})
    found.append(texts | {"pixel_values": image})
    if "labels" in takes and head == "ImageClassification":
        found.append({"pixel_values": image, "labels": torch.arange(BATCH)})
    found.append({"pixel_values": image})
    found.append({"pixel_values": image, "decoder_input_ids": ids})
    found.append({"pixel_values": image[:, None].expand(-1, _of(config, "num_frames", 4), -1, -1, -1)})
    found.append({"input_values": torch.randn(BATCH, 4000, generator=generator)})
    for steps in (2 * _of(config, "max_source_positions", 64), 64):
        features = torch.randn(BATCH, bins, steps, generator=generator)
        found += [
            {"input_features": features, "decoder_input_ids": ids},
            {"input_features": features.mT, "decoder_input_ids": ids},
        ]
        found += [{"input_features": features}, {"input_features": features.mT}, {"input_values": features.mT}]
    return [arguments for arguments in found if set(arguments) <= takes]


def loss_of(made):
    """Its loss, or the mean of the squares of its first numbers."""
    import torch
    from torch.utils._pytree import tree_leaves

    if getattr(made, "loss", None) is not None:
        return made.loss
    values = dict(made) if hasattr(made, "items") else made
    for t in tree_leaves(values):
        if isinstance(t, torch.Tensor) and t.is_floating_point() and t.requires_grad:
            return t.float().square().mean()
    raise Absent("no result has a gradient")


def build(auto, config):
    import torch

    random.seed(0)
    torch.manual_seed(0)
    model = auto.from_config(config)
    size = sum(p.numel() for p in model.parameters())
    if size > LARGEST:
        raise Absent(f"{size} parameters")
    return model


def plainly(family, heads):
    """Auto class, configuration and arguments with which PyTorch runs a family."""
    import transformers

    last = "no automatic class has it"
    for head in heads:
        auto = getattr(transformers, f"AutoModelFor{head}" if head else "AutoModel", None)
        try:
            config = small(transformers.CONFIG_MAPPING[family], family)
            if auto is None or type(config) not in auto._model_mapping:
                continue
            config.architectures = []
            model = build(auto, config)
        except Exception as error:
            last = f"{head}: {type(error).__name__}: {(str(error).splitlines() or [''])[0][:120]}"
            continue
        model.train()
        for arguments in given(model, config, head):
            try:
                loss_of(model(**arguments)).backward()
                return auto, config, arguments
            except Exception as error:
                last = f"{head}: {type(error).__name__}: {(str(error).splitlines() or [''])[0][:120]}"
    raise Absent(last)


def run(family, heads):
    import torch

    import repmath.torch

    auto, config, arguments = plainly(family, heads)
    with repmath.torch.reproducible(strict=True):
        model = build(auto, config)
        model.eval()
        with torch.no_grad():
            ours = model(**arguments)
        model.train()
        optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
        loss_of(model(**arguments)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    del ours
    return auto.__name__


def cases(everything=False):
    import transformers

    for family in sorted(transformers.CONFIG_MAPPING):
        if everything:
            for head in (*HEADS, ""):
                yield Case("transformers", f"{family} {head}", functools.partial(run, family, (head,)))
        else:
            yield Case("transformers", family, functools.partial(run, family, (*HEADS, "")))
