"""What the models of transformers may take: texts, images, films, sound, boxes, patches."""

import inspect

BATCH, LENGTH, WIDTH, VOCABULARY = 2, 24, 64, 256


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
    sound = torch.randn(BATCH, 4000, generator=generator)
    found += [{"input_values": sound}, {"input_values": sound[:, None]}, {"input_values": sound, "decoder_input_ids": ids}]
    for steps in (2 * _of(config, "max_source_positions", 64), 64):
        features = torch.randn(BATCH, bins, steps, generator=generator)
        found += [
            {"input_features": features, "decoder_input_ids": ids},
            {"input_features": features.mT, "decoder_input_ids": ids},
        ]
        found += [{"input_features": features}, {"input_features": features.mT}, {"input_values": features.mT}]
    found.append({"pixel_values": image.flatten(1)[:, None].expand(-1, 4, -1)[..., :768]})
    named = named_inputs(config, ids, image, generator)
    needed = (n for n, p in inspect.signature(model.forward).parameters.items() if p.default is p.empty)
    also = {n: named[n] for n in needed if n in named}
    found += [also, also | texts]
    for name in ("bbox", "inputs_embeds", "hidden_states", "encoder_hidden_states", "audio_codes"):
        if name in takes:
            found += [texts | also | {name: named[name]}, also | {name: named[name]}]
    if "use_cache" in takes:  # a cache of a few layers may have none of the kind that it asks for its length
        also["use_cache"] = False
    whole = [also | arguments for arguments in found if arguments and set(arguments) <= takes]
    return whole + list(of_a_kind(takes, config, ids, image, sound, generator))


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


def of_a_kind(takes, config, ids, image, sound, generator):
    """What some kinds of models take together, where they take the first of it."""
    import torch

    def normal(*shape):
        return torch.randn(*shape, generator=generator)

    side = _of(config, "patch_size", 8)
    side = side if isinstance(side, int) else side[-1]
    grid = torch.tensor([[1, 4, 4]])
    films = image[:, None].expand(-1, _of(config, "frames_per_clip", _of(config, "num_frames", 4)), -1, -1, -1)
    steps = _of(config, "context_length", 12) or 12
    steps = steps if isinstance(steps, int) else 12
    before = steps + max(_of(config, "lags_sequence", [0]))
    channels = _of(config, "num_input_channels", 1)
    series = (BATCH, before) if not hasattr(config, "num_input_channels") else (BATCH, steps, channels)
    ahead = _of(config, "prediction_length", 4) or 4
    kinds = []
    for frames in (_of(config, "temporal_patch_size", 1), 1):
        for flat in (normal(16, 3 * frames * side**2), normal(1, 16, 3 * frames * side**2), normal(16, 3, side, side)):
            kinds += [
                {name: grid, "hidden_states": flat, "pixel_values": flat, "merge_sizes": torch.tensor([2])}
                for name in ("grid_thw", "image_grid_thw")
            ]
    kinds += [
        {"past_values": normal(*series).abs()},
        {
            "past_values": normal(*series).abs(),
            "past_time_features": normal(BATCH, before, 1),
            "past_observed_mask": torch.ones(series),
            "future_values": normal(BATCH, ahead).abs(),
            "future_time_features": normal(BATCH, ahead, 1),
        },
        {
            "flattened_patches": normal(BATCH, 16, 2 + 3 * side**2),
            "attention_mask": torch.ones(BATCH, 16),
            "decoder_input_ids": ids,
        },
        {
            "flattened_patches": normal(BATCH, 16, 2 + 768).clamp(0, 1),
            "attention_mask": torch.ones(BATCH, 16),
            "decoder_input_ids": ids,
        },
        {
            "qformer_input_ids": ids,
            "input_ids": ids,
            "pixel_values": image,
            "qformer_attention_mask": torch.ones_like(ids),
        },
        {
            "spatial_shapes": grid[:, 1:].expand(BATCH, 2),
            "pixel_values": normal(BATCH, 16, 3 * side**2),
            "pixel_attention_mask": torch.ones(BATCH, 16, dtype=torch.long),
            "input_ids": ids,
        },
        {"spectrogram": normal(BATCH, LENGTH, 80)},
        {
            "returns_to_go": normal(BATCH, LENGTH, 1),
            "states": normal(BATCH, LENGTH, _of(config, "state_dim", 17)),
            "actions": normal(BATCH, LENGTH, _of(config, "act_dim", 4)),
            "rewards": normal(BATCH, LENGTH, 1),
            "timesteps": torch.arange(LENGTH).expand(BATCH, -1),
            "attention_mask": torch.ones_like(ids),
        },
        {
            "visual_feats": normal(BATCH, 4, 2048),
            "visual_pos": torch.rand(BATCH, 4, 4, generator=generator),
            "input_ids": ids,
        },
        {"pixel_values_videos": films},
        {"pixel_values_videos": films, "input_ids": ids},
        {"pixel_values": films, "input_ids": ids},
        {"pixel_values": image[:, None].expand(-1, 2, -1, -1, -1)},
        {"input_ids": ids, "pixel_values": image[:, None]},
        {"input_ids": ids, "bbox": torch.tensor([0.0, 0.0, 0.5, 0.6]).expand(BATCH, LENGTH, 4), "labels": ids},
        {"decoder_input_values": normal(BATCH, 8, 80), "input_values": sound},
        {"decoder_input_values": normal(BATCH, 8, 80), "input_ids": ids},
    ]
    for bins in (64, 80, 128, 160, 320):
        for steps in (64, 128, 1024):
            features = normal(BATCH, steps, bins)
            kinds += [
                {"input_features": features},
                {"input_features": features, "input_ids": ids},
                {"input_features": features, "input_features_mask": torch.ones(BATCH, steps, dtype=torch.long)},
                {"input_features": features.mT, "input_features_mask": torch.ones(BATCH, steps, dtype=torch.long)},
                {"input_values": features},
                {"input_features": features[:, None]},
                {"input_features": features[:, None], "input_ids": ids},
            ]
    for kind in kinds:
        if next(iter(kind)) in takes:
            yield {name: value for name, value in kind.items() if name in takes} | (
                {"use_cache": False} if "use_cache" in takes else {}
            )
