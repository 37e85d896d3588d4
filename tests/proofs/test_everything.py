"""What `make proofs` runs: each stage is there, and one that fails is seen."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from proofs import everything  # noqa: E402
from proofs.oracle import b32, b32_half, functions, source  # noqa: E402


def test_every_stage_is_there():
    stages = [*everything.alone(), *everything.TOGETHER, everything.TABLE]
    assert len({stage.name for stage in stages}) == len(stages)
    assert len(stages) > len(b32.evaluations()) + len(b32_half.evaluations()) - len(everything.not_measured())
    for stage in stages:
        first, *rest = stage.command
        path = rest[0].replace(".", "/") + ".py" if first == "-m" else first
        assert (ROOT / path).exists(), stage


def test_a_cpu_without_avx512_measures_what_it_can(capsys, monkeypatch):
    """Of what it cannot measure, it checks that the certificate is of this source; control: one that is not."""
    monkeypatch.setattr(source, "runs", lambda isa: isa == "avx2")
    names = [stage.name for stage in everything.alone()]
    assert (
        "16 bits exp" not in names and "16 bits, certificates" in names and set(everything.not_measured()) >= {"exp", "pow"}
    )
    erf, exp = b32.evaluations()["erf"], b32.evaluations()["exp"]
    assert b32.prove(erf, functions.table()["erf"], 1)
    assert "erf: not measured on avx512, which this CPU has not: its certificate is of this source" in capsys.readouterr().out
    assert source.runnable("exp", exp.isas, lambda isas: b32.outdated(exp, isas)) == (["avx2"], True)
    monkeypatch.setattr(source, "digest", lambda *_: "another")
    assert source.runnable("exp", exp.isas, lambda isas: b32.outdated(exp, isas)) == (["avx2"], False)
    assert not b32.prove(erf, functions.table()["erf"], 1)


def test_a_stage_that_fails_is_seen(capsys, monkeypatch):
    bad = everything.Stage("bad", ("-c", "print('why'); raise SystemExit(3)"))
    monkeypatch.setattr(everything, "alone", lambda: [bad])
    monkeypatch.setattr(everything, "TOGETHER", [everything.Stage("good", ("-c", "x = sum(range(10**6))"))])
    monkeypatch.setattr(everything, "TABLE", everything.Stage("table", ("-c", "print('written')")))
    assert everything.main([]) == 1
    text = capsys.readouterr().out
    assert "bad: FAILED" in text and "why" in text and "good: done" in text and "written" not in text
    assert everything.main(["--only", "good"]) == 0 and everything.main(["--only", "table"]) == 0


def test_a_stage_s_time_is_that_of_its_processes():
    work = "import multiprocessing as m\nif __name__ == '__main__':\n with m.Pool(1) as p: p.map(sum, [range(3 * 10**7)])\n p.join()"
    assert everything.run(everything.Stage("work", ("-c", work))).cpu > 0.3
