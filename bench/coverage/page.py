"""A page of what became of the programs."""

import contextlib
import importlib.metadata
import platform
from collections import Counter, defaultdict

from .cases import OUTCOMES

LIBRARIES = ("repmath", "torch", "transformers", "torchvision", "timm", "diffusers", "torch_geometric")
ABOUT = {
    "optimisers": "Every optimiser of `torch.optim`, in every way and with each of its options that PyTorch takes on the CPU: three steps of a small "
    "network, with `clip_grad_value_` before the first and `clip_grad_norm_` before the second.",
    "OpInfo": "PyTorch's samples of its operators in float32, up to 24 of each, with their gradients. *Passed* are those all of whose samples run.",
    "transformers": "A model of each architecture of transformers that a small configuration makes: evaluation, loss, gradients, `clip_grad_norm_`, a step of "
    "AdamW. *Absent* are those that PyTorch itself does not run from such a configuration with plain text, images or sound.",
    "torchvision": "The models with small images: evaluation, loss, gradients, `clip_grad_norm_`, a step of fused AdamW; and operators and transforms with gradients "
    "(`ops`), all of whose results are compared with binary64 where nothing is drawn.",
    "timm": "Architectures of timm, one of most families, with images of 32 to 256 pixels: evaluation, loss, gradients, `clip_grad_norm_`, a step of fused AdamW.",
    "diffusers": "Networks from small configurations, with a step of fused AdamW and a comparison with binary64; and four steps of each scheduler.",
    "torch_geometric": "Layers, norms, aggregations, poolings and models on a small graph. *Absent* are those that need another package, or arguments that the recipe lacks.",
}
HEADINGS = {
    "optimisers": "Optimisers",
    "OpInfo": "Operators",
    "transformers": "transformers",
    "torchvision": "torchvision",
    "timm": "timm",
    "diffusers": "diffusers",
    "torch_geometric": "torch_geometric",
}


def _listed(found, outcome):
    """A line for each reason, with the cases that it has."""
    by_reason = defaultdict(list)
    for f in found:
        if f["outcome"] == outcome:
            by_reason[f["detail"]].append(f["case"])
    for reason, cases in sorted(by_reason.items(), key=lambda item: (-len(item[1]), item[0])):
        text = reason.replace("|", "\\|").replace("<", "\\<").strip()
        yield f"- {len(cases)} × {text}: {', '.join(f'`{c}`' for c in sorted(cases))}"


def _versions():
    for name in LIBRARIES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            yield f"{name} {importlib.metadata.version(name)}"


def _compared(found):
    """What the comparison with binary64 has found, in a sentence."""
    apart = [f["apart"] for f in found if f.get("apart") and f["outcome"] == "passed"]
    networks = [a for a in apart if any(a)]
    if not networks:
        return []
    loss, gradients = (max(a[i] for a in networks) for i in (0, 1))
    return [
        "",
        f"Loss and gradients of {len(networks)} of them, before the step and without dropout, were compared with those of PyTorch in binary64: the "
        f"relative error is at most {loss:.0e} of a loss and {gradients:.0e} of the gradients of a network.",
    ]


def _summary(kinds, results, totals):
    yield "| | cases | run | " + " | ".join(OUTCOMES) + " | passed of those that PyTorch runs |"
    yield "| --- |" + " ---: |" * (len(OUTCOMES) + 3)
    for kind in kinds:
        counts = Counter(f["outcome"] for f in results if f["kind"] == kind)
        run = sum(n for outcome, n in counts.items() if outcome != "absent")
        share = f"{100 * counts['passed'] / run:.1f} %" if run else ""
        numbers = " | ".join(str(counts[o]) for o in OUTCOMES)
        yield f"| [{HEADINGS[kind]}](#{HEADINGS[kind].lower()}) | {totals[kind]} | {sum(counts.values())} | {numbers} | {share} |"


def page(results, totals):
    """`totals`: how many cases there are of each kind."""
    results = list(results)
    lines = [
        "# Which programs run under reproducible(strict=True)?",
        "",
        f"Made by `python -m bench.coverage` and `--write`, with {', '.join(_versions())}, Python {platform.python_version()}.",
        "A program *passed* if it runs to its end inside of the block; *refused* if an operator has no line in docs/aten.md, or one with such",
        "arguments; *absent* if PyTorch does not run it on the CPU either. That bits are right is tested elsewhere (docs/evidence.md).",
        "",
    ]
    kinds = [kind for kind in HEADINGS if any(f["kind"] == kind for f in results)]
    lines += _summary(kinds, results, totals)
    for kind in kinds:
        found = [f for f in results if f["kind"] == kind]
        lines += ["", f"## {HEADINGS[kind]}", "", ABOUT[kind], *_compared(found)]
        if len(found) < totals[kind]:
            lines += ["", f"Of {totals[kind]} cases {len(found)} were run: the others are not known yet."]
        for outcome in OUTCOMES[1:-1]:
            reasons = list(_listed(found, outcome))
            if reasons:
                lines += ["", f"### {HEADINGS[kind]}: {outcome}", "", *reasons]
    lines += ["", "## Those that passed"]
    for kind in kinds:
        passed = sorted(f["case"] for f in results if f["kind"] == kind and f["outcome"] == "passed")
        if passed:
            lines += ["", f"### {HEADINGS[kind]}: passed", "", ", ".join(f"`{c}`" for c in passed)]
    lines += [
        "",
        "## Those that PyTorch does not run",
        "",
        "The reason is what PyTorch says of the last thing that was tried.",
    ]
    for kind in kinds:
        reasons = list(_listed([f for f in results if f["kind"] == kind], "absent"))
        if reasons:
            lines += ["", f"### {HEADINGS[kind]}: absent", "", *reasons]
    return "\n".join(lines) + "\n"
