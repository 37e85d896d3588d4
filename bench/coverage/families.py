"""What families of transformers need beside the recipe of sizes: shapes that depend on each other, or parts that the recipe leaves large."""

RESNET = {
    "model_type": "resnet",
    "embedding_size": 16,
    "hidden_sizes": [16, 16, 32, 32],
    "depths": [1, 1, 1, 1],
    "layer_type": "basic",
    "out_features": ["stage2", "stage3", "stage4"],
}
EVERY_STAGE = {"out_features": ["stage1", "stage2", "stage3", "stage4"]}
BACKBONE = {"use_timm_backbone": False, "use_pretrained_backbone": False, "backbone_config": RESNET}
SWIN = {"model_type": "swin", "embed_dim": 16, "depths": [1] * 4, "num_heads": [2] * 4, "window_size": 4, "patch_size": 4, "image_size": 64, **EVERY_STAGE}  # fmt: skip
DINO = {
    "model_type": "dinov2",
    "hidden_size": 64,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "image_size": 32,
    "patch_size": 8,
    "reshape_hidden_states": False,
    **EVERY_STAGE,
}
DETR = {
    "backbone_config": RESNET,
    "encoder_in_channels": [16, 32, 32],
    "encoder_layers": 1,
    "decoder_layers": 2,
    "encoder_hidden_dim": 64,
    "d_model": 64,
    "decoder_in_channels": [64] * 3,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "num_queries": 12,
}
DEPTH = {"backbone_config": DINO, "patch_size": 8, "reassemble_hidden_size": 64, "neck_hidden_sizes": [16, 16, 32, 32], "fusion_hidden_size": 32}  # fmt: skip
SERIES = {
    "prediction_length": 4,
    "context_length": 12,
    "lags_sequence": [1, 2],
    "label_length": 4,
    "moving_average": 3,
    "num_time_features": 1,
}
SEGMENTS = {
    "feature_size": 32,
    "mask_feature_size": 32,
    "hidden_dim": 32,
    "encoder_feedforward_dim": 64,
    "dim_feedforward": 64,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "num_attention_heads": 4,
    "num_queries": 8,
}
WINDOW = {"sliding_window": 32}
# A value of None leaves what the configuration has.
FAMILIES = {
    **dict.fromkeys("rt_detr rt_detr_v2 d_fine deimv2 pp_doclayout_v2 pp_doclayout_v3 pp_doclayout_v4".split(), DETR),  # noqa: SIM905
    **dict.fromkeys("depth_anything prompt_depth_anything zoedepth tipsv2_dpt".split(), DEPTH),  # noqa: SIM905
    **dict.fromkeys(
        "vibevoice_acoustic_tokenizer vibevoice_acoustic_tokenizer_encoder vibevoice_acoustic_tokenizer_decoder".split(),  # noqa: SIM905
        {"num_filters": 2, "depths": [1] * 7},
    ),
    **dict.fromkeys("autoformer informer time_series_transformer".split(), SERIES),  # noqa: SIM905
    **dict.fromkeys(
        "mimi mimi_encoder mimi_decoder pocket_tts_audio_tokenizer pocket_tts_audio_tokenizer_encoder pocket_tts_audio_tokenizer_decoder".split(),  # noqa: SIM905
        {"upsample_groups": 64},
    ),
    "axk1": {"head_dim": 8, "qk_head_dim": 24},
    "longcat_flash": {"head_dim": 8, "qk_head_dim": 24},
    "cohere_compass_text": {"rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 10000.0}}},
    "dots1": {"n_routed_experts": 4, "num_experts_per_tok": 2, "n_shared_experts": 1},
    "eomt": {"num_blocks": 1, "num_queries": 8},
    "eomt_dinov3": {"num_blocks": 1, "num_queries": 8},
    "gemma3n_text": {"num_kv_shared_layers": 0, "layer_types": ["sliding_attention", "full_attention"], "vocab_size_per_layer_input": 256, "laurel_rank": 8},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"], "num_dense_layers": 1},
    "luke": {"entity_vocab_size": 64, "entity_emb_size": 32},
    "mask2former": {"backbone_config": SWIN, **SEGMENTS},
    "maskformer": {"backbone_config": SWIN, "fpn_feature_size": 32, "mask_feature_size": 32},
    "nystromformer": {"segment_means_seq_len": 24, "num_landmarks": 4},
    "perceiver": {"d_latents": 64, "num_latents": 16, "num_self_attends_per_block": 2, "qk_channels": 64, "v_channels": 64},
    "reformer": {
        "is_decoder": True,
        "attn_layers": ["local", "lsh"],
        "axial_pos_embds": False,
        "local_attn_chunk_length": 8,
        "lsh_attn_chunk_length": 8,
        "attention_head_size": 16,
        "num_buckets": 4,
    },
    "sam2_hiera_det_model": {
        "hidden_size": 16,
        "num_attention_heads": 1,
        "embed_dim_per_stage": [16, 32, 64, 128],
        "num_attention_heads_per_stage": [1, 2, 4, 8],
        "blocks_per_stage": [1, 1, 2, 1],
        "global_attention_blocks": [3],
        "window_size_per_stage": [4, 4, 4, 4],
        "image_size": [32, 32],
    },
    "sam2_prompt_encoder": {"patch_size": 16},
    "sam2_vision_model": {"backbone_channel_list": [128, 64, 32, 16], "backbone_feature_sizes": [[8, 8], [4, 4], [2, 2]], "fpn_hidden_size": 64},
    "sam3_vision_model": {"fpn_hidden_size": 64},
    "sam3_vit_model": {"window_size": 2, "global_attn_indexes": [1], "pretrain_image_size": 32},
    "sam_hq_vision_model": {"output_channels": 64, "num_pos_feats": 32},
    "sam_vision_model": {"output_channels": 64, "num_pos_feats": 32},
    "step3p5": WINDOW,
    "step3p7": WINDOW,
    "swin2sr": {"image_size": 16, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 2], "num_layers": None},
    "t5gemma2_decoder": {"dropout_rate": 0.0},
    "t5gemma2_encoder": {"dropout_rate": 0.0},
    "t5gemma2_text": {"dropout_rate": 0.0},
    "udop": {"decoder_start_token_id": 0},
    "upernet": {"backbone_config": RESNET | EVERY_STAGE, "hidden_size": 32},
    "vits": {
        "flow_size": 32,
        "spectrogram_bins": 33,
        "upsample_initial_channel": 32,
        "resblock_kernel_sizes": [3],
        "resblock_dilation_sizes": [[1, 3]],
        "prior_encoder_num_flows": 1,
        "posterior_encoder_num_wavenet_layers": 2,
        "prior_encoder_num_wavenet_layers": 2,
    },
    "vjepa2": {"pred_hidden_size": 64, "pred_num_attention_heads": 4, "pred_num_hidden_layers": 2, "frames_per_clip": 4, "crop_size": 32, "patch_size": 8},
    "xmod": {"default_language": "en_XX"},
    "yolos": {"image_size": [32, 32], "patch_size": 8, "num_detection_tokens": 8},
    "zamba": {"layers_block_type": ["linear_attention", "linear_attention", "hybrid", "hybrid"], "num_hidden_layers": 4},
    "zamba2": {"layers_block_type": ["linear_attention", "linear_attention", "hybrid", "hybrid"], "num_hidden_layers": 4},
}  # fmt: skip
# Their text has rotary embeddings of several places, by default for larger heads.
SECTIONED = "qwen2_vl_text qwen2_5_vl_text qwen2_5_omni_text qwen2_5_omni_talker glm4v_text glm4v_moe_text glm_ocr_text glm_image_text".split()  # noqa: SIM905
