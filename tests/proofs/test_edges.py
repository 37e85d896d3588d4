"""proofs/edges.py: what the fast phases of f64 store where products underflow and at single numbers. A sample of `make proofs`; the enclosures contain what
an evaluation gives, and wrong claims and wrong graphs are rejected."""

import math
import random
import re
from dataclasses import replace
from fractions import Fraction

import pytest

flint = pytest.importorskip("flint")
np = pytest.importorskip("numpy")
repmath = pytest.importorskip("repmath")

from proofs import cuts, domains, edges, evidence, graph  # noqa: E402
from proofs.kinds import hook  # noqa: E402

TINY = Fraction(1, 2**1074)
NAMES = sorted({e.function for e in edges.EDGES})


def edge(function: str, result: str, low: Fraction | None = None) -> edges.Edge:
    return next(e for e in edges.EDGES if (e.function, e.result) == (function, result) and low in (None, e.low))


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", NAMES)
def test_a_sample_of_the_edges(name):
    of_name = [e for e in edges.EDGES if e.function == name]
    assert edges.check(of_name, step=701)[name] >= 2 * len(of_name)


def test_every_argument_of_f64_is_in_a_proof_or_at_an_edge(monkeypatch):
    """So the page says, which is made anew by another test; without the edges there is a list."""
    assert evidence.NONE_LEFT in evidence.PAGE.read_text()
    graphs, names = domains.special_graphs(), ("cos", "silu_backward")
    monkeypatch.setattr(domains, "special_graphs", lambda: {name: graphs[name] for name in names})
    monkeypatch.setattr(domains, "EDGES", [e for e in edges.EDGES if e.function not in names])
    found = domains.left_over()
    assert set(found) == set(names) and found["silu_backward"][0][1] == cuts.LARGEST


# Proofs about what is made of an argument: a row's number, the first term of a product, an angle, the fraction of a reflected argument.
OF_OTHER_NUMBERS = ("row", "start", "dd_angle", "dd_angle_turned", "turn", "turn_within")


def test_kernels_proved_for_positive_numbers_take_the_size_of_their_argument():
    """They use the argument's size, and its sign for the result; exp does not."""

    def uses(name: str) -> set:
        nodes = edges.fast_graph(name, True).nodes
        x = nodes.index(("input", ["x"]))
        return {(op, args.index(x)) for op, args in nodes if op != "input" and x in args}

    names = []
    for name in domains.special_graphs():
        intervals = [
            i
            for k in graph.kernels().values()
            if k.function == name and k.format == "f64" and k.kind not in OF_OTHER_NUMBERS
            for i in hook(k.kind, "domain")(k)
        ]
        if (
            name in domains.TURNED
            or intervals
            and all(i.low >= 0 for i in intervals)
            and name not in ("log", "log2", "log10")
        ):
            names.append(name)
    positive = {"acosh", "rsqrt", "ndtri"}  # not entered below 0
    assert {"sinh", "tanh", "erf", "asin", "atan", "cbrt", "sin", "cos", "tan"} <= set(names)
    for name in set(names) - positive:
        assert uses(name) <= {
            ("abs", 0),
            ("copysign", 1),
            *([("bits", 0)] if name in ("sin", "tan", "sinpi", "tanpi") else []),
        }, name
    assert not uses("exp2") <= {("abs", 0), ("copysign", 1)}


@pytest.mark.parametrize("name", sorted(edges.BEYOND))
@pytest.mark.parametrize("fma", [True, False])
def test_bounds_beyond_a_certificate(name, fma):
    """A small part of the bound is refused."""
    assert edges.bound_beyond(name, fma) <= 1
    if not fma or name != "gelu_tanh_dd":
        return
    text = graph.recorded(name)
    (err,) = re.findall(r"^out err #(\d+)$", text, re.M)
    lines = text.splitlines()
    where = next(i for i, line in enumerate(lines) if line.startswith("out"))
    smaller = [*lines[:where], "const 0x1p-12", f"mul #{err} #{where}", *lines[where:]]
    wrong = "\n".join(smaller).replace(f"out err #{err}", f"out err #{where + 1}") + "\n"
    with pytest.raises((AssertionError, RuntimeError)):
        assert edges.bound_beyond(name, fma, wrong) <= 1


@pytest.mark.parametrize("name", ["expm1", "sin", "cos", "tan", "sinh", "acos"])
@pytest.mark.parametrize("fma", [True, False])
def test_enclosures_contain_what_an_evaluation_gives(name, fma):
    parsed, rng = edges.fast_graph(name, fma), random.Random(name)
    for e in (-1074, -1023, -970):
        low = Fraction(2) ** e
        ((low, high),) = edges.binades(low, 2 * low - TINY)
        lane = edges.Lane(parsed, low, high, "x", {"other": edges.Number(Fraction(0), Fraction(0))}, negative=False)
        for _ in range(2):
            x = Fraction(graph.double_of(rng.randint(graph.bits_of(float(low)), graph.bits_of(float(high)))))
            for k, node in enumerate(lane.nodes):
                if isinstance(node, edges.Number) and not node.nan:
                    got = graph.evaluate(graph.Graph(parsed.nodes[: k + 1], {"v": k}), {"x": float(x), "other": 0.0})["v"]
                    assert node.low <= Fraction(got) <= node.high, (k, parsed.nodes[k])
                    assert node.times is None or Fraction(got) == node.times * x


@pytest.mark.parametrize(
    "wrong",
    [
        replace(edge("expm1", "x", TINY), high=Fraction(1, 2**50)),
        replace(edge("sin", "x", TINY), high=Fraction(1, 2**25)),
        replace(edge("cos", "1", TINY), high=Fraction(1, 2**25)),
        replace(edge("acos", "pi/2", TINY), high=Fraction(1, 2**40)),
        replace(edge("acos", "0"), low=-Fraction(1), high=-Fraction(1)),
        replace(edge("softplus_backward", "g"), low=Fraction(30)),
        replace(edge("gelu_backward", "g"), low=Fraction(7)),
    ],
    ids=lambda e: e.function,
)
def test_wrong_claims_are_rejected(wrong):
    with pytest.raises(AssertionError):
        edges.hold_claim(wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        replace(edge("silu", "undecided"), low=Fraction(1, 2**957), high=Fraction(1, 2**957)),
        replace(edge("gelu_tanh", "undecided"), low=Fraction(1, 2**957), high=Fraction(1, 2**957)),
        replace(edge("acos", "pi/2", TINY), result="pi"),
        replace(edge("asin", "-pi/2"), result="pi/2"),
        replace(edge("gelu_tanh_backward", "g/2"), result="g"),
        replace(edge("sin", "x", TINY), result="1"),
    ],
    ids=lambda e: f"{e.function} {e.result}",
)
@pytest.mark.parametrize("fma", [True, False])
def test_results_that_are_not_stored_are_rejected(wrong, fma):
    chosen = edges.parts(wrong)
    assert not all(edges.stored(wrong, fma, *part) for part in chosen[:: len(chosen) // 3 or 1])


@pytest.mark.parametrize("name,op,before,after", [
    ("sin", "lookup", "0x1p+0", "0x1.0000000000001p+0"),  # the cosine of 0
    ("tan", "lookup", "0x1p+0", "0x1.0000000000001p+0"),
    ("cos", "lookup", "0x1p+0", "0x1.0000000000001p+0"),
    ("acos", "lookup", "0x1.921fb54442d18p+0", "0x1.921fb54442d19p+0"),
])  # fmt: skip
def test_wrong_graphs_are_rejected(name, op, before, after):
    result = {"cos": "1", "acos": "pi/2"}.get(name, "x")
    chosen, parsed = edge(name, result, TINY), edges.fast_graph(name, True)
    nodes = [(o, [after if o == op and a == before else a for a in args]) for o, args in parsed.nodes]
    assert nodes != parsed.nodes
    last = edges.parts(chosen)[-1]
    assert edges.stored(chosen, True, *last) and not edges.stored(chosen, True, *last, graph.Graph(nodes, parsed.outputs))


@pytest.mark.parametrize("one", edges.EDGES, ids=lambda e: f"{e.function} {e.result} {float(e.low):.4g}")
def test_the_library_stores_these_results(one):
    """Undecided arguments too, whose value is that of the accurate phase."""
    rng = random.Random(one.function)
    sizes = sorted((abs(one.low), abs(one.high)))
    bits = [graph.bits_of(float(v)) for v in sizes]
    x = np.array([float(v) for v in sizes] + [graph.double_of(rng.randint(*bits)) for _ in range(300)])
    x = -x if one.low < 0 else np.concatenate([x, -x]) if one.both or one.low == one.high == 0 else x
    if one.gradient:
        g = np.array([math.ldexp(rng.uniform(1, 2), rng.randint(-1074, 1023)) * rng.choice((1, -1)) for _ in x])
        found, expected = getattr(repmath, one.function)(g, x), g if one.result == "g" else g / 2
    else:
        found = getattr(repmath, one.function)(x)
        named = {"0": 0.0, "1": 1.0, "pi/2": math.pi / 2, "-pi/2": -math.pi / 2, "pi": math.pi, "1/2": 0.5, "-1/2": -0.5}
        if one.result == "undecided":  # x/2 and more than that
            unit = 2.0**-1074
            expected = np.where(x > 0, np.ceil(x / unit / 2 * 1.0) * unit, -np.floor(-x / unit / 2) * unit)
            expected = np.where(np.abs(x) < 2.0**-1000, expected, x / 2)
        else:
            expected = x if one.result == "x" else np.full(len(x), named[one.result])
    assert np.array_equal(found, expected)
    if one.result in ("x", "0", "g"):
        assert np.array_equal(np.signbit(found), np.signbit(expected))
