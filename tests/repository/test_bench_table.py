"""The rows of README.md are figures of docs/performance.md, as bench/table.py writes them from one file of results."""

import importlib.util
import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]


def table(folder, data):
    spec = importlib.util.spec_from_file_location("bench_table", ROOT / "bench/table.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.RESULTS = folder
    if data:
        (folder / f"{data['machine']['isa']}.json").write_text(json.dumps(data))
        (folder / "sweep").mkdir(exist_ok=True)
        lines = [json.dumps(line) for line in data["sweep"]]
        (folder / f"sweep/{data['machine']['isa']}.jsonl").write_text("\n".join(lines))
    return module.readme()


def families(page):
    """The results of a sweep behind the first table of families."""
    if "\n### Families of models" not in page:
        return
    lines = page[page.index("\n### Families of models") :].split("\n\n")[1].splitlines()
    heads, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    for family, *ratios in rows:
        for head, ratio in zip(heads[1:], ratios, strict=True):
            what, dtype, threads, width = head.split(", ")
            if ratio:
                about = {"group": "models", "direction": what, "dtype": dtype, "threads": int(threads[0]), "shape": width}
                yield {"case": f"{family} {head}", "ratio": float(ratio), **about}


def measured():
    """The results behind the first part of docs/performance.md, as far as README.md needs them."""
    whole = (ROOT / "docs/performance.md").read_text()
    page = whole[whole.index("\n## How fast is it with") :]
    cpu, isa = re.search(r"^(.+?), instruction set (\w+);", page, re.M).groups()
    part = page[: page.find("\n## ", 1)]
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line.startswith("| ")]
    groups = [dict(group=r[0], format=r[1], fastest=float(r[2]), PyTorch=float(r[3])) for r in lines if r[-1].endswith(" %")]
    products = [
        {"case": r[0], "ratio": {n: float(v) for n, v in zip(("NumPy", "AVX-512", "PyTorch"), r[2:], strict=True) if v}}
        for r in lines
        if r[0].startswith("matmul ") and len(r) == 5
    ]
    others = [
        {"case": r[0], "ratio": {r[2].split(":")[0] if ":" in r[2] else "NumPy": float(r[3])}}
        for r in lines
        if r[0].startswith(("sum ", "training step")) and len(r) == 4
    ]
    versions = {name: re.search(rf" {name} ([^,;]+)", page)[1] for name in ("numpy", "torch")}
    return {
        "machine": {"cpu": cpu, "isa": isa, "versions": versions},
        "summary": groups,
        "results": products + others,
        "sweep": [*families(whole)],
    }


def test_readme_has_the_measured_rows(tmp_path):
    written = re.search(r"<!-- bench:begin -->\n(.*?)\n<!-- bench:end -->", (ROOT / "README.md").read_text(), re.S)[1]
    data = measured()
    swept = {r["direction"] for r in data["sweep"] if (r["dtype"], r["threads"]) == ("f32", 1)}
    assert written == table(tmp_path, data)
    assert written.count("\n| ") == 8 + len(swept)  # a heading, dashes, six rows, and those of a sweep
    data["summary"][2]["fastest"] += 0.5
    assert any(g["group"] == "activations" and g["format"] == "f32" for g in data["summary"][2:3])
    assert written != table(tmp_path, data)


def test_nothing_measured(tmp_path):
    assert table(tmp_path, None).startswith("Not measured yet")
