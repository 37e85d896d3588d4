"""The published digests of the demo's trainings, and where a run differs from them.

published.json has, for each training, the SHA-256 of the weights after some of its steps (`marks`) or the loss of each step, and that of the
last weights. `python tools/publish_demo.py` writes it, and the table in README.md.
"""

import json
import pathlib
import platform
from typing import Any

FILE = pathlib.Path(__file__).with_name("published.json")
AGREES = "agrees with the published digest"


def load() -> dict[str, Any]:
    """The published digests of each training, by name."""
    found: dict[str, Any] = json.loads(FILE.read_text()) if FILE.exists() else {}
    return found


def record(run: Any) -> dict[str, Any]:
    """What is published of a run."""
    entry: dict[str, Any] = {"steps": run.steps, "sha256": run.digest}
    if run.text:
        entry |= {"text": run.text, "python": platform.python_version()}
    if run.marks:
        entry["marks"] = {str(step): digest for step, digest in run.marks.items()}
    if len(run.losses):
        entry["losses"] = [float(v).hex() for v in run.losses]
    return entry


def compare(name: str, run: Any) -> tuple[bool, str]:
    """Whether a run is as published, and a sentence that says so; (True, why) where nothing is published of such a run."""
    entry = load().get(name)
    if entry is None:
        return False, f"no digest is published of {name}"
    if run.text and run.text != entry["text"]:
        return True, f"no digest is published for this Python's text: it is that of Python {entry['python']}"
    if entry["steps"] != run.steps:
        return False, f"the published training has {entry['steps']} steps, this one {run.steps}"
    if run.digest == entry["sha256"]:
        return True, AGREES
    last = 0
    for step, digest in entry.get("marks", {}).items():
        if run.marks.get(int(step)) != digest:
            return (
                False,
                f"parts from the published training {f'between steps {last} and {step}' if int(step) else 'before its first step'}",
            )
        last = int(step)
    for step, (ours, theirs) in enumerate(zip(run.losses, entry.get("losses", []), strict=False)):
        if float(ours).hex() != theirs:
            return False, f"parts from the published training at the loss of step {step}"
    return False, f"parts from the published training after step {max(last, len(entry.get('losses', [])) - 1)}"
