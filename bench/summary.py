"""Geometric means over groups of functions: repmath's time beside the fastest of the other libraries, and beside PyTorch."""

import math

# (group, format) -> largest geometric mean of the ratio to the fastest other library, by instruction set
TARGETS = {
    ("elementary", "f32"): {"avx512": 1.6, "avx2": 2.0},
    ("activations", "f32"): {"avx512": 2.5, "avx2": 2.5},
    ("elementary", "f64"): {"avx512": 2.0, "avx2": 2.0},
    ("elementary", "f16"): {"avx512": 1.0, "avx2": 1.0},
    ("elementary", "bf16"): {"avx512": 1.0, "avx2": 1.0},
}


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def summary(results, isa):
    """One dict a group and format."""
    out = []
    cases = [r for r in results if "group" in r and r["ratio"]]
    for group, fmt in sorted({(r["group"], r["format"]) for r in cases}):
        some = [r for r in cases if (r["group"], r["format"]) == (group, fmt)]
        torch = [r["ratio"]["PyTorch"] for r in some if "PyTorch" in r["ratio"]]
        entry = {
            "group": group,
            "format": fmt,
            "cases": len(some),
            "fastest": mean([max(r["ratio"].values()) for r in some]),
            "slowest_case": max((max(r["ratio"].values()), r["case"]) for r in some),
        }
        if torch:
            entry |= {"PyTorch": mean(torch), "faster_than_PyTorch": sum(v < 1 for v in torch) / len(torch)}
        target = TARGETS.get((group, fmt), {}).get("avx512" if isa in ("amx", "avx512bf16") else isa)
        if target:
            entry |= {"at_most": target, "met": entry["fastest"] <= target}
        out.append(entry)
    return out


def show(entries):
    for e in entries:
        line = f"{e['group']:18} {e['format']:5} {e['cases']:3} cases   {e['fastest']:5.2f} x the fastest other"
        if "PyTorch" in e:
            line += f"   {e['PyTorch']:5.2f} x PyTorch, faster in {100 * e['faster_than_PyTorch']:.0f} %"
        if "at_most" in e:
            line += f"   ({'ok' if e['met'] else 'MISSED'}, <= {e['at_most']:g})"
        print(f"{line}   worst {e['slowest_case'][0]:.2f} {e['slowest_case'][1]}")
