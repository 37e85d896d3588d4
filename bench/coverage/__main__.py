"""Which programs run under reproducible(strict=True): python -m bench.coverage [options]

Architectures of transformers, optimisers of torch.optim, PyTorch's samples of its operators. Results are lines of JSON in
bench/results/coverage.jsonl, where a run that was stopped goes on; --write makes a page of them.
"""

import argparse
import contextlib
import importlib
import json
import os
import pathlib
from collections import Counter

from . import architectures, diffusion, graphs, optimizers, samples, vision
from .cases import OUTCOMES, result

ROOT = pathlib.Path(__file__).resolve().parents[2]
KINDS = {
    "optimisers": optimizers.cases,
    "OpInfo": samples.cases,
    "transformers": architectures.cases,
    "torchvision": vision.cases,
    "timm": vision.timm_cases,
    "diffusers": diffusion.cases,
    "torch_geometric": graphs.cases,
}
IMPORTED = "repmath.torch torch._dynamo transformers.modeling_utils transformers.models.auto.modeling_auto torchvision timm diffusers torch_geometric.nn".split()


def parsed():
    parser = argparse.ArgumentParser(prog="python -m bench.coverage", description=__doc__.splitlines()[0])
    parser.add_argument("--kind", nargs="+", choices=KINDS, default=list(KINDS), help="these alone")
    parser.add_argument("--only", nargs="+", help="cases whose name contains one of these words")
    parser.add_argument("--again", nargs="*", choices=OUTCOMES, help="run again those that had one of these outcomes, or all")
    parser.add_argument(
        "--part", default="1/1", help="2/3: the second third of the cases, beside other processes that run the rest"
    )
    parser.add_argument("--seconds", type=int, default=300, help="of the CPU, after which a case is ended")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "bench/results/coverage.jsonl")
    parser.add_argument(
        "--write",
        type=pathlib.Path,
        help="write a page of the results to this file, whose kinds without results stay, and run nothing",
    )
    return parser.parse_args()


def main():
    options = parsed()
    options.results.parent.mkdir(parents=True, exist_ok=True)
    known = {}
    if options.results.exists():
        for line in options.results.read_text().splitlines():
            found = json.loads(line)
            known[found["kind"], found["case"]] = found
    if options.write:
        from .page import page

        totals = {kind: sum(1 for _ in cases()) for kind, cases in KINDS.items()}
        before = options.write.read_text(encoding="utf-8") if options.write.exists() else ""
        options.write.write_text(page(known.values(), totals, before), encoding="utf-8")
        return
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    for module in IMPORTED:  # what every process would import, once
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    part, parts = map(int, options.part.split("/"))

    counts = Counter()
    for kind in options.kind:
        for i, case in enumerate(KINDS[kind]()):
            if i % parts != part - 1 or options.only and not any(word in case.name for word in options.only):
                continue
            before = known.get((case.kind, case.name))
            if before is not None and (options.again is None or options.again and before["outcome"] not in options.again):
                continue
            found = result(case, options.seconds)
            with options.results.open("a") as file:
                file.write(json.dumps(found) + "\n")
            counts[kind, found["outcome"]] += 1
            if found["outcome"] != "passed":
                print(kind, found["case"], found["outcome"], found["detail"], sep=": ", flush=True)
    for (kind, outcome), n in counts.items():
        print(f"{kind}: {n} {outcome}")


if __name__ == "__main__":
    main()
