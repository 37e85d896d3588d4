"""What a sweep found: how ratios are distributed by group, the cases above the limit, and values that cost more than Gaussian ones."""

import json
from collections import Counter

from ..table import quantiles
from .worker import finished, lines, wanted


def distribution(label, ratios):
    return f"{label:34} {len(ratios):6d} " + " ".join(f"{v:10.2f}" for v in quantiles(ratios))


def decided(result):
    """The shares of the elements that the tiers after the first decided."""
    tiers = result.get("tiers", {})
    total = sum(tiers.values())
    later = {name: n for name, n in tiers.items() if name != "fast"}
    return ", ".join(f"{name} {100 * n / total:.2g} %" for name, n in later.items())


def other(result):
    return next(name for name in result["seconds"] if name != "repmath")


def shown(result):
    if "stopped" in result:
        return f"  stopped after {result['stopped']:g} s   {result['case']}"
    low, high = result["quartiles"]
    ours, theirs = (1e6 * result["seconds"][name] for name in ("repmath", other(result)))
    tiers = decided(result)
    return (
        f"{result['ratio']:10.2f} [{low:.2f}, {high:.2f}] {ours:12.1f} us {theirs:12.1f} us  {result['case']}"
        + f"  ({tiers})" * bool(tiers)
    )


def dear_values(measured):
    """The cases that take longer than Gaussian data of the same call, by how much."""
    fields = ("group", "name", "dtype", "shape", "direction", "threads")
    plain = {tuple(r[f] for f in fields): r for r in measured if r["values"] == "gaussian"}
    found = []
    for r in measured:
        base = plain.get(tuple(r[f] for f in fields))
        if base and base is not r:
            found.append((r["seconds"]["repmath"] / base["seconds"]["repmath"], r))
    return sorted(found, key=lambda pair: -pair[0])


def machines(path):
    """What the results were measured on, each once."""
    found = dict.fromkeys(json.dumps(line["machine"]) for line in lines(path) if "machine" in line)
    for about in map(json.loads, found):
        yield f"{about['cpu']}, {about['isa']}; {about['blas']}; {about['versions']}; {about['environment']}"


def overheads(measured):
    """Microseconds that calls on 4x4 numbers take beyond the other library's, by name of the function."""
    found = {}
    for r in measured:
        if r["shape"] == "4x4" and r["values"] == "gaussian" and r["direction"] == "forward" and r["threads"] == 1:
            found[f"{r['name']} {r['dtype']} beside {other(r)}"] = 1e6 * (r["seconds"]["repmath"] - r["seconds"][other(r)])
    return sorted(found.items(), key=lambda item: -item[1])


def report(options):
    for about in machines(options.results):
        print(about)
    fields = ("group", "dtype", "values", "direction", "threads")
    results = [
        r for r in finished(options.results).values() if wanted(options, r["group"], r["name"], {f: r[f] for f in fields})
    ]
    measured = [r for r in results if "ratio" in r]
    stopped = [r for r in results if "stopped" in r]
    skipped = [r for r in results if "skipped" in r]
    print(f"{len(measured)} cases measured, {len(stopped)} stopped, {len(skipped)} skipped")
    if not measured:
        return
    print(f"\n{'repmath / other library':34} {'cases':>6} {'median':>10} {'p90':>10} {'p99':>10} {'worst':>10}")
    for field in ("group", "dtype", "direction", "values", "threads"):
        for value in dict.fromkeys(r[field] for r in measured):
            print(distribution(f"{field} {value}", [r["ratio"] for r in measured if r[field] == value]))
    for library in dict.fromkeys(map(other, measured)):
        print(distribution(f"beside {library}", [r["ratio"] for r in measured if other(r) == library]))
    print(distribution("all", [r["ratio"] for r in measured]))
    above = sorted((r for r in measured if r["ratio"] > options.limit), key=lambda r: -r["ratio"])
    worst = {}
    for r in above:
        worst.setdefault((r["group"], r["name"], r["direction"]), []).append(r)
    print(
        f"\nabove {options.limit:g}: {len(above)} of {len(measured)}; ratio [quartiles], repmath, the other, the case (later tiers)"
    )
    print(f"of each of {len(worst)} functions and directions the worst")
    for r in stopped:
        print(shown(r))
    for r, *more in list(worst.values())[: options.most]:
        print(shown(r) + f"  and {len(more)} more" * bool(more))
    found = dear_values(measured)
    if found:
        print(f"\n{distribution('special values / Gaussian', [ratio for ratio, _ in found])}")
        dear = [(ratio, r) for ratio, r in found if ratio > 2]
        print(f"above 2: {len(dear)}; times the Gaussian case of repmath")
        for ratio, r in dear[: options.most]:
            print(f"{ratio:10.2f}  {shown(r)}")
    dearest = overheads(measured)
    if dearest:
        median, most = quantiles([us for _, us in dearest])[:2]
        print(f"\n4x4 calls: median {median:.1f} us beyond the other library's, p90 {most:.1f}, the dearest:")
        print(", ".join(f"{name} {us:.1f}" for name, us in dearest[: options.most // 4]))
    reasons = Counter(r["skipped"].split(":")[0] for r in skipped)
    print("\nskipped: " + (", ".join(f"{n} {reason}" for reason, n in reasons.most_common()) or "none"))
    if options.skipped:
        for r in skipped:
            print(f"  {r['case']}: {r['skipped']}")
