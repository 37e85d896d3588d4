"""repmath.study: estimates of digits, arms, orders of sums; a test for each defect of published scripts that it must not repeat."""

import contextlib
import csv
import hashlib
import itertools
import math
import os
import pathlib
import statistics
import subprocess
import sys

import numpy as np
import pytest

import repmath
from repmath import cli, study
from repmath.study import _arms, _digits, _order, _progress, _variability

# --- digits ---


def test_the_deviation_has_n_less_1_in_its_denominator():
    """A published package has n, beside a quantile of n - 1 degrees of freedom."""
    x = 1 + np.array([1e-3, -2e-3, 4e-3, 5e-4])
    exact = -math.log10(statistics.stdev(x.tolist()) / statistics.mean(x.tolist()))
    biased = -math.log10(statistics.pstdev(x.tolist()) / statistics.mean(x.tolist()))
    got = float(study.digits(x, method="parker").value)
    assert abs(got - exact) < 1e-14 < abs(got - biased)


def test_samples_that_are_alike_are_censored_not_precise():
    """The ceiling of a formula at zero variance is no measurement of digits."""
    same = study.digits(np.full((5, 2), 0.25, np.float32))
    assert same.censored.all() and np.allclose(same.value, 24 * math.log10(2)) and np.isinf(same.high).all()
    some = study.digits(np.array([[1.0, 1.0], [1.0, 1.0001]], np.float32))
    assert some.censored.tolist() == [True, False] and some.summary()["censored"] == 0.5


def test_digits_against_a_reference_see_a_bias():
    x = 2 + np.array([1e-6, -1e-6, 2e-6, 0.0])
    precision, accuracy = study.digits(x, method="parker"), study.digits(x, reference=2.1, method="parker")
    assert precision.value > 5 > 2 > accuracy.value and accuracy.accuracy and not precision.accuracy
    alike = study.digits(np.full(5, 2.0), reference=2.1)
    assert not alike.censored and alike.value < 2


@pytest.mark.parametrize(("probability", "needed"), [(0.9, 29), (0.95, 59), (0.99, 299)])
def test_samples_that_the_estimate_without_a_distribution_needs(probability, needed):
    assert study.samples_needed(probability, 0.95) == needed
    x = 1 + np.random.default_rng(0).standard_normal(needed) * 1e-4
    assert 3 < study.digits(x, method="general", probability=probability).value < 4
    with pytest.raises(ValueError, match=f"samples are {needed - 1}; {needed} are needed"):
        study.digits(x[:-1], method="general", probability=probability)


def test_intervals_cover_as_often_as_they_say():
    """Of 2,000 sets of 10 normal samples: cnh's digits are had by a new one with probability 0.9 in 95 of 100 sets, parker's interval
    holds the true value in 95 of 100. The seeds are fixed; the margins are five deviations of the counts."""
    rng = np.random.default_rng(1)
    x = 1 + 1e-4 * rng.standard_normal((10, 2000))
    true = -math.log10(1e-4 * statistics.NormalDist().inv_cdf(0.95))  # digits that 90 % of new samples have
    cnh = study.digits(x, reference=1.0, method="cnh", probability=0.9)
    assert 0.92 < (cnh.value <= true).mean() < 0.98
    parker = study.digits(x, method="parker")
    assert 0.92 < ((parker.low <= 4) & (parker.high >= 4)).mean() < 0.98
    biased = -np.log10(x.std(axis=0) / x.mean(axis=0)) - (parker.value - parker.low)  # control: n in the denominator
    assert (biased <= 4).mean() < (parker.low <= 4).mean()


def test_values_that_are_not_finite_have_no_digits():
    x = np.array([[1.0, np.nan, 0.0], [1.1, 1.0, 0.0]])
    got = study.digits(x, method="parker")
    assert np.isnan(got.value[1]) and got.censored.tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("arguments", "options", "name"),
    [
        (([1.0],), {}, "samples"),
        (([1.0, 2.0],), {"method": "best"}, "method"),
        (([1.0, 2.0],), {"probability": 1.0}, "probability"),
        (([1.0, 2.0],), {"confidence": 0}, "confidence"),
    ],
)
def test_wrong_arguments_of_digits_are_named(arguments, options, name):
    with pytest.raises(ValueError, match=name):
        study.digits(*arguments, **options)


# --- arms ---


def run(predictions, labels, weights=(1.0, 2.0), groups=None, seconds=1.0):
    return study.Run(
        np.array(predictions), np.array(labels), np.array(weights), None if groups is None else np.array(groups), seconds
    )


LABELS = [0, 0, 0, 1, 1, 1, 1, 1]


def test_churn_is_the_share_that_differs():
    """A published script returned the share that agrees."""
    a, b = run([0, 0, 0, 1, 1, 1, 1, 1], LABELS), run([0, 0, 0, 1, 1, 1, 1, 0], LABELS)
    assert study.compare({"ALGO": [a, b]})["ALGO"]["churn"] == 1 / 8


def test_false_negatives_are_counted_among_the_positives():
    """A published script divided them by false positives and true negatives."""
    one = run([0, 0, 1, 0, 0, 1, 1, 1], LABELS, groups=[0] * 8)
    table = study.compare({"ALGO": [one, one]})["ALGO"]["group"]["0"]
    assert table["fpr"]["mean"] == 1 / 3 and table["fnr"]["mean"] == 2 / 5


def test_accuracy_churn_and_distance_are_of_one_state_of_each_run():
    """A published script took predictions and weights of another epoch than accuracy: here one run holds all three."""
    a, b = run(LABELS, LABELS, (3.0, 4.0)), run([1, *LABELS[1:]], LABELS, (3.0, 8.0))
    row = study.compare({"ALGO": [a, b]})["ALGO"]
    assert (row["accuracy"]["range"], row["churn"], row["distance"]) == (1 / 8, 1 / 8, 4.0)
    assert math.isclose(
        row["distance_normalised"], math.dist((0.6, 0.8), (3 / math.hypot(3, 8), 8 / math.hypot(3, 8))), rel_tol=1e-15
    )


def test_times_are_those_of_single_runs():
    """A published table had the average in the column of times."""
    runs = [run(LABELS, LABELS, seconds=s) for s in (1.0, 2.0, 6.0)]
    assert study.compare({"IMPL": runs})["IMPL"]["seconds"] | {"stdev_low": 0, "stdev_high": 0} == {
        "n": 3, "range": 5.0, "max": 6.0, "mean": 3.0, "stdev": math.sqrt(7), "stdev_low": 0, "stdev_high": 0
    }  # fmt: skip


def test_the_control_arm_varies_settings_and_not_the_seed():
    """A published study had never trained its control; another had one seed of augmentation in every arm."""
    control, algo = _arms.settings("CONTROL", 8, seed=5), _arms.settings("ALGO", 8, seed=5)
    impl, both = _arms.settings("IMPL", 16, seed=5), _arms.settings("ALGO+IMPL", 16, seed=5)
    assert {s for s, _, _ in control} == {5} and all(ours for _, ours, _ in control)
    assert len({tuple(e.items()) for _, _, e in control}) == 8
    assert [s for s, _, _ in algo] == list(range(5, 13)) and all(ours for _, ours, _ in algo)
    assert (
        {s for s, _, _ in impl} == {5}
        and len({tuple(e.items()) for _, _, e in impl}) == 16
        and not any(o for _, o, _ in impl)
    )
    assert len({s for s, _, _ in both}) == 16 and not any(ours for _, ours, _ in both)


def test_an_arm_without_variation_gets_digests_and_no_test():
    same = [run(LABELS, LABELS) for _ in range(6)]
    vary = [run([i % 2, *LABELS[1:]], LABELS, (i, 1)) for i in range(6)]
    row = study.compare({"CONTROL": same})["CONTROL"]
    assert row["digests"] == 1 and row["accuracy"]["range"] == 0 and row["accuracy"]["rule_of_three"] == 0.5
    assert _arms.tests({"CONTROL": same, "ALGO": vary}) == []
    found = _arms.tests({"ALGO": vary, "IMPL": [run(LABELS, LABELS), *vary[:3]]})
    assert len(found) == 2 and all(t["p"] <= t["p_holm"] <= 1 for t in found)


def test_runs_of_other_labels_are_not_compared():
    with pytest.raises(ValueError, match="labels"):
        study.compare({"ALGO": [run(LABELS, LABELS), run(LABELS, LABELS[::-1])]})


SCRIPT = """
import numpy as np, torch
def train(seed):
    torch.manual_seed(seed)
    x = torch.randn(64, 5, generator=torch.Generator().manual_seed(1))
    y = (x.sum(1) > 0).long()
    model = torch.nn.Linear(5, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(5):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    weights = torch.cat([p.detach().reshape(-1) for p in model.parameters()])
    return {"predictions": model(x).argmax(1), "labels": y, "weights": weights}
def broken(seed):
    raise OSError("no data here")
"""


def test_arms_run_and_go_on_where_they_stopped(tmp_path, capsys):
    pytest.importorskip("torch")
    script = tmp_path / "work.py"
    script.write_text(SCRIPT)
    out = tmp_path / "out"
    assert (
        cli.main(["study", "arms", f"{script}:train", "--runs", "2", "--arm", "CONTROL", "--arm", "ALGO", "--out", str(out)])
        == 0
    )
    assert "CONTROL    2 runs, 1 different results" in capsys.readouterr().out
    table = dict((row[0], row) for row in csv.reader((out / "arms.csv").open()))
    assert table["CONTROL"][4] == "0.0" and table["ALGO"][2] == "2"
    page = (out / "index.html").read_text()
    assert hashlib.sha256((out / "arms.csv").read_bytes()).hexdigest() in page
    script.write_text("")  # what is there is not computed again
    assert set(study.arms(f"{script}:train", 2, ("CONTROL", "ALGO"), out=out)) == {"CONTROL", "ALGO"}


def test_a_run_that_fails_says_why_and_leaves_the_others(tmp_path, capsys):
    pytest.importorskip("torch")
    script = tmp_path / "work.py"
    script.write_text(SCRIPT)
    assert cli.main(["study", "arms", f"{script}:broken", "--runs", "2", "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert "run 0 of CONTROL failed: OSError: no data here (broken of " in said and "with the seed 0" in said
    assert "Traceback" in (tmp_path / "out" / "CONTROL-0.err").read_text()
    with pytest.raises(RuntimeError, match="no function 'absent'"):
        study.arms(f"{script}:absent", 2, out=tmp_path / "out")
    for wrong in ("work.py", f"{script}:", "nowhere.py:train"):
        with pytest.raises(ValueError, match="script"):
            study.arms(wrong, 2, out=tmp_path)
    with pytest.raises(ValueError, match="runs"):
        study.arms(f"{script}:train", 1, out=tmp_path)


# --- orders ---


def add(node, x):
    """The sum of a tree, rounded at each node; of more than two children as units for matrices do: what is small beside one is lost."""
    if not isinstance(node, tuple):
        return x[node]
    children = [float(add(child, x)) for child in node]
    if len(children) > 2:
        children = [c for c in children if abs(c) >= max(map(abs, children)) * 2.0**-12]
    return x.dtype.type(math.fsum(children))


def strided(k, n):
    def chain(leaves):
        node = leaves[0]
        for leaf in leaves[1:]:
            node = (node, leaf)
        return node

    return chain([chain(list(range(r, n, k))) for r in range(k)])


def halves(low, high):
    return low if high - low == 1 else (halves(low, (low + high) // 2), halves((low + high) // 2, high))


def blocks(k, n):
    def chain(leaves):
        node = leaves[0]
        for leaf in leaves[1:]:
            node = (node, leaf)
        return node

    return chain([chain(list(range(b, b + k))) for b in range(0, n, k)])


def shape(node):
    """A tree without the order of its children, which no sum shows."""
    return frozenset(map(shape, node)) if isinstance(node, tuple) else node


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize(
    ("tree", "n", "name"),
    [
        (strided(1, 9), 9, "sequential"),
        (strided(3, 11), 11, "strided(3)"),
        (halves(0, 16), 16, "pairwise"),
        (halves(0, 13), 13, "pairwise"),
        (blocks(4, 16), 16, "blocked(4)"),
        (((0, 1, 2, 3), (4, 5, 6, 7)), 8, "multiway(4)"),
        ((((0, 5), 3), ((1, 4), 2)), 6, "other"),
        ((0, (1, (2, (3, 4)))), 5, "sequential from the last"),
    ],
)
def test_planted_trees_are_found(tree, n, name, dtype):
    found = study.order(lambda x: add(tree, x), n, dtype)
    assert found.name == name and shape(found.root) == shape(tree)


def test_random_trees_are_found():
    rng = np.random.default_rng(3)
    for n in range(3, 24):
        nodes = list(range(n))
        while len(nodes) > 1:
            i, j = sorted(rng.choice(len(nodes), 2, replace=False))
            second = nodes.pop(j)
            nodes[i] = (nodes[i], second)
        assert shape(study.order(lambda x, t=nodes[0]: add(t, x), n).root) == shape(nodes[0])


def test_sums_of_the_library_have_no_order():
    for function in (repmath.sum, lambda x: repmath.dot(x, np.ones_like(x))):
        assert study.order(function, 12).exact
        found = study.certificate(
            function, 12, permutations=50, settings=[lambda t=t: repmath.set_num_threads(t) for t in (1, 2)]
        )
        assert found["free"] and found["values"] == 1
    found = study.certificate(np.sum, 12, permutations=50)
    assert not found["free"] and found["values"] > 1 and found["pairs"]


def test_orders_of_numpy():
    assert study.order(lambda x: np.cumsum(x)[-1], 20).name == "sequential"
    assert study.order(np.sum, 64).name == "strided(8)"  # its eight partial sums


def test_what_is_no_sum_is_refused():
    with pytest.raises(ValueError, match="function is no sum"):
        study.order(lambda x: x[0] - x[1] / 2 + 0.25, 5)
    for n, dtype in ((2, np.float32), (17, np.float16)):
        with pytest.raises(ValueError, match="n must be"):
            study.order(np.sum, n, dtype)


def test_pictures_of_trees(tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    for tree in (study.order(np.sum, 16), study.order(repmath.sum, 16)):
        tree.draw(str(tmp_path / "tree.png"))
        assert (tmp_path / "tree.png").stat().st_size > 1000


# --- Warden's question, costs, the command line ---


def test_three_numbers_have_one_exact_sum_and_several_by_steps():
    found = study.warden(count=200, seed=1)
    assert found["repmath_most"] == 1 and found["steps_most"] >= 2 and 0 < found["steps_share"] < 1
    x, y, z = np.float32([1e8, 1.0, -1e8])
    (row,) = study.warden([[x, y, z]])["rows"]
    assert row["steps"] == len({float(np.float32(np.float32(a + b) + c)) for a, b, c in itertools.permutations((x, y, z))})
    with pytest.raises(ValueError, match="triples"):
        study.warden([[1.0, 2.0]])


def test_costs_have_pytorch_as_their_unit():
    torch = pytest.importorskip("torch")
    x = torch.ones(50, 50)
    found = study.cost(lambda: x @ x, repeats=2)
    assert set(found) == {"pytorch", "deterministic", "repmath"} and found["pytorch"]["ratio"] == 1
    assert not torch.are_deterministic_algorithms_enabled()
    with pytest.raises(ValueError, match="repeats"):
        study.cost(lambda: None, repeats=0)


def test_the_baseline_of_costs_is_pytorch_as_it_is(monkeypatch):
    """A published baseline ran without oneDNN, on a reference BLAS, and stored its sums of doubles as floats."""
    torch = pytest.importorskip("torch")
    from repmath.study import _cost

    seen = []

    def step():
        seen.append((torch.backends.mkldnn.enabled, torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()))

    before = torch.backends.mkldnn.enabled, torch.get_num_threads()
    ticks = iter(np.arange(1000.0) ** 2 * 2.0**-30 + 2.0**20)
    monkeypatch.setattr(_cost.time, "perf_counter", lambda: float(next(ticks)))
    found = study.cost(step, repeats=2)
    theirs = [s for i, s in enumerate(seen) if i % 3 < 2]  # every third step is the library's
    assert {s[:2] for s in theirs} == {before} and {s[2] for s in theirs} == {False, True}
    assert all(0 < row["seconds"] < 2.0**-15 for row in found.values())  # float32 has no such differences beside 2^20


def test_the_command_line_writes_tables_and_a_page(tmp_path, capsys):
    assert cli.main(["study", "order", "--n", "8", "--permutations", "20", "--out", str(tmp_path)]) == 0
    assert "repmath.sum: exact, free of order: True" in capsys.readouterr().out
    assert cli.main(["study", "warden", "--count", "20", "--out", str(tmp_path)]) == 0
    first = (tmp_path / "values.csv").read_bytes()
    assert cli.main(["study", "warden", "--count", "20", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "values.csv").read_bytes() == first and (tmp_path / "index.html").exists()
    capsys.readouterr()
    assert cli.main(["study", "order", "--n", "2", "--out", str(tmp_path)]) == 2 and "n must" in capsys.readouterr().err


def test_steps_that_vary_by_themselves_are_refused():
    rng = np.random.default_rng(0)
    block = lambda i: contextlib.nullcontext()  # noqa: E731
    with pytest.raises(ValueError, match="step is not deterministic: 'y'"):
        study.variability(lambda: {"y": rng.standard_normal(3)}, 3, block=block)
    with pytest.raises(ValueError, match="samples"):
        study.variability(lambda: {"y": np.ones(3)}, 1, block=block)
    with pytest.raises(TypeError, match="step must return a dict"):
        study.variability(lambda: 1.0, 2, block=block)
    assert study.variability(lambda: {"y": np.ones(3)}, 3, block=block)["y"].censored.all()


def test_a_multiway_sum_of_two_levels():
    tree = ((0, 1, 2), (3, 4, 5), (6, 7, 8))
    found = study.order(lambda x: add(tree, x), 9)
    assert shape(found.root) == shape(tree) and _order._leaves(found.root) != []


def test_digits_of_a_narrow_format_end_at_its_own():
    """A published table had more digits than float32 holds: the ceiling of its formula where all samples are alike."""
    torch = pytest.importorskip("torch")
    block = lambda i: contextlib.nullcontext()  # noqa: E731
    found = study.variability(lambda: {k: torch.ones(3, dtype=getattr(torch, k)) for k in _digits.PRECISION}, 3, block=block)
    for kind, bits in _digits.PRECISION.items():
        assert found[kind].censored.all() and np.allclose(found[kind].value, bits * math.log10(2)), kind


def test_samples_are_kept_and_a_study_goes_on(tmp_path):
    made, stop = [], [3]

    def block(i):
        if i == stop[0]:
            raise KeyboardInterrupt
        made.append(i)
        return contextlib.nullcontext()

    def step():
        return {"y": np.float32([1, 2]) + np.float32(made[-1]) * np.float32(1e-6)}

    with pytest.raises(KeyboardInterrupt):
        study.variability(step, 5, block=block, keep=tmp_path)
    assert made == [0, 0, 1, 2] and len(list(tmp_path.iterdir())) == 3
    made.clear()
    stop[0] = None
    found = study.variability(step, 5, block=block, keep=tmp_path)
    assert made == [3, 4]
    whole = study.variability(step, 5, block=block)
    assert found["y"].value.tolist() == whole["y"].value.tolist() and found["y"].summary() == whole["y"].summary()


def test_too_few_samples_are_seen_before_any_is_made():
    with pytest.raises(ValueError, match="samples are 10; 59 are needed"):
        study.variability(
            lambda: pytest.fail("a sample was made"), 10, block=lambda i: contextlib.nullcontext(), method="general"
        )


def test_layers_gradients_and_parameters_of_a_model():
    torch = pytest.importorskip("torch")
    import repmath.torch

    with repmath.torch.reproducible():
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(inplace=True), torch.nn.Linear(4, 2))
    optimizer, before = torch.optim.SGD(model.parameters(), lr=0.1), [p.detach().clone() for p in model.parameters()]

    def step():
        optimizer.zero_grad()
        loss = model(torch.ones(5, 3)).square().mean()
        loss.backward()
        optimizer.step()
        return {"loss": loss}

    found = study.variability(step, 4, block=lambda i: repmath.torch.stochastic(sample=i), model=model, method="parker")
    layers = {f"{kind} {n}" for kind in ("layer", "gradient at") for n in "012"}
    inner = {f"{kind} {n}.{part}" for kind in ("parameter", "gradient of") for n in "02" for part in ("weight", "bias")}
    assert set(found) == {"loss"} | layers | inner and not found["layer 2"].censored.all()
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))


def test_only_stochastic_roundings_mean_holds_the_harmonic_sum():
    found = study.harmonic(3000, 1024)
    assert abs(found["stochastic"]["off"]) < 4 < min(abs(found[mode]["off"]) for mode in ("random", "up_down"))
    with pytest.raises(ValueError, match="samples must be"):
        study.harmonic(10, 1)


@pytest.mark.long
def test_the_published_harmonic_sum():
    """1 + 1/2 + ... + 1/37649 in float32 is 11.1132906; published deviations are 8.8e-5 of stochastic and 1.74e-4 of up-down rounding."""
    found = study.harmonic(37649, 256)
    assert abs(found["exact"]["mean"] - 11.1132906) < 1e-7 and abs(found["stochastic"]["mean"] - 11.1132906) < 4 * 8.8e-5 / 16
    assert 6e-5 < found["stochastic"]["stdev"] < 1.1e-4 and 1.3e-4 < found["up_down"]["stdev"] < 2.2e-4
    assert abs(found["stochastic"]["off"]) < 4 < abs(found["random"]["off"])


def test_tables_have_one_digest(tmp_path):
    """On every instruction set, for one thread and two."""
    pytest.importorskip("torch")
    script = tmp_path / "s.py"
    script.write_text(
        "import torch\ndef step():\n    x = torch.arange(40.0).reshape(5, 8) / 7\n    return {'y': torch.softmax(x @ x.mT / 9, 1)}\n"
    )
    seen = set()
    for i, (isa, threads) in enumerate(zip(repmath._core.available_isas(), itertools.cycle("12"))):
        out = tmp_path / str(i)
        command = [
            sys.executable,
            "-m",
            "repmath",
            "study",
            "variability",
            f"{script}:step",
            "--samples",
            "3",
            "--out",
            str(out),
        ]
        environment = os.environ | {"REPMATH_ISA": isa, "REPMATH_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        subprocess.run(command, env=environment, check=True, capture_output=True)
        seen.add(hashlib.sha256((out / "digits.csv").read_bytes()).hexdigest())
    assert len(seen) == 1 and i > 0


STEP = """
import torch
def step():
    return {"y": torch.ones(2) / 3}
def net():
    return torch.nn.Linear(1, 1)
def wrong():
    return 1.0
def broken(made):
    return False
def needs(x):
    return {"y": torch.ones(x)}
def sometimes(seen=[]):
    import beside
    seen.append(1)
    if len(seen) == 4:
        raise KeyError("no such row")
    return {"y": torch.ones(2) / 3}
def far(made):
    raise LookupError("no bound")
def without():
    return {}
def two(seed, rate):
    return {}
def single(seed):
    return 3
def named(seed):
    return {"predictions": [0], "labels": [0], "weights": {"a": 1.0}}
"""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["variability", "S:absent"], "has no function 'absent'"),
        (["variability", "S:step", "--seed", "-1"], "seed must be from 0"),
        (["variability", "S:step", "--samples", "10", "--method", "general"], "59 are needed"),
        (["variability", "S:step", "--confidence", "2"], "confidence must be between 0 and 1"),
        (["variability", "S:wrong"], "step must return a dict"),
        (["variability", "S:step", "--model", "other"], "has no function 'other'"),
        (["harmonic", "--n", "1"], "n must be an integer of at least 2"),
        (["arms", "S:step", "--runs", "1"], "runs must be an integer of at least 2"),
        (["arms", "S:step", "--seed", "-1"], "seed must be an integer from 0"),
        (["arms", "S:single", "--runs", "2", "--arm", "IMPL"], "single must return a dict of arrays, not int"),
        (["arms", "S:named", "--runs", "2", "--arm", "IMPL"], "named must return an array of numbers as 'weights', not dict"),
        (
            ["arms", "S:without", "--runs", "2", "--arm", "IMPL"],
            "without must take a seed, its one argument, and without() does not",
        ),
        (
            ["arms", "S:two", "--runs", "2", "--arm", "ALGO"],
            "two must take a seed, its one argument, and two(seed, rate) does not: missing a required argument: 'rate'",
        ),
        (["variability", "S:needs"], "step must take no arguments, and needs(x) does not: missing a required argument: 'x'"),
        (["variability", "S:step", "--model", "needs"], "model must take no arguments, and needs(x) does not"),
        (
            ["variability", "S:sometimes", "--samples", "5"],
            "step in sample 2 failed with KeyError: 'no such row' (s.py, line 17); 2 of 5 samples are kept in",
        ),
        (["cost", "S:sometimes"], "step under pytorch, call 1 of 5, failed with KeyError: 'no such row' (s.py, line 17)"),
        (["cost", "S:needs"], "step must take no arguments"),
        (
            ["localize", "S:step", "--broken", "far"],
            "broken after run 1, of every rounding to nearest, failed with LookupError: no bound (s.py, line 20)",
        ),
        (["localize", "S:step", "--broken", "without"], "broken must take the result of step alone, and without() does not"),
        (["localize", "S:sometimes", "--samples", "9"], "step in run 4, of sample 1, failed with KeyError: 'no such row'"),
        (["variability", "B:step"], "failed with ZeroDivisionError: division by zero (b.py, line 2)"),
        (["warden", "--seed", "-1"], "seed must be an integer from 0"),
        (["cost", "nowhere.py:step"], "script 'nowhere.py' is no file"),
    ],
)
def test_the_command_line_names_what_is_wrong(arguments, message, tmp_path, capsys):
    pytest.importorskip("torch")
    script = tmp_path / "s.py"
    script.write_text(STEP)
    (tmp_path / "beside.py").write_text("")
    (tmp_path / "b.py").write_text("\n1 / 0\n")
    arguments = [a.replace("S:", f"{script}:").replace("B:", f"{tmp_path / 'b.py'}:") for a in arguments]
    assert cli.main(["study", *arguments, "--out", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err


def test_a_function_that_raises_is_the_cause():
    """Of the study's error; what the study checks itself keeps its kind."""
    block = lambda i: contextlib.nullcontext()  # noqa: E731

    def step():
        raise OverflowError("too much")

    with pytest.raises(RuntimeError, match="step in sample 0 failed with OverflowError: too much") as seen:
        study.variability(step, 3, block=block)
    assert isinstance(seen.value.__cause__, OverflowError)
    with pytest.raises(RuntimeError, match="function of 4 terms, in call 1, failed with OverflowError") as seen:
        study.order(lambda x: step(), 4)
    assert isinstance(seen.value.__cause__, OverflowError)
    calls = itertools.count()
    with pytest.raises(RuntimeError, match="of permutation 2, failed with OverflowError"):
        study.certificate(lambda x: step() if next(calls) == 8 else repmath.sum(x), 4)
    for call in (lambda: study.order(lambda: 0.0, 4), lambda: study.certificate(lambda x, y: 0.0, 4)):
        with pytest.raises(TypeError, match="function must take a vector alone"):
            call()
    with pytest.raises(TypeError, match="block must take the number of a sample"):
        study.variability(dict, 3, block=contextlib.nullcontext().__enter__)
    with pytest.raises(TypeError, match="step must be callable, not int"):
        study.variability(3, 3, block=block)
    with pytest.raises(KeyboardInterrupt):
        study.variability(interrupted, 3, block=block)


def interrupted():
    raise KeyboardInterrupt


def test_samples_of_other_results_are_named(tmp_path):
    block = lambda i: contextlib.nullcontext()  # noqa: E731
    shapes = itertools.chain((2, 2, 2, 3), itertools.repeat(3))
    with pytest.raises(ValueError, match="step returns 'y' with another number of elements in sample 2 than in sample 0"):
        study.variability(lambda: {"y": np.ones(next(shapes))}, 4, block=block)
    names = iter("aaab")
    with pytest.raises(ValueError, match="step returns 'a' in sample 0, and not in sample 2"):
        study.variability(lambda: {next(names): 1.0}, 4, block=block)
    with pytest.raises(TypeError, match="step must return arrays of numbers, and 'y' is str"):
        study.variability(lambda: {"y": "three"}, 4, block=block)
    (tmp_path / "sample-0.npz").write_bytes(b"half of it")
    with pytest.raises(ValueError, match=r"sample-0\.npz is no sample of a study"):
        study.variability(lambda: {"y": 1.0}, 4, block=block, keep=tmp_path)
    (tmp_path / "IMPL-0.npz").write_bytes(b"PK")
    with pytest.raises(ValueError, match=r"IMPL-0\.npz is no run of a study"):
        study._arms.load(tmp_path / "IMPL-0.npz")


def test_an_interrupted_command_says_that_it_goes_on(tmp_path, capsys, monkeypatch):
    pytest.importorskip("torch")
    script = tmp_path / "s.py"
    script.write_text(STEP)
    command = ["study", "variability", f"{script}:step", "--samples", "3", "--out", str(tmp_path / "out")]
    save = _variability._save

    def stopping(file, sample):
        save(file, sample)
        raise KeyboardInterrupt

    monkeypatch.setattr(_variability, "_save", stopping)
    assert cli.main(command) == 130 and "the same command goes on" in capsys.readouterr().err
    monkeypatch.setattr(_variability, "_save", save)
    assert cli.main(command) == 0
    table = (tmp_path / "out" / "digits.csv").read_text()
    head, row = (line.split(",") for line in table.splitlines())
    cells = dict(zip(head, row, strict=True))
    assert (
        cells["elements"] == "2"
        and 0 <= float(cells["share censored"]) <= 1
        and float(cells["interval from"]) <= float(cells["median"])
    )
    script.write_text(STEP + "\n")  # another script has samples of its own
    assert cli.main(command) == 0 and len(list((tmp_path / "out").glob("samples-*"))) == 2
    assert (tmp_path / "out" / "digits.csv").read_text() == table


def test_a_bar_or_lines_show_progress(capsys):
    say = _progress.progress(2, True)
    say("a")
    say("b")
    assert capsys.readouterr().err == "1/2: a\n2/2: b\n"
    _progress.progress(2, False)("a")
    assert capsys.readouterr().err == ""


def test_samples_that_are_nearly_alike_have_the_digits_of_their_format():
    """One of 1,000 samples is another number of float32: the formula has more digits than that, which no sample shows."""
    samples = np.ones((1000, 1), np.float32)
    samples[0] = np.nextafter(np.float32(1), np.float32(2))
    for method in ("cnh", "parker"):
        found = study.digits(samples, method=method)
        assert found.value[0] == 24 * math.log10(2) and found.censored[0], method


@pytest.mark.long
@pytest.mark.parametrize("name", ["digits", "tabular", "gpt2"])
def test_networks_have_one_result_in_the_control_arm(name, tmp_path):
    """The trainings of `make study`: on other instruction sets and thread counts the same bits, and better than chance."""
    for module in ("torch", "transformers" if name == "gpt2" else "sklearn"):
        pytest.importorskip(module)
    script = pathlib.Path(study.__file__).with_name("networks.py")
    runs = study.arms(f"{script}:{name}", 2, ("CONTROL",), out=tmp_path)["CONTROL"]
    assert len({run.digest() for run in runs}) == 1
    assert runs[0].accuracy > (0.1 if name == "gpt2" else 0.7)
