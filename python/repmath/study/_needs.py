"""Libraries of the extra `study`, which are imported where they are used."""

import importlib
from typing import Any


def need(name: str, what: str) -> Any:
    """The module, or an error that says what it is for and how to get it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ImportError(f"{what} needs {name.split('.')[0]}: pip install 'repmath[study]'") from None
