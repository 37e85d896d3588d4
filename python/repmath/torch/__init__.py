"""Correctly rounded operators for PyTorch: the same bits on every machine.

Needs PyTorch, which `pip install repmath[torch]` brings.
"""

_SUPPORTED = ("2.13", "2.14")  # as the extra in pyproject.toml has them

try:
    import torch as _torch
except ImportError as _error:
    raise ImportError("repmath.torch needs PyTorch: pip install 'repmath[torch]'") from _error
try:
    import ml_dtypes as _ml_dtypes  # noqa: F401
except ImportError as _error:
    raise ImportError("repmath.torch needs ml_dtypes, for bfloat16: pip install 'repmath[torch]'") from _error
if ".".join(_torch.__version__.split(".")[:2]) not in _SUPPORTED:
    raise ImportError(
        f"repmath.torch supports PyTorch {', '.join(_SUPPORTED)}, and PyTorch {_torch.__version__} is installed: "
        "pip install 'repmath[torch]' (docs/torch.md)"
    )

from . import _certificate, functional, nn, optim  # noqa: E402, F401
from ._audit import Audit, audit  # noqa: E402
from ._convert import from_torch_module  # noqa: E402
from ._digest import digest  # noqa: E402
from ._enable import disable, enable  # noqa: E402
from ._errors import UncoveredOperatorError  # noqa: E402
from ._mode import reproducible  # noqa: E402
from ._parameters import OutsideParameterWarning, trust  # noqa: E402
from ._random import manual_seed  # noqa: E402
from ._stochastic import stochastic  # noqa: E402
from ._stochastic_places import Rounding  # noqa: E402
from ._trace import Call, Difference, first_difference, trace  # noqa: E402
from .nn._base import UnsupportedModuleError  # noqa: E402

__all__ = [
    "Audit",
    "Call",
    "Difference",
    "OutsideParameterWarning",
    "Rounding",
    "UncoveredOperatorError",
    "UnsupportedModuleError",
    "audit",
    "digest",
    "disable",
    "enable",
    "first_difference",
    "from_torch_module",
    "functional",
    "manual_seed",
    "nn",
    "optim",
    "reproducible",
    "stochastic",
    "trace",
    "trust",
]
