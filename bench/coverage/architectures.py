"""Architectures of transformers, from small configurations: loss, gradients, a step of AdamW.

One recipe sets the widths, heads, layers and vocabulary that a configuration has, also in the configurations that it is made of. A family
is run with the first of `HEADS` that it has and that PyTorch runs with one of the inputs of `given`; one that PyTorch cannot run so is absent.
"""

import contextlib
import functools
import importlib
import inspect
import random
import signal
import types

from ..sweep.models import changes_of, sizes, with_changes
from .cases import Absent, Case
from .training import loss_of, sampled, short, trained

HEADS = """
CausalLM MaskedLM Seq2SeqLM ImageClassification ImageTextToText Pretraining SpeechSeq2Seq CTC AudioClassification SequenceClassification
ObjectDetection SemanticSegmentation UniversalSegmentation DepthEstimation VideoClassification TokenClassification
""".split()  # noqa: SIM905
WIDTH, VOCABULARY, LENGTH, BATCH, LARGEST = 64, 256, 24, 2, 80_000_000
BACKBONE = {
    "use_timm_backbone": False,
    "use_pretrained_backbone": False,
    "backbone_config": {
        "model_type": "resnet",
        "embedding_size": 16,
        "hidden_sizes": [16, 16, 32, 32],
        "depths": [1, 1, 1, 1],
        "layer_type": "basic",
        "out_features": ["stage2", "stage3", "stage4"],
    },
}


# What a recipe leaves out, one after another, where PyTorch does not run what the whole one makes: shapes that depend on each other.
WITHOUT = (
    (),
    (
        "head_dim",
        "d_kv",
        "global_head_dim",
        "qk_rope_head_dim",
        "rotary_dim",
        "q_lora_rank",
        "kv_lora_rank",
        "qk_nope_head_dim",
        "v_head_dim",
    ),
    (
        "head_dim",
        "num_key_value_heads",
        "num_kv_heads",
        "patch_size",
        "image_size",
        "embed_dim",
        "hidden_dim",
        "sliding_window",
    ),
    tuple(n for n in sizes(WIDTH) if "layer" not in n and n not in ("hidden_size", "vocab_size")),
    tuple(n for n in sizes(WIDTH) if "layer" not in n),
    tuple(sizes(WIDTH)),
)


def small(made, family, left_out=()):
    """A configuration of the class, by the recipe without some of its sizes."""
    try:
        plain = made()
    except Exception:  # it is made of others, that must be given
        plain = types.SimpleNamespace()
    wanted = {n: v for n, v in changes_of(made, plain, family, WIDTH).items() if n not in left_out}
    for name, of in getattr(made, "sub_configs", {}).items():
        inner = getattr(plain, name, None)
        kind = type(inner) if inner is not None else of
        if hasattr(kind, "model_type") and hasattr(kind, "sub_configs") and kind.model_type:
            with contextlib.suppress(Exception):
                wanted[name] = small(kind, kind.model_type, left_out).to_dict()
    if (
        hasattr(plain, "use_timm_backbone")
        or "backbone" in inspect.signature(made.__init__).parameters
        or hasattr(plain, "backbone_config")
    ):
        wanted |= BACKBONE if getattr(plain, "backbone_config", None) is None else {}
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
    words = min(_of(config, "vocab_size", VOCABULARY), VOCABULARY)
    ids = torch.randint(min(5, words - 1), words, (BATCH, LENGTH), generator=generator)
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
    found.append({"pixel_values": image.flatten(1)[:, None].expand(-1, 4, -1)[..., :768]})
    needed = {
        n: p
        for n, p in inspect.signature(model.forward).parameters.items()
        if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD
    }
    named = named_inputs(config, ids, image, generator)
    also = {n: named[n] for n in needed if n in named}
    found += [also, also | texts]
    for name in ("bbox", "inputs_embeds", "hidden_states", "encoder_hidden_states", "audio_codes"):
        if name in takes:
            found += [texts | also | {name: named[name]}, also | {name: named[name]}]
    if "use_cache" in takes:  # a cache of a few layers may have none of the kind that it asks for its length
        also["use_cache"] = False
    return [also | arguments for arguments in found if arguments and set(arguments) <= takes]


def named_inputs(config, ids, image, generator):
    """What parameters of `forward` without a default may be."""
    import torch

    width = _of(config, "hidden_size", _of(config, "d_model", WIDTH))
    hidden = torch.randn(BATCH, LENGTH, width if isinstance(width, int) else WIDTH, generator=generator)
    corners = torch.tensor([0, 0, 50, 60]).expand(BATCH, LENGTH, 4)
    patches = (
        3 * _of(config, "temporal_patch_size", 1) * _of(config, "patch_size", 8) ** 2
        if isinstance(_of(config, "patch_size", 8), int)
        else 192
    )
    return {
        "input_ids": ids,
        "pixel_values": image,
        "bbox": corners,
        "attention_mask": torch.ones_like(ids),
        **dict.fromkeys(
            ("inputs_embeds", "hidden_states", "encoder_hidden_states", "query_embeds", "input_features", "inputs"), hidden
        ),
        "grid_thw": torch.tensor([[1, 4, 4]]),
        "image_grid_thw": torch.tensor([[1, 4, 4]]),
        "pixel_values_flat": torch.randn(16, patches, generator=generator),
        "audio_codes": torch.zeros(BATCH, 4, LENGTH, dtype=torch.long),
        "position_ids": torch.arange(LENGTH).expand(BATCH, -1),
        "decoder_input_ids": ids,
    }


def build(make, config):
    import torch

    random.seed(0)
    torch.manual_seed(0)
    return make(config)


def size(make, config):
    """The number of its parameters, from a model without memory: filling one of 10^9 takes minutes. None where it has none."""
    import torch

    try:
        with torch.device("meta"):
            return sum(p.numel() for p in make(config).parameters())
    except Exception:  # it computes with the values of its parameters
        return None


def makers(config, heads):
    """Name, head and function of what makes a model of a configuration: automatic classes, or else the classes of its own module."""
    import transformers

    found = False
    for head in heads:
        auto = getattr(transformers, f"AutoModelFor{head}" if head else "AutoModel", None)
        if auto is not None and type(config) in auto._model_mapping:
            found = True
            yield auto.__name__, head, auto.from_config
    if found and heads != ("",):
        return
    module = type(config).__module__
    with contextlib.suppress(ImportError):
        modeling = importlib.import_module(module.replace(".configuration_", ".modeling_"))
        classes = [c for c in vars(modeling).values() if inspect.isclass(c) and issubclass(c, transformers.PreTrainedModel)]
        for made in classes:
            if (
                made.config_class is type(config)
                and made.__module__ == modeling.__name__
                and not made.__name__.endswith("PreTrainedModel")
            ):
                yield made.__name__, "", made


def plainly(family, heads):
    """Name, function, configuration and arguments with which PyTorch runs a family."""
    import transformers

    first = None
    for left_out in WITHOUT:
        try:
            config = small(transformers.CONFIG_MAPPING[family], family, left_out)
            config.architectures = []
            candidates = list(makers(config, heads))
        except Exception as error:
            first = first or short(error)
            continue
        if not candidates:
            raise Absent("no class has it")
        for name, head, make in candidates:
            try:
                parameters = size(make, config)
                if parameters is not None and parameters > LARGEST:
                    raise Absent(f"{parameters} parameters")
                model = build(make, config)
            except Exception as error:
                first = first or f"{head or name}: {error if isinstance(error, Absent) else short(error)}"
                continue
            model.train()
            for arguments in given(model, config, head):
                try:
                    loss_of(model(**arguments)).backward()
                    return name, make, config, arguments
                except Exception as error:
                    first = first or f"{head or name}: {short(error)}"
    raise Absent(first)


class Late(BaseException):
    """Passes through what is tried."""


@contextlib.contextmanager
def within(seconds):
    """What takes longer is absent: some models are filled for minutes."""

    def late(*_):
        raise Late

    signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    except Late:
        raise Absent(f"PyTorch takes more than {seconds} s") from None
    finally:
        signal.alarm(0)


def run(family, heads):
    with within(60):
        name, make, config, arguments = plainly(family, heads)
    found = trained(lambda: build(make, config), arguments, sampled(family, 12))
    return found | {"detail": name}


def cases(everything=False):
    import transformers

    for family in sorted(transformers.CONFIG_MAPPING):
        if everything:
            for head in (*HEADS, ""):
                yield Case("transformers", f"{family} {head}", functools.partial(run, family, (head,)))
        else:
            yield Case("transformers", family, functools.partial(run, family, (*HEADS, "")))
