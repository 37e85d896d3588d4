"""What a library's results are beside the expected bits: as data, as text, as a page, and as a table for docs/conformance.md."""

import html
import json
import platform
from pathlib import Path
from typing import Any

import numpy as np

from . import SUITE
from .cases import Group
from .formats import distance, is_nan, values

FORMATS = ("f64", "f32", "f16", "bf16")
FAR = 1_000_000  # numbers away: beyond that the count says nothing
FLAGS = ("avx512f", "avx2", "avx", "sse4_2", "asimd", "sve")


def row(group: Group, by: str, found: np.ndarray) -> dict[str, Any]:
    """How many results differ. A NaN of other bits than the canonical one is counted apart: a number is not wrong there, but the bits are."""
    want, kind = group.expected, group.result
    nan = is_nan(want, kind) & is_nan(found, kind)
    other = nan & (want != found)
    wrong = np.flatnonzero((want != found) & ~nan)
    ends = [*[first for first, _ in group.sources[1:]], len(want)]
    sources = {
        name: [int(((wrong >= first) & (wrong < end)).sum()), end - first]
        for (first, name), end in zip(group.sources, ends, strict=True)
    }
    numbers = [i for i in wrong if not (is_nan(want[i : i + 1], kind) | is_nan(found[i : i + 1], kind))[0]]
    distances = [distance(int(want[i]), int(found[i]), kind) for i in numbers]
    apart = max(distances, default=0)
    furthest = [numbers[distances.index(apart)]] if distances else []
    told = [*furthest, *(i for i in wrong[:3] if i not in furthest)][:3]
    return {
        "operation": group.operation,
        "format": group.format,
        "family": group.family,
        "by": by,
        "results": len(want),
        "wrong": len(wrong),
        "other NaN": int(other.sum()),
        "furthest": apart,
        "sources": sources,
        "examples": [example(group, int(i), found) for i in told],  # the furthest, and the first ones
    }


def example(group: Group, i: int, found: np.ndarray) -> dict[str, Any]:
    """A wrong result, and what was given: numbers that are read, and their bits."""
    given: dict[str, Any]
    if not group.calls:
        given = {n: shown(a[i : i + 1], k) for n, a, k in zip("xyz", group.arguments, group.kinds, strict=False)}
    else:
        place, j = 0, i
        for case in group.calls:
            if j < case.want.size:
                break
            j -= case.want.size
            place += 1
        case = group.calls[place]
        given = {"case": place, "result": j, **case.parameters}
        given |= {n: shown(a, group.format) for n, a in zip("xy", case.arrays, strict=False) if a.size <= 8}
    got, want = found[i : i + 1], group.expected[i : i + 1]
    return {"given": given, "got": shown(got, group.result), "expected": shown(want, group.result)}


def shown(bits: np.ndarray, kind: str) -> str:
    with np.errstate(all="ignore"):
        return " ".join(
            f"{v!s} ({b:#0{2 * bits.itemsize + 2}x})" for v, b in zip(values(bits, kind).tolist(), bits.tolist(), strict=True)
        )


def machine() -> dict[str, str]:
    name, flags = platform.processor() or platform.machine(), ""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                name = value.strip()
            if key.strip() in ("flags", "Features") and not flags:
                flags = " ".join(f for f in FLAGS if f in value.split())
    except OSError:
        pass
    return {"cpu": name, "instructions": flags, "system": f"{platform.system()} {platform.machine()}"}


def report(library: Any, rows: list[dict[str, Any]], missing: list[dict[str, str]], how: dict[str, Any]) -> dict[str, Any]:
    return {
        "suite": SUITE,
        "specification": 1,
        "library": library.name,
        "versions": {"python": platform.python_version(), **library.versions()},
        "machine": {**machine(), "the library's": library.simd()},
        "how": how,
        "results": sum(r["results"] for r in rows),
        "wrong": sum(r["wrong"] for r in rows),
        "other NaN": sum(r["other NaN"] for r in rows),
        "rows": rows,
        "missing": missing,
    }


def conforms(found: dict[str, Any]) -> bool:
    return bool(found["rows"]) and found["wrong"] == 0 and found["other NaN"] == 0


def sentence(found: dict[str, Any]) -> str:
    """What a report says, in one line."""
    some = f"{len(found['rows'])} operations in a format, {found['results']:,} results"
    if not found["rows"]:
        return f"{found['library']} has none of these operations."
    if conforms(found):
        return f"{found['library']} conforms in what it has: {some}, all as the specification asks."
    more = f", {found['other NaN']:,} NaN of other bits" if found["other NaN"] else ""
    return f"{found['library']} differs: {some}, {found['wrong']:,} wrong{more}."


def rate(wrong: int, results: int) -> str:
    """A share of which 0 % means none."""
    if wrong == 0 or results == 0:
        return "0 %"
    share = 100 * wrong / results
    return f"{share:.3g} %" if share < 10 else f"{share:.0f} %"


def table(found: dict[str, Any]) -> list[list[str]]:
    """A row for each operation, a column for each format; several symbols are several rows."""
    rows: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    seen: dict[tuple[str, str], int] = {}
    for r in found["rows"]:
        n = seen[r["operation"], r["format"]] = seen.get((r["operation"], r["format"]), 0) + 1
        rows.setdefault((r["operation"], "" if n == 1 else f" ({n})"), {})[r["format"]] = r
    columns = [f for f in (*FORMATS, "u32", "u64", "i64", "u8") if any(f in c for c in rows.values())]
    out = [["operation", *columns]]
    for (operation, n), cells in rows.items():
        out.append([operation + n, *(cell(cells[f]) if f in cells else "" for f in columns)])
    return out


def cell(r: dict[str, Any]) -> str:
    if not r["wrong"]:
        return "all" if not r["other NaN"] else "all but NaN"
    share, apart = rate(r["wrong"], r["results"]), r["furthest"]
    return f"{share} wrong" + (f", by {apart:,}" if 0 < apart <= FAR else ", far" if apart else "")


def text(found: dict[str, Any]) -> str:
    rows = table(found)
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = (
        ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows] if len(rows) > 1 else []
    )
    about = [", ".join(f"{k} {v}" for k, v in found[part].items() if v) for part in ("versions", "machine")]
    for r in found["rows"]:
        for e in r["examples"][:1]:
            given = ", ".join(f"{k} = {v}" for k, v in e["given"].items())
            lines.append(f"{r['operation']} {r['format']} ({r['by']}): {given}: {e['got']}, expected {e['expected']}")
    return "\n".join([f"{found['library']}: {'; '.join(about)}", *lines, sentence(found)]) + "\n"


def markdown(reports: list[dict[str, Any]]) -> str:
    """A table for a page: the share of wrong results, a column for each library and format of numbers, a row for each operation."""
    cells: dict[str, dict[tuple[str, str], str]] = {}
    columns: list[tuple[str, str]] = []
    for found in reports:
        for r in found["rows"]:
            column = found["library"], r["format"]
            if r["format"] in FORMATS:
                columns += [column] if column not in columns else []
                cells.setdefault(r["operation"], {}).setdefault(column, rate(r["wrong"], r["results"]))
    columns.sort(key=lambda c: ([f["library"] for f in reports].index(c[0]), FORMATS.index(c[1])))
    lines = [["", *(f"{name} {fmt}" for name, fmt in columns)], ["---"] * (len(columns) + 1)]
    lines += [[operation, *(found.get(c, "") for c in columns)] for operation, found in cells.items()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


STYLE = """body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:70em;padding:0 1em;color:#222}
table{border-collapse:collapse;margin:1em 0}td,th{border:1px solid #ccc;padding:.2em .6em;text-align:left}
.all{background:#dff2df}.nan{background:#fff4cc}.wrong{background:#f9dcdc}code{font-size:90%}"""


def page(found: dict[str, Any]) -> str:
    """One file of HTML without anything from elsewhere."""
    e = html.escape
    rows = table(found)

    def td(text: str) -> str:
        kind = "" if not text else "all" if text == "all" else "nan" if text == "all but NaN" else "wrong"
        return f'<td class="{kind}">{e(text)}</td>'

    head = "".join(f"<th>{e(c)}</th>" for c in rows[0])
    body = "".join(f"<tr><th>{e(r[0])}</th>{''.join(td(c) for c in r[1:])}</tr>" for r in rows[1:])
    wrong = []
    for r in found["rows"]:
        for x in r["examples"]:
            given = ", ".join(f"{k} = {v}" for k, v in x["given"].items())
            wrong.append(f"<tr><td>{e(r['operation'])} {e(r['format'])}</td><td><code>{e(r['by'])}</code></td>"
                         f"<td>{e(given)}</td><td>{e(x['got'])}</td><td>{e(x['expected'])}</td></tr>")  # fmt: skip
    sources = "".join(
        f"<tr><td>{e(r['operation'])} {e(r['format'])}</td><td><code>{e(r['by'])}</code></td><td>{e(part)}</td>"
        f"<td>{a:,} of {n:,}</td></tr>"
        for r in found["rows"]
        for part, (a, n) in r["sources"].items()
        if a
    )
    missing = ", ".join(sorted({f"{m['operation']} {m['format']}" for m in found["missing"]}))
    about = "".join(
        f"<li>{e(part)}: {e(', '.join(f'{k} {v}' for k, v in found[part].items() if v != ''))}</li>"
        for part in ("versions", "machine", "how")
    )
    parts = [
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{e(found['library'])}: conformance</title><style>{STYLE}</style>",
        f"<h1>{e(found['library'])}</h1><p>{e(sentence(found))}</p><ul>{about}</ul>",
        "<p>A cell says how many results are wrong, and how many numbers of the format the furthest one is away.</p>",
        f"<table><tr>{head}</tr>{body}</table>",
    ]
    if wrong:
        parts.append(
            "<h2>Wrong results</h2><table><tr><th>operation<th>by<th>given<th>result<th>expected</tr>" + "".join(wrong)
        )
        parts.append("</table><h2>By where the inputs come from</h2><table><tr><th>operation<th>by<th>inputs<th>wrong</tr>")
        parts.append(sources + "</table>")
    parts.append(f"<h2>What it lacks</h2><p>{e(missing) or 'Nothing.'}</p></html>")
    return "\n".join(parts) + "\n"


def write(found: dict[str, Any], folder: Path) -> list[Path]:
    """LIBRARY.json and LIBRARY.html in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{found['library']}.{suffix}" for suffix in ("json", "html")]
    paths[0].write_text(json.dumps(found, indent=1) + "\n")
    paths[1].write_text(page(found))
    return paths
