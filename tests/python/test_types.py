"""Type checkers know what public functions return; a line of typed.py that ends in `# error` is one for them."""

import os
import pathlib
import re
import subprocess
import sys

from native import ROOT, need

SOURCE = pathlib.Path(__file__).with_name("typed.py")
# Of the package, only what is asked about is read: all of it takes a minute.
CONFIG = """
[mypy]
strict = True
follow_imports = skip
[mypy-numpy.*,repmath,repmath._accumulator]
follow_imports = silent
"""


def test_types(tmp_path):
    (mypy,) = need("mypy")
    (tmp_path / "mypy.ini").write_text(CONFIG)
    command = [
        mypy,
        "--python-executable",
        sys.executable,
        "--config-file",
        tmp_path / "mypy.ini",
        "--cache-dir",
        tmp_path / "cache",
        SOURCE,
    ]
    done = subprocess.run(
        command, text=True, capture_output=True, cwd=tmp_path, env={**os.environ, "MYPYPATH": str(ROOT / "python")}
    )
    wrong = {int(n) for n in re.findall(r"typed\.py:(\d+): error", done.stdout)}
    expected = {n for n, line in enumerate(SOURCE.read_text().splitlines(), 1) if line.endswith("# error")}
    assert expected and wrong == expected, done.stdout + done.stderr
