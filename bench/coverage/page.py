"""A page of what became of the programs."""

import contextlib
import importlib.metadata
import platform
import re
import time
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
        reason = re.sub(r"(?<![\w.])/(?:[\w.-]+/)+", "", reason)  # folders of this machine
        text = reason.replace("|", "\\|").replace("<", "\\<").strip()
        yield f"- {len(cases)} × {text}: {', '.join(f'`{c}`' for c in sorted(cases))}"


def _versions():
    for name in LIBRARIES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            yield f"{name} {importlib.metadata.version(name)}"


def _with(kind):
    """When a kind's results were made, and with which libraries."""
    names = ("torch",) if kind in ("optimisers", "OpInfo") else ("torch", kind)
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        found = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)
        return f"Run with {found}, {time.strftime('%Y-%m-%d')}."


def _compared(found):
    """What the comparison with binary64 has found, in a sentence."""
    apart = [f["apart"] for f in found if f.get("apart") and f["outcome"] == "passed"]
    networks = [a for a in apart if any(a)]
    if not networks:
        return []
    loss, gradients = (max(a[i] for a in networks) for i in (0, 1))
    return [
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
        yield f"| [{HEADINGS[kind]}](#{HEADINGS[kind].lower()}) | {max(totals[kind], sum(counts.values()))} | {sum(counts.values())} | {numbers} | {share} |"


def earlier(text):
    """Results of a page, kind by kind, and the sentences of each kind's versions and comparison: of kinds whose results are no longer at hand."""
    results, said = [], {}
    for part in re.split(r"^## ", text, flags=re.M)[1:]:
        kind = next((k for k, heading in HEADINGS.items() if part.startswith(heading + "\n")), None)
        if kind is not None:
            said[kind] = [
                line
                for line in part.splitlines()
                if line.startswith(("Run with ", "Loss and gradients of ", "Most of those "))
            ]
    for heading, body in re.findall(r"^### (.*)\n\n((?:.+\n)+)", text, flags=re.M):
        title, outcome = heading.rsplit(": ", 1)
        kind = next(k for k, h in HEADINGS.items() if h == title)
        for line in body.splitlines() if outcome != "passed" else [f"- 0 × : {body}"]:
            detail, cases = re.fullmatch(r"- \d+ × (.*?): ((?:`[^`]*`(?:, )?)+)", line.strip()).groups()
            detail = re.sub(r"\\+([|<])", r"\1", detail)  # as _listed has escaped them
            results += [
                {"kind": kind, "case": c, "outcome": outcome, "detail": detail} for c in re.findall(r"`([^`]*)`", cases)
            ]
    return results, said


def page(results, totals, before=""):
    """`totals`: how many cases there are of each kind; `before`: a page, from which kinds without results are taken."""
    results, (old, said) = list(results), earlier(before)
    here = {f["kind"] for f in results}
    results += [f for f in old if f["kind"] not in here]
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
        own = [_with(kind), *_compared(found)] if kind in here else said[kind]
        lines += ["", f"## {HEADINGS[kind]}", "", ABOUT[kind]]
        lines += [line for sentence in filter(None, own) for line in ("", sentence)]
        total = max(totals[kind], len(found))
        if len(found) < total:
            lines += ["", f"Of {total} cases {len(found)} were run: the others are not known yet."]
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
