"""Write the digests of operators into python/repmath/published_operators.json, for a tree that is installed in the running Python.

Usage: python tools/publish_operators.py

Each is computed on every instruction set of this CPU, with one thread and with two, and written only if all agree.
"""

import json
import os
import pathlib
import subprocess
import sys

import repmath

FILE = pathlib.Path(__file__).resolve().parent.parent / "python/repmath/published_operators.json"
CODE = """
import json
from repmath import _published_operators as p
print(json.dumps({name: {fmt: p.compute(name, fmt) for fmt in p.formats(name)} for name in p.OPERATORS}))
"""


def main():
    found = {}
    for isa in repmath.config()["available isas"]:
        for threads in (1, 2):
            environment = {**os.environ, "REPMATH_ISA": isa, "REPMATH_NUM_THREADS": str(threads)}
            found[isa, threads] = subprocess.run(
                [sys.executable, "-c", CODE], env=environment, check=True, capture_output=True, text=True
            ).stdout
    if len(set(found.values())) != 1:
        sys.exit(f"not written: instruction sets and numbers of threads differ: {found}")
    (text,) = set(found.values())
    FILE.write_text(json.dumps({"spec": repmath.config()["specification"], "operators": json.loads(text)}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
