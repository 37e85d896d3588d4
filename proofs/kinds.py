"""The kinds of proof: what kernels.def may ask for, RM_PROOF_<KIND>(function, ...), and the module that gives it.

This file is no part of the checker's digest, so that a new kind leaves the certificates of the others as they are: a certificate holds
the line of its own kind, and the digest of the kind's module and of everything that this imports.

A module may define any of analyse, measure, all_pieces, prove_piece and domain; what it does not define is that of prove.py."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    arithmetic: str  # of the kernel, which its name ends with: b64 (binary64) or dd (double-double)
    format: str  # of the argument: f32 or f64
    module: str = "prove"
    part: str = ""  # what the kernel's name has after the function's, if a function has several kernels of an arithmetic


KINDS = {
    "eval": Kind("b64", "f32"),
    "eval_g": Kind("b64", "f32"),
    "eval_g_within": Kind("b64", "f32"),
    "eval_within": Kind("b64", "f32", "gamma"),
    "turn": Kind("b64", "f64", "gamma", "_turn"),
    "turn_within": Kind("b64", "f64", "gamma", "_turn"),
    "eval_word": Kind("b64", "f32", "words"),
    "trig": Kind("b64", "f32", "trig"),
    "trig_large": Kind("b64", "f32", "trig", "_large"),
    "half_turn": Kind("b64", "f32", "halfturns"),
    "eval_2": Kind("b64", "f32", "two"),
    "row": Kind("b64", "f64", "prove", "_row"),
    "start": Kind("b64", "f64", "prove", "_start"),
    "pow_log": Kind("b64", "f32", "two", "_log"),
    "pow_exp": Kind("b64", "f32", "two", "_exp"),
    "tail": Kind("b64", "f32", "two", "_tail"),
    "dd": Kind("dd", "f64"),
    "dd_octaves": Kind("dd", "f64"),
    "dd_steps": Kind("dd", "f64"),
    "dd_steps_exact": Kind("dd", "f64", "steps"),
    "dd_steps_low": Kind("dd", "f64", "steps", "_sum"),
    "dd_scaled": Kind("dd", "f64", "scaled", "_large"),
    "dd_scaled_base": Kind("dd", "f64", "scaled_bases", "_large"),
    "dd_one_octave": Kind("dd", "f64", "octaves"),
    "dd_log_sum": Kind("dd", "f64", "logs", "_sum"),
    "dd_log_near": Kind("dd", "f64", "logs", "_near"),
    "dd_log_parts": Kind("dd", "f64", "log_parts", "_parts"),
    "dd_log_parts_near": Kind("dd", "f64", "log_parts", "_parts"),
    "dd_log_base": Kind("dd", "f64", "log_bases"),
    "dd_log_ndtr": Kind("dd", "f64", "log_ndtr"),
    "dd_log_known": Kind("dd", "f64", "logs"),
    "dd_log_range": Kind("dd", "f64", "log_ranges"),
    "dd_composed": Kind("dd", "f64", "composed"),
    "dd_composed_g": Kind("dd", "f64", "composed"),
    "dd_computed": Kind("dd", "f64", "computed"),
    "dd_computed_g": Kind("dd", "f64", "computed"),
    "dd_small": Kind("dd", "f64", "small", "_small"),
    "dd_limit": Kind("dd", "f64", "limit", "_limit"),
    "dd_step": Kind("dd", "f64", "quantiles"),
    "dd_step_small": Kind("dd", "f64", "quantiles", "_small"),
    "dd_2": Kind("dd", "f64", "pairs"),
    "dd_pow_log": Kind("dd", "f64", "powers", "_log"),
    "dd_pow_range": Kind("b64", "f64", "powers", "_range"),
    "dd_pow_exp": Kind("dd", "f64", "powers", "_exp"),
    "dd_sum": Kind("dd", "f64", "sums"),
    "dd_circle": Kind("dd", "f64", "circle"),
    "dd_angle": Kind("dd", "f64", "angles"),
    "dd_angle_turned": Kind("dd", "f64", "angles"),
    "dd_half_turn": Kind("dd", "f64", "halfturns"),
    "dd_half_turn_rest": Kind("dd", "f64", "halfturn_rests", "_reduction"),
    "dd_turns": Kind("dd", "f64", "angles", "_reduction"),
    "dd_turns_far": Kind("dd", "f64", "angles", "_far"),
}


# In how many parts composed.py takes the errors of these operations.
PARTS = {
    "rsqrt": {"rsqrt": 16},
    "erf_backward": {"exp_hi": 4},
    "gelu_backward": {"exp_hi": 4},
}


def hook(kind: str, name: str) -> Callable:
    """The function of this name by which kernels of the kind are proved."""
    module = importlib.import_module(f"{__package__}.{KINDS[kind].module}")
    return getattr(module, name, None) or getattr(importlib.import_module(f"{__package__}.prove"), name)
