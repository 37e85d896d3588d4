"""The six rows of README.md are figures of docs/performance.md, as bench/table.py writes them from one file of results."""

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
    return module.readme()


def measured():
    """The results behind the first part of docs/performance.md, as far as README.md needs them."""
    page = (ROOT / "docs/performance.md").read_text()
    cpu, isa = re.search(r"^(.+?), instruction set (\w+);", page, re.M).groups()
    part = page[: page.find("\n## ", page.index("\n## ") + 1)]
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
    return {"machine": {"cpu": cpu, "isa": isa, "versions": versions}, "summary": groups, "results": products + others}


def test_readme_has_the_measured_rows(tmp_path):
    written = re.search(r"<!-- bench:begin -->\n(.*?)\n<!-- bench:end -->", (ROOT / "README.md").read_text(), re.S)[1]
    data = measured()
    assert written == table(tmp_path, data) and written.count("\n| ") == 8  # a heading, dashes and six rows
    data["summary"][2]["fastest"] += 0.5
    assert any(g["group"] == "activations" and g["format"] == "f32" for g in data["summary"][2:3])
    assert written != table(tmp_path, data)


def test_nothing_measured(tmp_path):
    assert table(tmp_path, None).startswith("Not measured yet")
