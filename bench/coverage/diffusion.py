"""diffusers' networks from small configurations: a step of AdamW; and its schedulers: noise that is added and taken away."""

import functools

from .cases import Absent, Case
from .training import short, trained

BLOCKS = {"block_out_channels": (16, 32), "norm_num_groups": 4}


def networks():
    """Class, configuration and arguments."""
    import torch

    generator = torch.Generator().manual_seed(3)

    def normal(*shape):
        return torch.randn(*shape, generator=generator)

    time, classes = torch.tensor([3, 700]), torch.tensor([1, 2])
    image, latent, text = normal(2, 3, 16, 16), normal(2, 4, 16, 16), normal(2, 7, 32)
    yield (
        "UNet2DModel",
        {
            "sample_size": 16,
            "layers_per_block": 1,
            "attention_head_dim": 8,
            "down_block_types": ("DownBlock2D", "AttnDownBlock2D"),
            "up_block_types": ("AttnUpBlock2D", "UpBlock2D"),
            **BLOCKS,
        },
        {"sample": image, "timestep": time},
    )
    conditional = {
        "sample_size": 16,
        "layers_per_block": 1,
        "attention_head_dim": 8,
        "cross_attention_dim": 32,
        "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D"),
        **BLOCKS,
    }
    yield (
        "UNet2DConditionModel",
        {**conditional, "up_block_types": ("CrossAttnUpBlock2D", "UpBlock2D")},
        {"sample": latent, "timestep": time, "encoder_hidden_states": text},
    )
    yield (
        "ControlNetModel",
        {k: v for k, v in conditional.items() if k != "sample_size"} | {"conditioning_embedding_out_channels": (16, 32)},
        {"sample": latent, "timestep": time, "encoder_hidden_states": text, "controlnet_cond": normal(2, 3, 32, 32)},
    )
    yield (
        "UNetMotionModel",
        {
            "block_out_channels": (16, 32),
            "norm_num_groups": 4,
            "layers_per_block": 1,
            "cross_attention_dim": 32,
            "num_attention_heads": 2,
            "motion_num_attention_heads": 2,
            "motion_max_seq_length": 8,
            "use_motion_mid_block": False,
            "down_block_types": ("DownBlockMotion", "CrossAttnDownBlockMotion"),
            "up_block_types": ("CrossAttnUpBlockMotion", "UpBlockMotion"),
        },
        {"sample": normal(1, 4, 3, 8, 8), "timestep": time[:1], "encoder_hidden_states": text[:1]},
    )
    yield (
        "UNet3DConditionModel",
        {
            **conditional,
            "down_block_types": ("CrossAttnDownBlock3D", "DownBlock3D"),
            "up_block_types": ("UpBlock3D", "CrossAttnUpBlock3D"),
        },
        {"sample": normal(1, 4, 3, 8, 8), "timestep": time[:1], "encoder_hidden_states": text[:1]},
    )
    yield (
        "UNet1DModel",
        {"sample_size": 32, "block_out_channels": (16, 16, 16), "in_channels": 4, "out_channels": 4, "extra_in_channels": 32},
        {"sample": normal(2, 4, 32), "timestep": time},
    )
    coder = {"down_block_types": ("DownEncoderBlock2D",) * 2, "up_block_types": ("UpDecoderBlock2D",) * 2, **BLOCKS}
    yield "AutoencoderKL", coder, {"sample": image}
    yield "VQModel", coder | {"num_vq_embeddings": 32}, {"sample": image}
    yield (
        "AsymmetricAutoencoderKL",
        {
            "down_block_types": ("DownEncoderBlock2D",) * 2,
            "up_block_types": ("UpDecoderBlock2D",) * 2,
            "down_block_out_channels": (16, 32),
            "up_block_out_channels": (16, 32),
            "layers_per_down_block": 1,
            "layers_per_up_block": 1,
            "norm_num_groups": 4,
        },
        {"sample": image},
    )
    yield (
        "AutoencoderTiny",
        {
            "encoder_block_out_channels": (16, 16),
            "decoder_block_out_channels": (16, 16),
            "num_encoder_blocks": (1, 1),
            "num_decoder_blocks": (1, 1),
        },
        {"sample": image},
    )
    yield (
        "AutoencoderDC",
        {
            "in_channels": 3,
            "latent_channels": 4,
            "attention_head_dim": 8,
            "encoder_block_types": ("ResBlock", "EfficientViTBlock"),
            "decoder_block_types": ("ResBlock", "EfficientViTBlock"),
            "encoder_block_out_channels": (16, 32),
            "decoder_block_out_channels": (16, 32),
            "encoder_layers_per_block": (1, 1),
            "decoder_layers_per_block": (1, 1),
            "encoder_qkv_multiscales": ((), (5,)),
            "decoder_qkv_multiscales": ((), (5,)),
            "upsample_block_type": "interpolate",
            "downsample_block_type": "stride_conv",
        },
        {"sample": image},
    )
    yield (
        "AutoencoderKLTemporalDecoder",
        {"block_out_channels": (32, 32), "down_block_types": ("DownEncoderBlock2D",) * 2},
        {"sample": image, "num_frames": 2},
    )
    heads = {"num_attention_heads": 2, "attention_head_dim": 16, "num_layers": 2}
    yield (
        "DiTTransformer2DModel",
        {**heads, "in_channels": 4, "sample_size": 16, "num_embeds_ada_norm": 1000},
        {"hidden_states": latent, "timestep": time, "class_labels": classes},
    )
    yield (
        "PixArtTransformer2DModel",
        {**heads, "in_channels": 4, "out_channels": 8, "sample_size": 16, "cross_attention_dim": 32, "caption_channels": 32},
        {
            "hidden_states": latent,
            "timestep": time,
            "encoder_hidden_states": text,
            "added_cond_kwargs": {"resolution": None, "aspect_ratio": None},
        },
    )
    yield (
        "Transformer2DModel",
        {**heads, "in_channels": 16, "norm_num_groups": 4, "cross_attention_dim": 32},
        {"hidden_states": normal(2, 16, 8, 8), "encoder_hidden_states": text},
    )
    yield "TransformerTemporalModel", {**heads, "in_channels": 32}, {"hidden_states": normal(4, 32, 8, 8), "num_frames": 2}
    yield (
        "SD3Transformer2DModel",
        {
            **heads,
            "sample_size": 16,
            "patch_size": 2,
            "in_channels": 4,
            "out_channels": 4,
            "joint_attention_dim": 32,
            "caption_projection_dim": 32,
            "pooled_projection_dim": 24,
            "pos_embed_max_size": 24,
        },
        {"hidden_states": latent, "timestep": time, "encoder_hidden_states": text, "pooled_projections": normal(2, 24)},
    )
    ids = torch.zeros(7, 3), torch.zeros(16, 3)
    yield (
        "FluxTransformer2DModel",
        {
            **heads,
            "num_layers": 1,
            "num_single_layers": 1,
            "in_channels": 4,
            "joint_attention_dim": 32,
            "pooled_projection_dim": 24,
            "axes_dims_rope": (4, 4, 8),
        },
        {
            "hidden_states": normal(2, 16, 4),
            "encoder_hidden_states": text,
            "pooled_projections": normal(2, 24),
            "timestep": time / 1000,
            "img_ids": ids[1],
            "txt_ids": ids[0],
        },
    )
    yield (
        "AuraFlowTransformer2DModel",
        {
            "sample_size": 16,
            "in_channels": 4,
            "out_channels": 4,
            "num_mmdit_layers": 1,
            "num_single_dit_layers": 1,
            "attention_head_dim": 16,
            "num_attention_heads": 2,
            "joint_attention_dim": 32,
            "caption_projection_dim": 32,
            "pos_embed_max_size": 256,
        },
        {"hidden_states": latent, "timestep": time / 1000, "encoder_hidden_states": text},
    )
    yield (
        "HunyuanDiT2DModel",
        {
            "sample_size": 16,
            "hidden_size": 32,
            **heads,
            "in_channels": 4,
            "cross_attention_dim": 32,
            "cross_attention_dim_t5": 32,
            "pooled_projection_dim": 16,
            "text_len": 7,
            "text_len_t5": 7,
            "activation_fn": "gelu-approximate",
        },
        {
            "hidden_states": latent,
            "timestep": time.float(),
            "encoder_hidden_states": text,
            "text_embedding_mask": torch.ones(2, 7),
            "encoder_hidden_states_t5": text,
            "text_embedding_mask_t5": torch.ones(2, 7),
            "image_meta_size": torch.ones(2, 6),
            "style": torch.zeros(2, dtype=torch.long),
            "image_rotary_emb": [torch.ones(64, 16), torch.zeros(64, 16)],
        },
    )
    yield (
        "PriorTransformer",
        {**heads, "embedding_dim": 32, "num_embeddings": 7, "additional_embeddings": 4},
        {"hidden_states": normal(2, 32), "timestep": time, "proj_embedding": normal(2, 32), "encoder_hidden_states": text},
    )
    yield (
        "CogVideoXTransformer3DModel",
        {
            **heads,
            "in_channels": 4,
            "out_channels": 4,
            "time_embed_dim": 8,
            "text_embed_dim": 32,
            "sample_width": 8,
            "sample_height": 8,
            "sample_frames": 9,
            "patch_size": 2,
            "temporal_compression_ratio": 4,
            "max_text_seq_length": 7,
        },
        {"hidden_states": normal(2, 3, 4, 8, 8), "encoder_hidden_states": text, "timestep": time},
    )
    yield (
        "LTXVideoTransformer3DModel",
        {**heads, "in_channels": 4, "out_channels": 4, "cross_attention_dim": 32, "caption_channels": 32},
        {
            "hidden_states": normal(2, 32, 4),
            "encoder_hidden_states": text,
            "timestep": time,
            "encoder_attention_mask": torch.ones(2, 7),
            "num_frames": 2,
            "height": 4,
            "width": 4,
        },
    )
    yield (
        "SanaTransformer2DModel",
        {
            **heads,
            "in_channels": 4,
            "out_channels": 4,
            "num_cross_attention_heads": 2,
            "cross_attention_head_dim": 16,
            "cross_attention_dim": 32,
            "caption_channels": 32,
            "sample_size": 16,
        },
        {"hidden_states": latent, "encoder_hidden_states": text, "timestep": time},
    )
    yield (
        "WanTransformer3DModel",
        {
            **heads,
            "in_channels": 4,
            "out_channels": 4,
            "text_dim": 32,
            "freq_dim": 32,
            "ffn_dim": 64,
            "rope_max_seq_len": 32,
            "cross_attn_norm": True,
        },
        {"hidden_states": normal(1, 4, 2, 8, 8), "timestep": time[:1], "encoder_hidden_states": text[:1]},
    )
    yield "StableCascadeUNet", {"in_channels": 4, "out_channels": 4, "conditioning_dim": 32, "block_out_channels": (32, 32), "num_attention_heads": (0, 2), "down_num_layers_per_block": (1, 1), "up_num_layers_per_block": (1, 1), "down_blocks_repeat_mappers": (1, 1), "up_blocks_repeat_mappers": (1, 1), "block_types_per_layer": (("SDCascadeResBlock", "SDCascadeTimestepBlock"), ("SDCascadeResBlock", "SDCascadeTimestepBlock", "SDCascadeAttnBlock")), "clip_text_in_channels": 32, "clip_text_pooled_in_channels": 32, "clip_image_in_channels": 32, "timestep_ratio_embedding_dim": 8, "switch_level": (False,)}, {"sample": latent, "timestep_ratio": time / 1000, "clip_text_pooled": normal(2, 1, 32), "clip_text": text, "clip_img": normal(2, 1, 32)}  # fmt: skip


def run(name):
    import diffusers

    settings, arguments = next((s, a) for n, s, a in networks() if n == name)
    return trained(lambda: getattr(diffusers, name)(**settings), arguments, True)


SCHEDULERS = """
DDIMScheduler DDPMScheduler DEISMultistepScheduler DPMSolverMultistepScheduler DPMSolverSinglestepScheduler EDMEulerScheduler
EulerAncestralDiscreteScheduler EulerDiscreteScheduler FlowMatchEulerDiscreteScheduler FlowMatchHeunDiscreteScheduler
HeunDiscreteScheduler IPNDMScheduler KDPM2AncestralDiscreteScheduler KDPM2DiscreteScheduler LCMScheduler LMSDiscreteScheduler
PNDMScheduler SASolverScheduler UniPCMultistepScheduler TCDScheduler
""".split()  # noqa: SIM905


def sampled_from(name):
    """A few steps of a scheduler, from noise, with a fixed prediction."""
    import diffusers
    import torch

    torch.manual_seed(0)
    scheduler = getattr(diffusers, name)()
    scheduler.set_timesteps(4)
    x, prediction = torch.randn(1, 3, 4, 4), torch.randn(1, 3, 4, 4)
    for t in scheduler.timesteps:
        if hasattr(scheduler, "scale_model_input"):
            scheduler.scale_model_input(x, t)
        x = scheduler.step(prediction, t, x).prev_sample
    return x


def run_scheduler(name):
    import repmath.torch

    try:
        sampled_from(name)
    except Exception as error:
        raise Absent(short(error)) from None
    with repmath.torch.reproducible(strict=True):
        return {"digest": repmath.torch.digest(sampled_from(name))}


def cases():
    for name, _, _ in networks():
        yield Case("diffusers", name, functools.partial(run, name))
    for name in SCHEDULERS:
        yield Case("diffusers", name, functools.partial(run_scheduler, name))
