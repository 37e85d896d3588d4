"""What rounds the steps of an operator that is composed of several: to nearest, unless a block of stochastic() runs it, whose `_stochastic_steps.Steps` does."""

import threading
from typing import Any


class _Here(threading.local):
    steps: Any = None


HERE = _Here()
