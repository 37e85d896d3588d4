"""The structures of the C headers that functions of arrays take."""

import ctypes
from typing import Any

Int, Long, Stride, Real, Pointer = ctypes.c_int, ctypes.c_int64, ctypes.c_ssize_t, ctypes.c_double, ctypes.c_void_p


def _structure(name: str, fields: dict[str, Any]) -> Any:
    """A structure with these fields; a name such as "a b c" declares several of one type."""
    return type(name, (ctypes.Structure,), {"_fields_": [(f, kind) for names, kind in fields.items() for f in names.split()]})


Conv = _structure(
    "rm_conv",
    {
        "dims": Int,
        "batch channels_in channels_out groups": Long,
        "size kernel stride dilation padding_low padding_high": Long * 3,
    },
)
Pool = _structure(
    "rm_pool",
    {"dims adaptive": Int, "batch channels": Long, "size out kernel stride dilation padding": Long * 3},
)
NormSets = _structure("rm_norm_sets", {"centered": Int, "sets": Long * 2, "outer inner": Long})
CrossEntropy = _structure(
    "rm_cross_entropy_problem",
    {
        "rows n": Long,
        "x": Pointer,
        "row_x stride_x": Stride,
        "target": Pointer,
        "stride_target": Stride,
        "probability": Pointer,
        "row_probability stride_probability": Stride,
        "weight": Pointer,
        "stride_weight": Stride,
        "ignore_index": Long,
        "label_smoothing": Real,
        "reduction": Int,
    },
)
SGDOptions = _structure("rm_sgd_options", {"lr momentum dampening weight_decay": Real, "nesterov maximize first": Int})
AdamOptions = _structure(
    "rm_adam_options", {"lr beta1 beta2 eps weight_decay": Real, "step": Long, "decoupled maximize": Int}
)
StepArrays = _structure("rm_cuda_step_arrays", {"n": Long, "p g m v w count": Pointer})
StepScale = _structure("rm_cuda_step_scale", {"grad_scale found_inf": Pointer})
