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
from .families import BACKBONE, FAMILIES, SECTIONED
from .inputs import WIDTH, given
from .training import loss_of, sampled, short, trained

HEADS = """
CausalLM MaskedLM Seq2SeqLM ImageClassification ImageTextToText Pretraining SpeechSeq2Seq CTC AudioClassification SequenceClassification
ObjectDetection SemanticSegmentation UniversalSegmentation DepthEstimation VideoClassification TokenClassification
""".split()  # noqa: SIM905
LARGEST = 80_000_000


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
        backbone = getattr(plain, "backbone_config", None)
        wanted |= BACKBONE if backbone is None or getattr(backbone, "model_type", "") == "timm_backbone" else {}
    config = with_changes(made, wanted | FAMILIES.get(family, {}))
    if family in SECTIONED:
        _with_sections(config)
    return config


def _with_sections(config):
    """Rotary embeddings of places in time, height and width have as many frequencies together as half a head."""
    rope = config.rope_parameters
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    half = int(width * rope.get("partial_rotary_factor", 1)) // 2
    rope["mrope_section"] = [half - 2 * (half // 3), half // 3, half // 3]


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
                if parameters is None and left_out in WITHOUT[-2:]:
                    raise Absent("its size is not known, and its widths are not small")
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

    signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    except Late:
        raise Absent(f"PyTorch takes more than {seconds} s") from None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


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
