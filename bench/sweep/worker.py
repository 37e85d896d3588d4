"""Measures cases in this process: python -m bench.sweep --worker FILE ... writes a line of JSON before and after each."""

import contextlib
import importlib
import json
import time
import warnings
import zlib

import repmath

from ..machine import describe
from ..timing import budgeted
from .cases import Skip

# Which module makes the cases of a group, by which function.
SOURCES = {
    ("samples",): "opinfo.samples",
    ("elementwise",): "opinfo.elementwise",
    ("reductions",): "opinfo.reductions",
    (
        "rows",
        "images",
        "convolutions",
        "lines",
        "products",
        "attention",
        "losses",
        "indices",
        "lists",
        "numbers",
        "random",
    ): "functions.functions",
    ("optimizers",): "functions.optimizers",
    ("NumPy elementwise", "NumPy functions"): "arrays.cases",
    ("models",): "models.cases",
}


def sources(groups):
    """The cases of these groups, or of all."""
    for names, maker in SOURCES.items():
        if not groups or not set(names).isdisjoint(groups):
            module, function = maker.split(".")
            yield from getattr(importlib.import_module(f".{module}", __package__), function)()


def wanted(options, group, name, fields):
    """Whether the options ask for a case: by words that its group and name contain, and by fields, name -> value."""
    text = f"{group} {name}"
    return (not options.only or any(word in text for word in options.only)) and all(
        not getattr(options, field) or value in getattr(options, field) for field, value in fields.items()
    )


def chosen(options):
    """The cases that are asked for: first the first of each function, then one function after another, in no order."""
    found = [
        case
        for case in sources(options.group)
        if case.far <= (1 if options.quick else 99 if options.all else 2)
        and wanted(options, case.group, case.name, {f: getattr(case, f) for f in ("group", "dtype", "values", "direction")})
    ]
    return sorted(found, key=lambda case: (case.far > 0, zlib.crc32(f"{case.group} {case.name}".encode())))


def threads(n):
    import torch

    torch.set_num_threads(n)
    repmath.set_num_threads(n)


def tiers(measured):
    """Which tier decided the elements of one call, where not all are the fast one's."""
    name, call = next(iter(measured.calls.items()))
    with measured.within[name]():
        repmath.reset_stats()
        call()
        found = repmath.stats()
    return {key: n for key, n in found.items() if n}


def measure(case, options, n):
    try:
        calls = case.make()
        alone = {} if n > 1 else {"pause": 0.0, "clock": time.process_time}
        found = budgeted(calls.calls, options.budget / 1000, within=calls.within, **({"pause": options.pause} | alone))
        return found | ({"tiers": tiers(calls)} if found["seconds"]["repmath"] < 2 else {})
    except Skip as reason:
        return {"skipped": str(reason)}
    except Exception as error:  # what a library refuses is told; the sweep goes on
        return {"skipped": f"{type(error).__name__}: {str(error).splitlines()[0][:160] if str(error) else ''}"}


def run(options, path):
    """Appends the results of the cases that the file does not have."""
    warnings.simplefilter("ignore")
    cases = chosen(options)
    with open(path, "a", buffering=1) as file:
        file.write("\n" + json.dumps({"machine": describe()}) + "\n")
        for n in options.threads:
            threads(n)
            done = finished(path)
            for case in cases:
                key = f"{case.key} | {n}"
                if key in done:
                    continue
                about = {
                    "case": key, "group": case.group, "name": case.name, "dtype": case.dtype, "shape": case.shape, "values": case.values,
                    "direction": case.direction, "threads": n,
                }  # fmt: skip
                file.write(json.dumps({"began": time.time(), **about}) + "\n")
                file.write(json.dumps({**about, **measure(case, options, n)}) + "\n")


def lines(path):
    if not path.exists():
        return
    with open(path) as file:
        for line in file:
            with contextlib.suppress(ValueError):  # the end of a sweep that was stopped while it wrote
                yield json.loads(line)


def finished(path):
    """key -> result. A case that was begun and never ended has the time at which it was begun alone."""
    found = {}
    for line in lines(path):
        if "case" in line and ("began" not in line or line["case"] not in found):
            found[line["case"]] = line
    return {key: line for key, line in found.items() if "began" not in line}
