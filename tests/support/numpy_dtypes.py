"""The formats as dtypes of NumPy, bfloat16 among them."""

import numpy as np
import pytest

ml_dtypes = pytest.importorskip("ml_dtypes")
BF16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype("f2"), BF16, np.dtype("f4"), np.dtype("f8")]
