"""Trainings that differ in what should not matter: the arms CONTROL, ALGO, IMPL and ALGO+IMPL.

CONTROL runs one seed under repmath.torch.reproducible(), on several instruction sets and thread counts. ALGO runs several seeds there,
so that nothing but the seed varies. IMPL runs one seed under PyTorch with settings that choose other kernels and thread counts, and
ALGO+IMPL varies both. Each run is a process of its own, whose result is kept: an interrupted study goes on where it stopped."""

import itertools
import json
import math
import os
import pathlib
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import repmath

from ._needs import need
from ._progress import progress as progress_of

ARMS = ("CONTROL", "ALGO", "IMPL", "ALGO+IMPL")
VARIABLES = ("REPMATH_ISA", "REPMATH_NUM_THREADS", "OMP_NUM_THREADS", "ATEN_CPU_CAPABILITY", "MKL_CBWR", "ONEDNN_MAX_CPU_ISA")


@dataclass
class Run:
    """What a training returned: predictions and labels of the test set, weights in one vector, groups of the test set, seconds."""

    predictions: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    groups: np.ndarray | None = None
    seconds: float = math.nan
    setting: dict[str, str] = field(default_factory=dict)

    @property
    def accuracy(self) -> float:
        return float((self.predictions == self.labels).mean())

    def digest(self) -> str:
        """SHA-256 of weights and predictions."""
        return str(repmath.digest(self.weights, self.predictions.astype(np.int64)))


def churn(a: np.ndarray, b: np.ndarray) -> float:
    """The share of predictions that differ."""
    return float((np.asarray(a) != np.asarray(b)).mean())


def rates(run: Run, chosen: np.ndarray) -> tuple[float, float]:
    """False positives of the negatives, false negatives of the positives, among the chosen; of labels 0 and 1."""
    prediction, label = run.predictions[chosen] == 1, run.labels[chosen] == 1
    negatives, positives = int((~label).sum()), int(label.sum())
    wrong_positive, wrong_negative = int((prediction & ~label).sum()), int((~prediction & label).sum())
    return (
        wrong_positive / negatives if negatives else math.nan,
        wrong_negative / positives if positives else math.nan,
    )


def _spread(values: Sequence[float], seed: int = 0, resamples: int = 2000) -> dict[str, Any]:
    """Range, mean, greatest, standard deviation with n - 1, and its bootstrap interval of 95 %."""
    x = np.asarray(values, np.float64)
    out: dict[str, Any] = {
        "n": x.size,
        "range": float(x.max() - x.min()),
        "max": float(x.max()),
        "mean": float(repmath.mean(x)),
    }
    out["stdev"] = float(repmath.std(x, ddof=1)) if x.size > 1 else math.nan
    if out["range"] == 0.0:
        # No event in n runs: its chance is below 3/n, with 95 % confidence.
        return out | {"stdev_low": 0.0, "stdev_high": 0.0, "rule_of_three": 3 / x.size}
    draws = np.random.default_rng(seed).integers(0, x.size, (resamples, x.size))
    spreads = np.asarray(repmath.std(x[draws], axis=1, ddof=1))
    return out | {"stdev_low": float(np.quantile(spreads, 0.025)), "stdev_high": float(np.quantile(spreads, 0.975))}


def compare(results: dict[str, list[Run]]) -> dict[str, dict[str, Any]]:
    """The tables of a study from its runs: for each arm accuracy, accuracy of each class, churn, distances of weights, time, rates of groups.

    Pairs of runs of one arm are compared with each other. An arm without any variation gets the number of its digests, not a test."""
    table: dict[str, dict[str, Any]] = {}
    for arm, runs in results.items():
        if not runs:
            raise ValueError(f"results of {arm} have no runs")
        for run in runs:
            if not np.array_equal(run.labels, runs[0].labels):
                raise ValueError(f"runs of {arm} have different labels: their predictions cannot be compared")
        pairs = list(itertools.combinations(runs, 2))
        classes = np.unique(runs[0].labels)
        by_class = {
            str(c): [float((r.predictions[r.labels == c] == c).mean()) for r in runs] for c in classes
        }  # of each class, the share that is found
        distances = [float(repmath.norm(np.float64(a.weights) - np.float64(b.weights))) for a, b in pairs]
        unit = [w / max(float(repmath.norm(np.float64(w))), 5e-324) for w in (np.float64(r.weights) for r in runs)]
        normalised = [float(repmath.norm(a - b)) for a, b in itertools.combinations(unit, 2)]
        row: dict[str, Any] = {
            "runs": len(runs),
            "digests": len({r.digest() for r in runs}),
            "accuracy": _spread([r.accuracy for r in runs]),
            "class": {c: _spread(v) for c, v in by_class.items()},
            "churn": float(repmath.mean(np.array([churn(a.predictions, b.predictions) for a, b in pairs]))) if pairs else 0.0,
            "distance": float(repmath.mean(np.array(distances))) if pairs else 0.0,
            "distance_normalised": float(repmath.mean(np.array(normalised))) if pairs else 0.0,
            "seconds": _spread([r.seconds for r in runs]),
        }
        groups = runs[0].groups
        if groups is not None and set(np.unique(runs[0].labels)) <= {0, 1}:
            row["group"] = {
                str(g): {name: _spread([rates(r, groups == g)[k] for r in runs]) for k, name in enumerate(("fpr", "fnr"))}
                for g in np.unique(groups)
            }
        table[arm] = row
    return table


def tests(results: dict[str, list[Run]]) -> list[dict[str, Any]]:
    """Brown and Forsythe's test of equal spreads and Mann and Whitney's of equal places of accuracy, for each pair of arms that both
    vary, with Holm's correction."""
    stats = need("scipy.stats", "a test")
    accuracy = {arm: [r.accuracy for r in runs] for arm, runs in results.items()}
    varying = [arm for arm, values in accuracy.items() if len(set(values)) > 1]
    found: list[dict[str, Any]] = []
    for a, b in itertools.combinations(varying, 2):
        found.append(
            {
                "arms": f"{a}, {b}",
                "test": "Brown-Forsythe",
                "p": float(stats.levene(accuracy[a], accuracy[b], center="median").pvalue),
            }
        )
        found.append(
            {"arms": f"{a}, {b}", "test": "Mann-Whitney", "p": float(stats.mannwhitneyu(accuracy[a], accuracy[b]).pvalue)}
        )
    ordered = sorted(found, key=lambda t: t["p"])
    least = 0.0
    for place, test in enumerate(ordered):
        least = max(least, min(1.0, test["p"] * (len(ordered) - place)))
        test["p_holm"] = least
    return found


def settings(arm: str, runs: int, seed: int = 0) -> list[tuple[int, bool, dict[str, str]]]:
    """(seed, whether under reproducible(), environment) of each run of an arm."""
    if arm not in ARMS:
        raise ValueError(f"arms must be of {', '.join(ARMS)}, not {arm!r}")
    isas = [isa for isa in repmath._core.available_isas() if isa != "amx"]
    ours = [
        {"REPMATH_ISA": isa, "REPMATH_NUM_THREADS": str(t), "OMP_NUM_THREADS": str(t)} for t in (1, 2, 3, 4) for isa in isas
    ]
    theirs = [
        {"ATEN_CPU_CAPABILITY": aten, "ONEDNN_MAX_CPU_ISA": dnn, "OMP_NUM_THREADS": str(t)}
        for t in (1, 2, 3, 4)
        for aten, dnn in itertools.product(("default", "avx2"), ("SSE41", "AVX2"))
    ]
    theirs += [{"OMP_NUM_THREADS": str(t)} for t in (1, 2, 3, 4)]
    out = []
    for i in range(runs):
        if arm in {"CONTROL", "ALGO"}:
            out.append((seed + (i if arm == "ALGO" else 0), True, ours[i % len(ours)]))
        else:
            out.append((seed + (i if arm == "ALGO+IMPL" else 0), False, theirs[i % len(theirs)]))
    return out


def split_script(script: str) -> tuple[str, str]:
    """ "FILE:FUNCTION" as its two parts."""
    path, colon, name = script.rpartition(":")
    if not colon or not name.isidentifier():
        raise ValueError(f"script must be FILE:FUNCTION, not {script!r}")
    if not pathlib.Path(path).is_file():
        raise ValueError(f"script {path!r} is no file")
    return path, name


def arms(
    script: str,
    runs: int = 16,
    arms: Sequence[str] = ARMS,
    *,
    out: str | os.PathLike[str],
    seed: int = 0,
    progress: bool = False,
) -> dict[str, list[Run]]:
    """Runs a training in every arm; each run in a process of its own.

    Parameters
    ----------
    script : str
        "FILE:FUNCTION". The function takes a seed, trains with PyTorch, and returns a dict of arrays: "predictions" and "labels" of a
        test set, "weights" in one vector, and "groups" of the test set if there are any.
    runs : int
        Of each arm, at least 2.
    arms : sequence of str
        Of CONTROL, ALGO, IMPL, ALGO+IMPL.
    out : path
        A folder. Results that it has are not computed again.
    seed : int
    progress : bool
        Show on standard error which run is done.

    Returns
    -------
    dict
        The runs of each arm, for `compare`.

    Raises
    ------
    ValueError
        An argument is wrong.
    RuntimeError
        A run failed; what is done stays in the folder.
    """
    path, name = split_script(script)
    if isinstance(runs, bool) or not hasattr(runs, "__index__") or runs < 2:
        raise ValueError(f"runs must be an integer of at least 2, not {runs!r}")
    if isinstance(seed, bool) or not hasattr(seed, "__index__") or not 0 <= seed <= 2**64 - 1 - runs:
        raise ValueError(f"seed must be an integer from 0 to 2**64 - 1 - runs, not {seed!r}")
    folder = pathlib.Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    results: dict[str, list[Run]] = {}
    say = progress_of(runs * len(arms), progress)
    for arm in arms:
        for i, (number, reproducible, setting) in enumerate(settings(arm, runs, seed)):
            file = folder / f"{arm.replace('+', '_')}-{i}.npz"
            if not file.exists():
                environment = {k: v for k, v in os.environ.items() if k not in VARIABLES} | setting
                command = [
                    sys.executable,
                    "-m",
                    "repmath.study._worker",
                    path,
                    name,
                    str(number),
                    str(int(reproducible)),
                    str(file),
                ]
                done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
                if done.returncode != 0:
                    last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}, no message"])[-1]
                    report = file.with_suffix(".err")
                    report.write_text(done.stderr, encoding="utf-8")
                    kept = sum(1 for p in folder.glob("*-*.npz") if not p.name.endswith(".part.npz"))
                    raise RuntimeError(
                        f"run {i} of {arm} failed: {last} ({name} of {path} with the seed {number}; all that it said is in {report}, "
                        f"and {kept} runs that are done stay in {folder})"
                    )
            results.setdefault(arm, []).append(load(file, setting))
            say(f"{arm}, accuracy {results[arm][-1].accuracy:.4f}")
    return results


def load(file: str | os.PathLike[str], setting: dict[str, str] | None = None) -> Run:
    """A run from its file."""
    try:
        data = np.load(file)
    except (OSError, EOFError, ValueError, zipfile.BadZipFile) as error:
        raise ValueError(f"{file} is no run of a study, and has to be removed: {error}") from error
    with data:
        groups = data["groups"] if "groups" in data else None
        return Run(data["predictions"], data["labels"], data["weights"], groups, float(data["seconds"]), setting or {})


def as_json(table: dict[str, Any]) -> str:
    return json.dumps(table, indent=1, sort_keys=True)
