"""Run the demo's trainings once and write their digests into python/repmath/demo/published.json and README.md.

Usage: python tools/publish_demo.py [--only NAME ...]

For a tree that is installed in the running Python. The bits do not depend on the machine; that of GPT-2 belong to the text that comes with
this Python, whose digest is written beside them.
"""

import argparse
import json
import pathlib
import re

from repmath.demo import published, runs

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILE = ROOT / "python/repmath/demo/published.json"
NAMES = {
    "generated": "the convolutional network, generated images (`repmath verify`)",
    "digits": "the convolutional network, scikit-learn's digits",
    "gpt2": "GPT-2",
}
MARKERS = "<!-- demo:begin -->", "<!-- demo:end -->"


def trainings():
    """Name -> a run of it."""
    return {
        "generated": runs.generated_run(),
        "digits": runs.Run("NumPy", "as it comes", {}, ["digits_numpy.py", "--steps", str(runs.CONVOLUTION_STEPS)]),
        "gpt2": runs.Run("repmath", "as it comes", {}, ["gpt2_text.py", "--steps", str(runs.SHORT)]),
    }


def table(entries):
    """The lines of README.md."""
    lines = ["| training | steps | SHA-256 of the weights |", "| --- | --- | --- |"]
    lines += [f"| {NAMES[name]} | {entry['steps']} | `{entry['sha256']}` |" for name, entry in entries.items()]
    texts = {entry["text"]: entry["python"] for entry in entries.values() if "text" in entry}
    lines += ["", *(f"GPT-2 reads the documentation that comes with Python {version}." for version in texts.values())]
    return "\n".join(lines)


def in_readme(text, entries):
    """README.md with the table between its markers."""
    begin, end = MARKERS
    return re.sub(rf"{begin}.*{end}", lambda _: f"{begin}\n{table(entries)}\n{end}", text, flags=re.S)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", choices=list(NAMES))
    options = parser.parse_args()
    entries = json.loads(FILE.read_text()) if FILE.exists() else {}
    for name, run in trainings().items():
        if options.only and name not in options.only:
            continue
        runs.execute(run)
        entries[name] = published.record(run)
        print(f"{name:10} {run.digest}  {run.figure}  {run.seconds:.1f} s", flush=True)
        entries = {name: entries[name] for name in NAMES if name in entries}
        FILE.write_text(json.dumps(entries, indent=1) + "\n")
        readme = ROOT / "README.md"
        readme.write_text(in_readme(readme.read_text(), entries))


if __name__ == "__main__":
    main()
