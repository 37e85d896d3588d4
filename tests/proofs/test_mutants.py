"""Mutants of kernels: numbers for every kind of kernel, integers off by one, and what the pieces of a proof are based on."""

import pathlib
import random
import re
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from proofs import graph, mutants, points, prove, taylor  # noqa: E402

KERNELS = graph.kernels()
OF_KIND = {kernel.kind: name for name, kernel in KERNELS.items() if kernel.kind != "trig_large"}


def some_points(name: str, count: int) -> list[points.Point]:
    kernel, rng = KERNELS[name], random.Random(4)
    whole = points.points(kernel)
    parsed = graph.parse(graph.recorded(name), True)
    return [p for p in rng.sample(whole, 4 * count) if points.evaluates(p, parsed)][:count]


@pytest.mark.parametrize("kind", sorted(OF_KIND))
def test_numbers_for_every_kind(kind):
    """The kernel meets its bound on them; the function's value off by 2^-18 of it does not, so that the bound is a close one there."""
    where = some_points(OF_KIND[kind], 8)
    assert len(where) >= 3
    parsed = graph.parse(graph.recorded(OF_KIND[kind]), True)
    assert max(p.error(parsed) for p in where) <= 1
    for p in where:
        p.value = p.truth() * (1 + taylor.pow2(-18))
    assert sum(points.refutes(p, parsed) for p in where) >= len(where) / 2


@pytest.mark.parametrize("name", ["log_b64", "exp2_b64", "erfc_b64", "cbrt_b64", "softplus_dd"])
def test_integers_off_by_one(name):
    """Each is rejected by a number, or moves an end between entries of a table: of these the proof decides."""
    text, where = graph.recorded(name), some_points(name, 24)
    found = {place: mutants.rejected_at(text, place, where) for place in ((at, k) for at, k, _ in mutants.integers(text))}
    assert found and sum(map(sum, found.values())) >= len(found)
    shifts = [place for place in found if text.splitlines()[place[0]].startswith(mutants.SHIFTS)]
    assert all(all(found[place]) for place in shifts)


def test_what_pieces_are_based_on():
    """The multiple that is taken away is still the nearest, but for exp2, whose proof has no room; an octave begins where the changed kernel's does."""
    for name, held in (("exp_dd", True), ("sin_reduction_dd", True), ("exp2_dd", False)):
        assert mutants.nearest_multiples(KERNELS[name]) is held
    kernel, text = KERNELS["log_dd"], graph.recorded("log_dd")
    (place,) = [
        (at, k)
        for at, k, words in mutants.integers(text)
        if words[0] == "iconst" and words[1] == str(graph.bits_of(0.703125))
    ]
    other = str(graph.bits_of(0.703125) + 1)
    first = mutants.pieces_of(kernel, text, (place, other))[-1]
    assert first.low == graph.double_of(int(other)) and first.high == 2 * first.low
    assert prove.all_pieces(kernel)[-1].low < first.low


def test_the_lemma_of_an_octave_is_checked_of_the_changed_graph():
    """A constant with a last place of 2^-53 where the kernel has 1 is still a multiple of a power that does not underflow; another factor of the
    exponent is none with which k of 8 x is k of x and 16."""
    kernel, text = KERNELS["cbrt_dd"], graph.recorded("cbrt_dd")
    lines = text.splitlines()
    (factor,) = [
        int(line.split()[2][1:]) for line in lines if line.startswith("mad") and lines[int(line.split()[1][1:])][:2] == "to"
    ]
    assert lines[factor].startswith("const")
    assert not mutants.premises(kernel, text, ((factor, 1), (float.fromhex(lines[factor].split()[1]) * (1 + 2.0**-10)).hex()))
    one = next(
        at
        for at, line in enumerate(lines)
        if line.startswith("const") and at != factor and not mutants.is_magic(float.fromhex(line.split()[1]))
    )
    assert mutants.premises(kernel, text, ((one, 1), mutants.others(lines[one].split(), 1)[0]))


def test_parts_that_the_analysis_leaves_out_are_not_loose():
    """Constants of the step of erfinv, and the share of the result in logaddexp's bound, are read from the graph as they are."""
    for name in ("erfinv_dd", "ndtri_small_dd", "logaddexp_dd"):
        parsed = graph.parse(graph.recorded(name), True)
        fixed = mutants.read_as_written(KERNELS[name], parsed)
        assert parsed.outputs["err"] in fixed and len(fixed) < len(parsed.nodes)


def test_numbers_that_a_step_does_not_read():
    """Evaluated, they change nothing; of the others some do."""
    text, where = graph.recorded("erfinv_dd"), some_points("erfinv_dd", 4)
    apart = mutants.unread(KERNELS["erfinv_dd"], graph.parse(text, True))
    places = [(at, k, words) for at, k, words in mutants.numbers(text) if words[0] == "const"]
    assert len({at for at, *_ in places} & apart) > 5 and not mutants.unread(KERNELS["erfc_dd"], graph.parse(text, True))

    def outputs(changed):
        return [graph.evaluate(points.runnable(graph.parse(changed, True), 0), p.inputs) for p in where]

    same = {
        at: outputs(mutants.changed_to(text, (at, k), (float.fromhex(words[k]) * 1.25).hex())) == outputs(text)
        for at, k, words in places
    }
    assert all(same[at] for at in apart if at in same) and not all(same.values())


def test_bits_of_a_nan_stay_one():
    lines = graph.recorded("gelu_backward_dd").splitlines()
    (at,) = [k for k, line in enumerate(lines) if line == f"iconst {0x7FF8 << 48}"]
    assert all(mutants.stays_nan(lines, ((at, 1), other)) for other in mutants.others(lines[at].split(), 1))
    assert not mutants.stays_nan(lines, ((at, 1), str(0x7FF0 << 48)))
    assert not mutants.stays_nan([*lines, f"iadd #{at} #{at}"], ((at, 1), str((0x7FF8 << 48) + 1)))
    assert not any(
        mutants.stays_nan(lines, ((k, 1), line.split()[1]))
        for k, line in enumerate(lines)
        if k != at and line.startswith("iconst")
    )


@pytest.mark.parametrize("name", ["sin_reduction_dd", "sin_far_dd"])
def test_another_magic_number_gives_another_multiple(name):
    text, where = graph.recorded(name), some_points(name, 6)
    for at, k, words in mutants.numbers(text):
        for other in mutants.others(words, k):
            seen = mutants.other_multiple(KERNELS[name], text, ((at, k), other), where)
            assert seen is (words[0] == "const" and mutants.is_magic(float.fromhex(words[k])))


@pytest.mark.parametrize("name", ["erfc_dd", "gelu_dd", "erfinv_dd"])
def test_where_an_entry_is_chosen(name):
    """An integer one unit off chooses another entry at those arguments alone; and an entry is read where an evaluation reads it."""
    kernel, text, rng = KERNELS[name], graph.recorded(name), random.Random(1)
    lines, pieces = text.splitlines(), mutants.prove_pieces(KERNELS[name])
    (at,) = [
        at for at, k, words in mutants.integers(text) if words[0] == "iconst" and mutants.before_index(lines, at) is not None
    ]
    index = next(k for k, line in enumerate(lines) if line.startswith("srl"))
    size = mutants.of_size(lines, mutants.before_index(lines, at))
    for other in mutants.others(lines[at].split(), 1):
        ends = mutants.at_ends(kernel, text, ((at, 1), other), pieces)
        assert len(ends) > 8

        def entry(x, added):
            return (graph.bits_of(size(x)) + added) >> int(lines[index].split()[2])

        added = int(lines[at].split()[1])
        for piece in ends:
            middle = float((piece.low + piece.high) / 2)
            assert entry(abs(middle), added) != entry(abs(middle), int(other))
            for x in (float(piece.low) * (1 - 2.0**-48), float(piece.high) * (1 + 2.0**-48)):
                assert entry(abs(x), added) == entry(abs(x), int(other))
        assert all(entry(x, added) == entry(x, int(other)) for x in (rng.uniform(0.1, 5) for _ in range(200)))
    table = next(k for k, line in enumerate(lines) if line.startswith(f"lookup #{index} "))
    for p in some_points(name, 12):
        x = p.inputs["x"]
        near = prove.Piece(*sorted(taylor.Fraction(x * f) for f in (1, 1 + 2.0**-20)))
        read = {k for at, k in mutants.entries_at(text, p) if at == table}
        assert all(mutants.may_read(lines, (table, k), near) for k in read)
        assert sum(mutants.may_read(lines, (table, 2 + k), near) for k in range(16)) <= 2


@pytest.mark.parametrize("name", ["log_sum_dd", "logaddexp_dd"])
def test_where_a_logarithm_takes_another_entry(name):
    kernel, text = KERNELS[name], graph.recorded(name)
    lines, pieces = text.splitlines(), mutants.prove_pieces(kernel)
    places = [(at, k) for at, k, words in mutants.integers(text) if mutants.at_steps(kernel, lines, ((at, k), "0"), pieces)]
    assert len(places) == 1
    for other in mutants.others(lines[places[0][0]].split(), 1):
        ends = mutants.at_steps(kernel, lines, (places[0], other), pieces)
        changed = graph.parse(mutants.changed_to(text, places[0], other), True)
        assert len(ends) >= 15 and mutants.proved(kernel, changed, ends[:12], float("inf"))
    wrong = graph.parse(mutants.changed_to(text, places[0], str(graph.bits_of(0.828125))), True)
    assert not mutants.proved(kernel, wrong, ends, float("inf"))


def test_a_wider_bound():
    lines = graph.recorded("logaddexp_dd").splitlines()
    found = {
        lines[at]: [mutants.widens(lines, ((at, k), other)) for other in mutants.others(words, k)]
        for at, k, words in mutants.numbers("\n".join(lines))
        if words[0] == "const"
    }
    assert found.pop("const 0x1p-104") == [False, True] and not any(map(any, found.values()))


@pytest.mark.parametrize("name", ["hypot_b64", "sigmoid_dd"])
def test_half_of_a_bound_that_was_left_open(name, monkeypatch):
    """It is tried again with as much time as is given."""
    held = mutants.results()[name]
    monkeypatch.setattr(mutants, "results", lambda: {name: {**held, "halved": "open"}})
    assert mutants.tried_again(name, 60)["halved"] == held["halved"]
    assert mutants.tried_halved(name, 0) == "open"


@pytest.mark.parametrize("name", ["expm1_large_dd", "exp2m1_large_dd", "exp10m1_large_dd"])
def test_what_stands_for_a_power_is_not_loose(name):
    """-1, over 2^n, is known within an error that is the same wherever it is used: its mutants are not part of that, and numbers reject them."""
    kernel, text = KERNELS[name], graph.recorded(name)
    parsed = graph.parse(text, True)
    (at,) = [k for k, line in enumerate(text.splitlines()) if line == "const -0x1p+0"]
    assert at in mutants.read_as_written(kernel, parsed) and mutants.means_more(kernel, ["const", "-0x1p+0"])
    where = [p for p in points.points(kernel) if p.inputs["x"] < 1.1 * kernel.domain[0].low and points.evaluates(p, parsed)]
    assert all(mutants.rejected_at(text, (at, 1), where))


def test_zeros_of_half_turns_are_those_of_the_changed_graph():
    """The sine of whole half-turns, a table's 0, is not among the mutants; another number there gives no zero. Those among them do."""
    kernel, text = KERNELS["sinpi_dd"], graph.recorded("sinpi_dd")
    lines = text.splitlines()
    zeros = [(at, line.split().index("0x0p+0")) for at, line in enumerate(lines) if re.match("lookup.* 0x0p", line)]
    assert [mutants.premises(kernel, text, (place, "0x1p-60")) for place in zeros].count(False) == 2
    places = [(at, k) for at, k, words in mutants.numbers(text) if words[0] == "lookup"][::40]
    assert all(
        mutants.premises(kernel, text, (place, mutants.others(lines[place[0]].split(), place[1])[1])) for place in places
    )
