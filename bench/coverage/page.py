"""A page of what became of the programs."""

import importlib.metadata
import platform
from collections import Counter, defaultdict

from .cases import OUTCOMES

ABOUT = {
    "optimisers": "Every optimiser of `torch.optim`, in every way and with each of its options that PyTorch takes on the CPU: three steps of a small "
    "network, with `clip_grad_value_` before the first and `clip_grad_norm_` before the second.",
    "OpInfo": "PyTorch's samples of its operators in float32, up to 24 of each, with their gradients. *Passed* are those all of whose samples run.",
    "transformers": "A model of each architecture of transformers that a small configuration makes: loss, gradients, `clip_grad_norm_`, a step of AdamW. "
    "*Absent* are those that PyTorch itself does not run from such a configuration with plain text, images or sound.",
}
HEADINGS = {"optimisers": "Optimisers", "OpInfo": "Operators", "transformers": "Architectures"}


def _listed(found, outcome):
    """A line for each reason, with the cases that it has."""
    by_reason = defaultdict(list)
    for f in found:
        if f["outcome"] == outcome:
            by_reason[f["detail"]].append(f["case"])
    for reason, cases in sorted(by_reason.items(), key=lambda item: (-len(item[1]), item[0])):
        yield f"- {len(cases)} × {reason.replace('|', chr(92) + '|').strip()}: {', '.join(f'`{c}`' for c in sorted(cases))}"


def page(results, totals):
    """`totals`: how many cases there are of each kind."""
    results = list(results)
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("repmath", "torch", "transformers"))
    lines = [
        "# Which programs run under reproducible(strict=True)?",
        "",
        f"Made by `python -m bench.coverage` and `--write`, with {versions}, Python {platform.python_version()}.",
        "A program *passed* if it runs to its end inside of the block; *refused* if an operator has no line in docs/aten.md, or one with such",
        "arguments; *absent* if PyTorch does not run it on the CPU either. That bits are right is tested elsewhere (docs/evidence.md).",
        "",
        "| | cases | " + " | ".join(OUTCOMES) + " | passed of those that PyTorch runs |",
        "| --- |" + " ---: |" * (len(OUTCOMES) + 2),
    ]
    kinds = [kind for kind in HEADINGS if any(f["kind"] == kind for f in results)]
    for kind in kinds:
        counts = Counter(f["outcome"] for f in results if f["kind"] == kind)
        run = sum(n for outcome, n in counts.items() if outcome != "absent")
        share = f"{100 * counts['passed'] / run:.1f} %" if run else ""
        lines.append(
            f"| [{HEADINGS[kind]}](#{HEADINGS[kind].lower()}) | {totals[kind]} | "
            + " | ".join(str(counts[o]) for o in OUTCOMES)
            + f" | {share} |"
        )
    for kind in kinds:
        found = [f for f in results if f["kind"] == kind]
        lines += ["", f"## {HEADINGS[kind]}", "", ABOUT[kind]]
        if len(found) < totals[kind]:
            lines += [
                "",
                f"Of {totals[kind]} cases {len(found)} were run, from the first on: the others are not known yet.",
            ]
        for outcome in OUTCOMES[1:]:
            reasons = list(_listed(found, outcome))
            if reasons:
                lines += ["", f"### {HEADINGS[kind]}: {outcome}", "", *reasons]
        passed = sorted(f["case"] for f in found if f["outcome"] == "passed")
        if passed:
            lines += ["", f"### {HEADINGS[kind]}: passed", "", ", ".join(f"`{c}`" for c in passed)]
    return "\n".join(lines) + "\n"
