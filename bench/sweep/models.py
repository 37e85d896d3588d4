"""Training steps and `generate` of families of models, as transformers makes them from small configurations, beside PyTorch's own.

One recipe sets what the configuration of a family has of widths, heads, layers and vocabulary; a family that cannot be built by it is
skipped, with the reason.
"""

import contextlib
import functools
import itertools

from .cases import Calls, Case, Skip

# Causal language models, then masked ones, those of sequences to sequences, and of images.
CAUSAL = (
    "gpt2 llama mistral qwen2 qwen3 gemma gemma2 gemma3_text phi phi3 opt gpt_neo gpt_neox gptj bloom falcon mpt codegen olmo olmo2 "
    "stablelm starcoder2 cohere granite persimmon glm glm4 smollm3 helium biogpt xglm ctrl openai-gpt mixtral qwen2_moe olmoe "
    "nemotron arcee ernie4_5 mamba mamba2 rwkv recurrent_gemma deepseek_v3 exaone4 jamba bamba lfm2 gpt_oss"
).split()
MASKED = (
    "bert roberta distilbert albert electra deberta deberta-v2 mobilebert mpnet xlm-roberta camembert squeezebert convbert fnet funnel "
    "layoutlm megatron-bert nystromformer rembert roformer modernbert ernie esm"
).split()
PAIRS = "t5 mt5 bart mbart pegasus marian blenderbot blenderbot-small m2m_100 led prophetnet umt5 fsmt".split()
IMAGES = (
    "vit deit beit swin swinv2 convnext convnextv2 resnet regnet mobilenet_v1 mobilenet_v2 mobilevit levit poolformer segformer "
    "focalnet dinov2 dinov2_with_registers bit cvt pvt pvt_v2 vit_msn data2vec-vision swiftformer"
).split()
WIDTHS, LAYERS, HEADS, VOCABULARY, LENGTH, BATCH = (64, 256), 2, 4, 256, 64, 4


def sizes(width):
    """What the attributes are called in the configurations of the families."""
    return {
        **dict.fromkeys(
            ("hidden_size", "n_embd", "d_model", "dim", "embed_dim", "embedding_size", "word_embed_proj_dim", "embd_pdim"),
            width,
        ),
        **dict.fromkeys(
            (
                "num_hidden_layers",
                "n_layer",
                "num_layers",
                "n_layers",
                "encoder_layers",
                "decoder_layers",
                "num_decoder_layers",
                "num_encoder_layers",
            ),
            LAYERS,
        ),
        **dict.fromkeys(
            (
                "num_attention_heads",
                "n_head",
                "num_heads",
                "n_heads",
                "encoder_attention_heads",
                "decoder_attention_heads",
                "num_encoder_attention_heads",
                "num_decoder_attention_heads",
            ),
            HEADS,
        ),
        **dict.fromkeys(("num_key_value_heads", "num_kv_heads"), 2),
        **dict.fromkeys(
            (
                "intermediate_size",
                "n_inner",
                "ffn_dim",
                "d_ff",
                "encoder_ffn_dim",
                "decoder_ffn_dim",
                "dff",
                "hidden_dim",
                "ffn_hidden_size",
                "moe_intermediate_size",
                "shared_expert_intermediate_size",
            ),
            2 * width,
        ),
        **dict.fromkeys(("head_dim", "d_kv", "global_head_dim"), width // HEADS),
        **dict.fromkeys(("rotary_dim",), 8),
        **dict.fromkeys(
            ("max_position_embeddings", "n_positions", "n_ctx", "seq_length", "max_seq_len", "context_length"), 128
        ),
        **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts"), 4),
        **dict.fromkeys(("num_experts_per_tok",), 2),
        **dict.fromkeys(("vocab_size", "src_vocab_size", "tgt_vocab_size", "vocab_size_per_layer_input"), VOCABULARY),
        **dict.fromkeys(("image_size",), 32),
        **dict.fromkeys(("patch_size",), 8),
        **dict.fromkeys(("sliding_window", "attention_window", "local_window_size"), 32),
        **dict.fromkeys(("lru_width", "rnn_width"), width),
        **dict.fromkeys(("q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "v_head_dim"), 16),
        **dict.fromkeys(("qk_rope_head_dim",), 8),
        **dict.fromkeys(("num_labels",), 10),
    }


# Families whose shapes depend on each other: what they need beside the recipe. None leaves the value of the configuration.
OWN = {
    "gpt_neo": {"attention_types": [[["global", "local"], 1]], "window_size": 16},
    "swin": {"embed_dim": 16, "depths": [1, 1], "num_heads": [2, 2], "patch_size": 4, "window_size": 4, "hidden_size": None},
    "swinv2": {"embed_dim": 16, "depths": [1, 1], "num_heads": [2, 2], "patch_size": 4, "window_size": 4, "hidden_size": None},
    "focalnet": {"embed_dim": 16, "depths": [1, 1], "hidden_sizes": [16, 32], "focal_levels": [2, 2], "focal_windows": [3, 3], "patch_size": 4},
    "convnext": {"hidden_sizes": [32, 32, 32, 32], "depths": [1, 1, 1, 1], "patch_size": 4},
    "convnextv2": {"hidden_sizes": [32, 32, 32, 32], "depths": [1, 1, 1, 1], "patch_size": 4},
    "resnet": {"embedding_size": 16, "hidden_sizes": [16, 32], "depths": [1, 1], "layer_type": "basic"},
    "regnet": {"embedding_size": 16, "hidden_sizes": [16, 32], "depths": [1, 1], "groups_width": 8},
    "bit": {"num_groups": 4, "embedding_size": 32, "hidden_sizes": [32, 64], "depths": [1, 1]},
    "mamba": {"state_size": 8, "time_step_rank": 4, "intermediate_size": 128, "expand": 2},
    "mamba2": {"state_size": 8, "num_heads": 8, "head_dim": 16, "expand": 2, "n_groups": 1},
    "rwkv": {"attention_hidden_size": 64, "context_length": 128},
    "deepseek_v3": {"head_dim": 8, "num_key_value_heads": HEADS},
    "openai-gpt": {"n_positions": 128},
    "deberta": {"position_biased_input": True},
    "funnel": {"block_sizes": [1, 1], "d_inner": 128, "d_head": 16},
    "dinov2": {"mlp_ratio": 2},
    "gpt_oss": {"layer_types": ["sliding_attention", "full_attention"]},
    "lfm2": {"layer_types": ["conv", "full_attention"], "full_attn_idxs": None},
    "led": {"attention_window": [32, 32], "max_encoder_position_embeddings": 128, "max_decoder_position_embeddings": 128},
    "umt5": {"num_heads": HEADS},
    "xlm-roberta": {"max_position_embeddings": 130},
    "roberta": {"max_position_embeddings": 130},
    "camembert": {"max_position_embeddings": 130},
    "mobilebert": {"true_hidden_size": 32, "intra_bottleneck_size": 32, "embedding_size": 32},
    "levit": {"hidden_sizes": [32, 48, 64], "num_attention_heads": [2, 2, 2], "key_dim": [8, 8, 8], "depths": [1, 1, 1], "image_size": 64, "patch_size": 16},
    "beit": {"patch_size": 8},
    "nystromformer": {"num_landmarks": 8, "segment_means_seq_len": 64},
}  # fmt: skip
TOKENS = {
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
    "sep_token_id": 3,
    "mask_token_id": 4,
}


def _has(plain, name):
    """Whether a configuration has an attribute that is one for all layers."""
    try:
        return hasattr(plain, name)
    except Exception:  # it is one for each layer
        return False


def changes_of(made, plain, family, width):
    """By which the plain configuration of the class becomes small: the recipe's sizes and tokens that it has, and the family's own."""
    renamed = {public: name for name, public in getattr(made, "attribute_map", {}).items()}
    wanted = {name: value for name, value in sizes(width).items() if _has(plain, name) or name in renamed}
    # A number takes the place of a number, or of nothing; but no window where there is none.
    for name in list(wanted):
        plainly = getattr(plain, name, None) if _has(plain, name) else None
        number = isinstance(plainly, int) and not isinstance(plainly, bool)
        if not number and name != "vocab_size" and (plainly is not None or "window" in name):
            del wanted[name]
    wanted |= {name: value for name, value in TOKENS.items() if hasattr(plain, name) or family in PAIRS}
    return wanted | OWN.get(family, {})


def with_changes(made, wanted):
    wanted = {name: value for name, value in wanted.items() if value is not None}
    try:
        return made(**wanted)
    except NotImplementedError:  # one whose encoder and decoder have layers of their own
        del wanted["num_hidden_layers"]
        return made(**wanted)


def configuration(family, width):
    from transformers import CONFIG_MAPPING

    try:
        made = CONFIG_MAPPING[family]
        plain = made()
    except Exception as error:
        raise Skip(f"no configuration: {type(error).__name__}: {str(error)[:120]}") from None
    try:
        return with_changes(made, changes_of(made, plain, family, width))
    except Exception as error:
        raise Skip(f"its configuration: {type(error).__name__}: {str(error)[:120]}") from None


def built(family, width):
    """A model, and a function that gives its loss."""
    import torch
    import transformers

    torch.manual_seed(0)
    kind = next(k for k in (CAUSAL, MASKED, PAIRS, IMAGES) if family in k)
    if kind is CAUSAL:
        auto = transformers.AutoModelForCausalLM
    elif kind is MASKED:
        auto = transformers.AutoModelForMaskedLM
    elif kind is PAIRS:
        auto = transformers.AutoModelForSeq2SeqLM
    else:
        auto = transformers.AutoModelForImageClassification
    config = configuration(family, width)
    config.architectures = []
    try:
        model = auto.from_config(config)
    except Exception as error:
        raise Skip(f"not built: {type(error).__name__}: {str(error).splitlines()[0][:120]}") from None
    size = sum(p.numel() for p in model.parameters())
    if size > 20_000_000:
        raise Skip(f"too large: {size} parameters")
    if kind is IMAGES:
        channels = getattr(config, "num_channels", 3)
        pixels = getattr(config, "image_size", 32)
        x = torch.randn(BATCH, channels, *(pixels if isinstance(pixels, (list, tuple)) else (pixels, pixels)))
        y = torch.randint(0, config.num_labels, (BATCH,))
        return model, {"pixel_values": x, "labels": y}
    ids = torch.randint(5, VOCABULARY, (BATCH, LENGTH))
    given = {"input_ids": ids, "labels": ids}
    if kind is MASKED:  # one sequence is shorter than the others
        given["attention_mask"] = torch.ones_like(ids)
        given["attention_mask"][0, LENGTH * 3 // 4 :] = 0
    return model, given


def autocast(dtype):
    import torch

    return torch.autocast("cpu", torch.bfloat16) if dtype == "bf16 autocast" else contextlib.nullcontext()


def compared(found, within):
    """The calls; there is no case where PyTorch does not run its own."""
    try:
        found["PyTorch"]()
    except Exception as error:
        raise Skip(f"PyTorch: {type(error).__name__}: {str(error).splitlines()[0][:120]}") from None
    return Calls(found, within)


def step_calls(family, dtype, width):
    import torch

    from .tensors import WITHIN

    found = {}
    for name, within in WITHIN.items():
        with within():
            model, given = built(family, width)
            model.train()
            optimizer = torch.optim.AdamW(model.parameters(), 1e-3)

        def step(model=model, given=given, optimizer=optimizer):
            optimizer.zero_grad()
            with autocast(dtype):
                loss = model(**given).loss
            loss.backward()
            optimizer.step()

        found[name] = step
    return compared(found, WITHIN)


def generate_calls(family, dtype, width):
    import torch

    from .tensors import WITHIN

    found = {}
    for name, within in WITHIN.items():
        with within():
            model, given = built(family, width)
        if not hasattr(model, "generate"):
            raise Skip("nothing to generate")
        model.eval()
        prompt = given["input_ids"][:1, :16]

        def generate(model=model, prompt=prompt):
            with torch.no_grad(), autocast(dtype):
                model.generate(
                    prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=16, min_new_tokens=16, do_sample=False
                )

        found[name] = generate
    return compared(found, WITHIN)


def cases():
    for family in (*CAUSAL, *MASKED, *PAIRS, *IMAGES):
        for (i, width), (j, dtype) in itertools.product(enumerate(WIDTHS), enumerate(("f32", "bf16 autocast"))):
            calls = {"step": step_calls} | ({"generate": generate_calls} if family in (*CAUSAL, *PAIRS) else {})
            for k, (what, make) in enumerate(calls.items()):
                yield Case(
                    "models", family, dtype, f"{width} wide", "gaussian", what,
                    functools.partial(make, family, dtype, width), i + j + k,
                )  # fmt: skip
