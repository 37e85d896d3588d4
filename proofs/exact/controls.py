"""Sources with a bound halved, or without one of its terms, and the operators whose tests must then be beyond their bounds."""

from __future__ import annotations

CONTROLS: list[tuple[str, str, str, tuple[str, ...]]] = [
    # a file, what stands there, what stands there instead, operators: one of them sees it. "operator: call" sees it where that is called
    (
        "src/reduce/sum_parts.h",
        "const double u = (RM_CHAIN + (p->shift ? 2 + 4 : 2)) * 0x1.01p-53;",
        "const double u = (RM_CHAIN + (p->shift ? 2 + 4 : 2)) * 0x1.01p-54;",
        ("sum", "dot", "norm"),
    ),
    ("src/reduce/segment.h", "0x1.03p-53 * (double)g->s->n", "0x1.03p-54 * (double)g->s->n", ("index_add", "segment_sum")),
    ("src/reduce/prefixes.h", "r->b + bound};", "r->b + 0.5 * bound};", ("cumsum",)),
    (
        "src/nn/rows/step.h",
        "vf64_set1(0x1p-50), vf64_set1(s->err)));\n      return vf64_mul(y, t);",
        "vf64_set1(0x1p-50), vf64_set1(0.0)));\n      return vf64_mul(y, t);",
        ("softmax_backward",),
    ),
    ("src/nn/norm/normalize.inl", "s.err = 1.01 * t.c_err * t.a;", "s.err = 0.0;", ("layer_norm",)),
    ("src/nn/norm/normalize.inl", "off = 4.0 * RM_ROW_MOMENT_ERR * m2;", "off = 0.0;", ("rms_norm",)),
    (
        "src/nn/softmax/row.h",
        "1.01 * err / __builtin_fabs(sum)",
        "0.0 * err / __builtin_fabs(sum)",
        ("log_softmax_backward",),
    ),
    (
        "src/nn/pool/sum.h",
        "0x1.2p-52) + 0x1p-1073",
        "0x1.2p-57) + 0x1p-1073",
        tuple(f"avg_pool_backward: {call}" for call in ("rm_pool_quotient(", "rm_function_decide(")),
    ),
    (
        "src/nn/pool/kernels.c",
        "vf64_set1(0x1.1p-51)",
        "vf64_set1(0x1.1p-52)",
        ("avg_pool: rm_row_doubt(", "avg_pool_backward: rm_row_doubt("),
    ),
    (
        "src/blas/gemm/vectors_b64.h",
        "vf64_lt(err, rm_units(",
        "vf64_lt(zero, rm_units(",
        ("products_flood: vf64_store_between_f32(out, s",),
    ),
    (
        "src/nn/optim/step.h",
        "#define RM_QUOTIENT_ERR RM_BOUND(0x1.8p-50)",
        "#define RM_QUOTIENT_ERR RM_BOUND(0x1.8p-52)",
        ("adam_2", "adam_4", "adam_5"),
    ),
    (
        "src/nn/optim/step.h",
        "#define RM_LINEAR_ERR RM_BOUND(0x1p-98)",
        "#define RM_LINEAR_ERR RM_BOUND(0x1p-107)",
        ("sgd_2", "sgd_6", "adam_2"),
    ),
    (
        "src/nn/formula/step.h",
        "#define RM_FORMULA_QUOTIENT_ERR RM_BOUND(0x1p-50)",
        "#define RM_FORMULA_QUOTIENT_ERR RM_BOUND(0x1p-52)",
        ("quotient",),
    ),
    (
        "src/nn/cross_entropy/row.h",
        "+ q_size * l_err) + 0x1p-51",
        ") + 0x1p-51",
        ("cross_entropy_none", "cross_entropy_mean"),
    ),
    (
        "src/nn/loss/step.h",
        "#define RM_TERM_ERR RM_BOUND(0x1.4p-50)",
        "#define RM_TERM_ERR RM_BOUND(0x1p-52)",
        ("mse_none", "huber_none"),
    ),
    (
        "src/blas/gemm/bound_dd.h",
        "RM_BOUND(0x1p-105 * b * n * n + 0x1p-103 * n *",
        "RM_BOUND(0x1p-113 * b * n * n + 0x1p-111 * n *",
        ("convolution_grad_weight: rm_round_scaled(s, shift, fmt,",),
    ),
    (
        "src/blas/gemm/bound_dd.h",
        "RM_BOUND_DD_BIAS RM_BOUND(0x1p-104)",
        "RM_BOUND_DD_BIAS RM_BOUND(0x1p-110)",
        ("products_wide: rm_round_scaled(s, shift, fmt,",),
    ),
    (
        "src/blas/gemm/bound_dd.h",
        "2.2 * h * h * 0x1p-106 * size",
        "2.2 * h * h * 0x1p-120 * size",
        tuple(f"{o}:     decided = rm_decide_scaled(s, err, -shift" for o in ("products_wide", "convolution_forward")),
    ),
    (
        "src/blas/gemm/bound_b64.h",
        "1.01 * h * h * 0x1p-53",
        "1.01 * h * h * 0x1p-77",
        ("products_narrow: rm_decide_sum_b64(s, err2,", "convolution_forward: rm_decide_sum_b64(s, err2,"),
    ),
    (
        "src/blas/gemm/alpha_beta.h",
        "RM_BOUND(0x1p-50 * m)",
        "RM_BOUND(0x1p-56 * m)",
        ("products_scaled: rm_decide_pair(v, err, granule,",),
    ),
    (
        "src/rounding/sums.c",
        "RM_BOUND(n * n * 0x1p-104)",
        "RM_BOUND(n * n * 0x1p-124)",
        ("sums_at_random", "products_at_random"),
    ),
    ("src/random/dropout.h", "RM_BOUND(0x1.8p-51)", "RM_BOUND(0x1p-52)", ("dropout",)),
    ("src/random/normal.h", "RM_ERFINV_B64_ERR * (1.0 + 0x1p-10)", "RM_ERFINV_B64_ERR * 0x1p-4", ("normal",)),
    (
        "src/linalg/recurrence.c",
        "v->err = (err + 0x1p-52 * __builtin_fabs(rest)) *",
        "v->err = 0x1p-9 * (err + 0x1p-52 * __builtin_fabs(rest)) *",
        ("differences",),
    ),
    ("src/linalg/recurrence.c", "0x1p-102 * __builtin_fabs(q->hi)", "0x1p-110 * __builtin_fabs(q->hi)", ("quotients",)),
    ("src/linalg/recurrence.c", "0x1p-101 * q->hi", "0x1p-109 * q->hi", ("roots",)),
    ("src/linalg/system.c", "RM_BOUND(apart)", "RM_BOUND(0x1p-10 * apart)", ("solve", "inverse")),
    ("src/linalg/system.c", "RM_BOUND(owed)", "RM_BOUND(0x1p-10 * owed)", ("solve_triangle",)),
    ("src/linalg/determinant.c", "RM_BOUND(errors);", "RM_BOUND(0x1p-20 * errors);", ("determinant",)),
    ("src/fft/api.c", "RM_BOUND((loss + 6.0)", "RM_BOUND(0x1p-10 * (loss + 6.0)", ("transform", "transforms")),
]

# What would be beyond a bound that is half as large, in the sources as they are: an operator, and a test of it.
HALVED = [
    ("between", "known"),
    ("adam_0", "known"),
    ("sum", "sum"),
    ("norm", "sum"),
    ("cumsum", "known"),
    ("cumsum_rows", "known"),
    ("segment_sum", "known"),
    ("products_narrow", "known"),
    ("products_tiles", "reach"),
    ("depthwise_forward", "known"),
    ("depthwise_grad_weight", "known"),
    ("sum_axes", "known"),
    ("convolution_forward", "known"),
    ("nll_mean", "known"),
    ("nll_backward", "known"),
]
