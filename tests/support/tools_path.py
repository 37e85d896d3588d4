"""The scripts of tools/, importable by tests."""

import importlib.util
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]


def manifest():
    """The names of the functions of crlibm/functions.def, in order."""
    return re.findall(r"^RM_FUNCTION\((\w+),", (ROOT / "crlibm/functions.def").read_text(), re.M)


def returned():
    """What each of PyTorch's operators returns, by its name, as the table says."""
    lines = (ROOT / "python/repmath/torch/_aten/operators.txt").read_text(encoding="utf-8").splitlines()
    cells = (line.split("  ") for line in lines if line and not line.startswith("#"))
    return {row[0]: row[3] if len(row) > 3 else "its elements as they are" for row in cells}


def powers():
    """The names of the powers with an integer of crlibm/powers.def, in order."""
    return tuple(re.findall(r"^RM_POWER\((\w+),", (ROOT / "crlibm/powers.def").read_text(), re.M))


def load(name):
    """The module tools/<name>.py."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
