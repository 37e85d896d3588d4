"""The script that checks a GPU (tools/gpu_check.py): its report has every section, and names what was wrong and what was cut off. Stages that need
no GPU are rehearsed on the stand-in; programs that print what the real ones do take the place of those."""

import os
import re
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")
from native import ROOT, emulated_cuda, need  # noqa: E402

SECTIONS = ["Bits", "Undecided shares", "Times against PyTorch", "Tails", "Memory", "Sanitizer"]


def program(folder, name, text):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def checked(folder, *stages, **more):
    need("c++")
    environment = {**os.environ, "REPMATH_CHECK_DEVICE": "standin", "REPMATH_CUDA_LIBRARY": str(emulated_cuda()), **more}
    environment["PATH"] = f"{folder}{os.pathsep}{environment['PATH']}"
    command = [
        sys.executable,
        str(ROOT / "tools/gpu_check.py"),
        "--build",
        str(folder),
        "--output",
        str(folder / "out"),
        *stages,
    ]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    text = (folder / "out/report.md").read_text() if (folder / "out/report.md").exists() else ""
    parts = re.split(r"^## (.*)\n", text, flags=re.M)
    return done, parts[0], dict(zip(parts[1::2], parts[2::2], strict=True))


def test_the_report_has_all_sections(tmp_path):
    program(tmp_path, "test_cuda", "echo 3 passed, 0 failed")
    program(tmp_path, "test_cuda_odd", "echo FAILED odd; echo 2 passed, 1 failed; exit 1")
    program(tmp_path, "compute-sanitizer", 'echo "ERROR SUMMARY: 0 errors"')
    done, head, found = checked(tmp_path, "bits", "sanitizer", "shares", "times")
    assert done.returncode == 1, done.stderr  # a program that is wrong is seen
    assert list(found) == SECTIONS
    assert "| bits | 1 | 0 |" in head and "| golden | | not run | |" in head and "| shares | 0 | 0 |" in head, head
    assert "! test_cuda_odd" in found["Bits"] and "test_cuda " not in found["Bits"]
    assert found["Sanitizer"].count("right") == 6
    shares = dict(re.findall(r"^    (.*): (\d+ of \d+), ", found["Undecided shares"], re.M))
    assert shares["softmax float64, rows of 90"] == "0 of 6" and shares["gradient of softmax float64, rows of 90"] == "6 of 6"
    assert shares["step of AdamW float32"].endswith("of 64"), shares
    assert "main memory" not in found["Undecided shares"]
    assert found["Times against PyTorch"].count("ratio") == found["Tails"].count("medians") > 40
    assert found["Memory"].count("workspace of") == len(shares) and "kept by softmax bfloat16" in found["Memory"]


def test_a_stage_that_takes_too_long_is_ended(tmp_path):
    program(tmp_path, "test_cuda", "sleep 300")
    done, head, found = checked(tmp_path, "bits", REPMATH_CHECK_SECONDS="4")
    assert done.returncode == 2 and "| bits | 0 | 1 |" in head
    assert "cut off after 4 s" in found["Bits"] and list(found) == SECTIONS
