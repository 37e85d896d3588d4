"""The operators' part of docs/evidence.md. A table names tests and counts of roundings; formats and instruction sets are read from the
tests' own source, so that a cell cannot say more than they do. A name that no test has is an error."""

import ast
import functools
import pathlib
import re
from dataclasses import dataclass

from .graph import ROOT

SUPPORT = ROOT / "tests/support"

FORMATS = ("f16", "bf16", "f32", "f64")
EVERY_ISA = ("isa_library", "isa")  # arguments by which a test runs on each instruction set


@dataclass(frozen=True)
class Operator:
    """Tests by kind, as "file.function" without the leading test_ of either, and ":f32,f64" where they leave formats out; `counts`: names that the programs of proofs/depth print."""

    name: str
    oracle: str
    boundaries: str
    controls: str
    counts: str = ""


OPERATORS = [
    Operator(
        "matrix products, stacks of them, bias",
        "reductions.matmul reductions.matmul_long reductions.matmul_views reductions.random_bits boundaries_exact.random_products",
        "boundaries.one_row_or_column boundaries.tiles boundaries.longest boundaries.bias_batch_and_scaling boundaries_exact.products"
        " boundaries.python_and_torch boundaries_exact.python_and_torch boundaries_aarch64.products",
        "boundaries.control_with_halved_bounds reductions.control_with_bounds_too_small boundaries_exact.control_with_bounds_too_small",
        "one row, terms of B; rows, terms of B; norms; weights of terms; chains of double-double; joins of double-double; products of pairs, chains",
    ),
    Operator(
        "alpha A B + beta C",
        "gemm.values gemm.cancellation gemm.ends_of_the_range",
        "boundaries.bias_batch_and_scaling boundaries_exact.scaled boundaries_aarch64.scaling",
        "boundaries.control_with_halved_bounds gemm.control_with_bounds_too_small boundaries_exact.control_with_bounds_too_small",
    ),
    Operator(
        "convolutions and their gradients",
        "convolution.geometries convolution.formats convolution.large convolution.random_geometries",
        "boundaries.convolutions boundaries.windows boundaries_exact.convolutions boundaries_aarch64.windows",
        "boundaries.control_with_halved_bounds convolution.control_with_bounds_too_small boundaries_exact.control_with_bounds_too_small",
        "convolutions; gradients of images; gradients of kernels",
    ),
    Operator(
        "sums, dot products",
        "reductions.sum_and_dot reductions.ties reductions.random_bits reductions.large_sum_by_threads",
        "boundaries.sums boundaries_exact.sums boundaries_exact.products boundaries_exact.python_and_torch",
        "boundaries.control_with_halved_bounds reductions.control_with_bounds_too_small boundaries_exact.control_with_bounds_too_small",
        "plain sums; plain products; compensated sums",
    ),
    Operator(
        "scatter and segment sums",
        "scatter.hard_data scatter.shapes scatter.random_bits",
        "scatter.ties_and_beside_them boundaries.scatter_and_prefixes boundaries_exact.sums",
        "boundaries.control_with_halved_bounds scatter.control_with_bounds_too_small",
        "scatter sums; scatter sums' bound",
    ),
    Operator(
        "prefix sums",
        "cumsum.every_pair_of_formats cumsum.hard_data",
        "cumsum.ties_and_hairs_beside_them boundaries.scatter_and_prefixes boundaries_exact.sums",
        "boundaries.control_with_halved_bounds cumsum.many_lost_terms_and_the_control",
    ),
    Operator(
        "mean, norm, var, std",
        "statistics.every_pair_of_formats statistics.hard_data statistics.large_means_and_narrow_spreads",
        "statistics.ties_of_means statistics.means_beside_a_midpoint_and_the_control"
        " statistics.variances_beside_a_midpoint_and_the_control boundaries_exact.squares boundaries_exact.sums",
        "statistics.means_beside_a_midpoint_and_the_control statistics.variances_beside_a_midpoint_and_the_control"
        " boundaries_exact.control_with_bounds_too_small",
        "plain deviations",
    ),
    Operator(
        "layer, rms, group, instance and batch norm, their gradients",
        "nn_normalization.values nn_normalization.given_statistics nn_normalization.special_sets nn_exponent_range.spread_exponents",
        "nn_norm_boundaries.beside_ties nn_norm_boundaries.given_statistics nn_norm_boundaries.exact_ties nn_normalization.weights_that_cancel"
        " nn_normalization.statistics_beside_midpoints nn_boundaries_python.norms_and_rows",
        "nn_norm_boundaries.control_with_shrunk_bounds",
        "rows, moments; rows, weighted",
    ),
    Operator(
        "softmax, log_softmax, logsumexp",
        "nn_softmax.values nn_softmax.long_rows nn_exponent_range.spread_exponents",
        "nn_row_boundaries.exponentials nn_softmax.hairs nn_softmax.signs_of_tiny_results nn_boundaries_python.norms_and_rows",
        "nn_row_boundaries.control_with_shrunk_bounds",
        "rows, exponentials",
    ),
    Operator(
        "gradients of softmax, log_softmax",
        "nn_softmax.values nn_softmax.far_gradients nn_softmax.gradients_far_above",
        "nn_row_boundaries.gradients nn_row_boundaries.log_gradients",
        "nn_row_boundaries.control_with_shrunk_bounds",
    ),
    Operator(
        "cross entropy and its gradient",
        "nn_cross_entropy.values nn_cross_entropy.sure_classes nn_cross_entropy.far_classes nn_exponent_range.spread_exponents",
        "nn_row_boundaries.cross_entropy nn_row_boundaries.cross_entropy_gradients nn_cross_entropy.hairs_beside_rationals"
        " nn_cross_entropy.totals_beside_ties nn_cancel.cross_entropy nn_relations.products_that_are_equal nn_relations.random_products"
        " nn_relations.logits_of_many_digits nn_relations.far_parts_that_are_left nn_boundaries_python.norms_and_rows",
        "nn_row_boundaries.control_with_shrunk_bounds",
    ),
    Operator(
        "binary cross entropy with logits",
        "nn_bce.values nn_exponent_range.spread_exponents",
        "nn_row_boundaries.binary_cross_entropy nn_bce.totals_beside_ties nn_cancel.binary_cross_entropy",
        "nn_row_boundaries.control_with_shrunk_bounds nn_controls.bce",
    ),
    Operator(
        "kl_div",
        "nn_kl_div.values nn_kl_div.far_logarithms nn_exponent_range.spread_exponents",
        "nn_row_boundaries.divergence nn_cancel.kl_div_of_powers_of_two nn_cancel.kl_div_of_far_logarithms",
        "nn_row_boundaries.control_with_shrunk_bounds",
    ),
    Operator(
        "nll_loss",
        "nn_nll.values",
        "nn_row_boundaries.negative_log_likelihood nn_row_boundaries.mean_of_negative_log_likelihood",
        "nn_row_boundaries.control_with_shrunk_bounds:f32,f64",
    ),
    Operator(
        "mse, l1, smooth_l1, huber",
        "nn_losses.values nn_losses.long nn_losses.underflow_on_the_way nn_exponent_range.spread_exponents",
        "nn_row_boundaries.regression_losses nn_losses.sums_at_boundaries nn_controls.ties_behind_divisions",
        "nn_controls.loss_totals",
    ),
    Operator(
        "pooling",
        "nn_pooling.average nn_pooling.greatest nn_exponent_range.spread_exponents",
        "nn_pooling.average",
        "nn_controls.average_backward",
    ),
    Operator(
        "SGD, Adam and their like, clipping",
        "optimizers.hard_data optimizers.clipping formula_exponent_range.optimiser_steps formula_exponent_range.clipping",
        "optimizers.beside_boundaries optimizers.a_hair_beside_ties optimizers.exact_ties_after_steps",
        "optimizers.control formula_exponent_range.control_a_rounding_more",
    ),
    Operator(
        "formulas of a few steps",
        "formulas.hard_data formulas.gradients_near_one formula_exponent_range.formulas",
        "formulas.beside_midpoints formulas.limits_beside_midpoints",
        "formulas.control",
    ),
    Operator(
        "uniform, normal and truncated normal numbers, dropout",
        "random.uniform random.normal random.truncated_normal random.dropout formula_exponent_range.random_numbers",
        "random.beside_midpoints random.uniform_where_the_ends_cancel random.normal_where_mean_and_deviation_cancel"
        " normal_draw.accurate_phase",
        "random.control_with_bounds_too_small normal_draw.bounds_that_are_too_small_are_caught",
    ),
]

HEAD = """
## Operators

A cell counts test functions that run the operator in the format: against exact rationals or wide arithmetic / on data at or beside boundaries
of rounding / controls, in which smaller bounds give wrong bits; `tests/controls/bounds.txt` lists what shows each bound by itself. The tests are named below; unless one is said to run on a single instruction
set, it runs on each that the CPU has. "Roundings counted" are lines of `proofs/depth`: no term passes more roundings than the bound allows,
for 1, 2, 4 and 8 lanes, products of pairs for 8.

| operator | f16 | bf16 | f32 | f64 | roundings counted |
| --- | --- | --- | --- | --- | --- |
"""

TESTS = """
Its tests (`tests/test_<file>.py`, function `test_<name>`, or an operation of `nn/test_controls.py`):

| operator | oracle | boundaries | controls |
| --- | --- | --- | --- |
"""


def file_of(name: str) -> pathlib.Path:
    """The test file, or what tests share, of that name."""
    if (shared := SUPPORT / f"{name}.py").exists():
        return shared
    folders = (
        {"nn": name.removeprefix("nn_")} if name.startswith("nn_") else dict.fromkeys(("reductions", "nn", "random"), name)
    )
    return next(path for folder, stem in folders.items() if (path := ROOT / f"tests/{folder}/test_{stem}.py").exists())


@functools.cache
def module(name: str) -> tuple[str, dict[str, ast.FunctionDef], dict[str, ast.expr]]:
    """The text of a test file, its functions and its constants, with those that it shares with others."""
    path = file_of(name)
    text = path.read_text()
    fixtures = path.parent / "conftest.py"
    functions, constants = {}, {}
    for node in ast.parse(fixtures.read_text()).body if fixtures.exists() else ():
        if isinstance(node, ast.FunctionDef):
            functions[node.name] = node
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            functions[node.name] = node
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            constants[node.targets[0].id] = node.value
        elif isinstance(node, ast.ImportFrom) and (SUPPORT / f"{node.module}.py").exists():
            _, shared, values = module(node.module or "")
            functions, constants = {**shared, **functions}, {**values, **constants}
    return text, functions, constants


def function(test: str) -> ast.FunctionDef:
    name, what = test.partition(":")[0].split(".")
    _, functions, constants = module(name)
    if f"test_{what}" in functions:
        return functions[f"test_{what}"]
    operations = constants.get("OPERATIONS")
    if isinstance(operations, ast.List) and what in [e.id for e in operations.elts if isinstance(e, ast.Name)]:
        return functions[what]
    raise LookupError(f"{test}: there is no such test")


def source(node: ast.AST) -> str:
    return ast.unparse(node).replace("'", '"')


def in_text(text: str) -> set[str]:
    """Formats that a piece of source names."""
    found = set(re.findall(r'"(f16|bf16|f32|f64)"', text))
    if re.search(r"\b(NAMES|FORMATS|ALL)\b", text):
        found |= set(FORMATS)
    if re.search(r"\bSHAPES\b", text):
        found |= {"f16", "bf16", "f32"}
    return found


def formats(test: str) -> set[str]:
    """What "fmt" takes by parametrize, or what the body names."""
    node, chosen = function(test), test.partition(":")[2]
    for decorator in node.decorator_list:
        call = module(test.partition(".")[0])[2].get(decorator.id) if isinstance(decorator, ast.Name) else decorator
        if (
            isinstance(call, ast.Call)
            and call.args
            and isinstance(call.args[0], ast.Constant)
            and call.args[0].value == "fmt"
        ):
            found = in_text(source(call.args[1]))
            break
    else:
        text = source(node) + scripts(test, node)
        found = in_text(text) or ({"f32"} if '"f4"' in text else set())
    assert found >= set(filter(None, chosen.split(","))), test
    return set(chosen.split(",")) if chosen else found


def scripts(test: str, node: ast.AST) -> str:
    """The programs that a test runs in another process: string constants of its file, named by it or by a function of the file it calls."""
    _, functions, constants = module(test.partition(".")[0])
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    names |= {n.id for f in names & set(functions) for n in ast.walk(functions[f]) if isinstance(n, ast.Name)}
    found = [constants[name] for name in sorted(names & set(constants))]
    return "".join(v.value for v in found if isinstance(v, ast.Constant) and isinstance(v.value, str))


def on_every_isa(test: str) -> bool:
    """By a fixture that goes through the instruction sets, perhaps the file's own, or by a loop."""
    _, functions, _ = module(test.partition(".")[0])
    node = function(test)
    if not node.name.startswith("test_"):  # an operation of tests/nn/test_controls.py, whose test goes through them
        node = next(f for f in functions.values() if [a.arg for a in f.args.args] == ["operation"])
    stack = [node]
    while stack:
        node = stack.pop()
        arguments = [a.arg for a in node.args.args]
        if set(arguments) & set(EVERY_ISA) or "libraries(" in source(node):
            return True
        stack += [functions[a] for a in arguments if a in functions]
    return False


def counted() -> str:
    return "".join((ROOT / f"proofs/depth/{name}.c").read_text() for name in ("products", "sums", "pairs"))


def tests(names: str) -> list[str]:
    return names.split()


def cell(operator: Operator, fmt: str) -> str:
    kinds = (operator.oracle, operator.boundaries, operator.controls)
    return " / ".join(str(sum(fmt in formats(test) for test in tests(kind))) for kind in kinds)


def listed(names: str) -> str:
    return ", ".join(f"{test}{'' if on_every_isa(test) else ' (one instruction set)'}" for test in tests(names))


def section() -> str:
    text = counted()
    for operator in OPERATORS:
        for name in filter(None, operator.counts.split("; ")):
            assert f'"{name}"' in text, f"proofs/depth does not print {name}"
    table = [f"| {o.name} | {' | '.join(cell(o, fmt) for fmt in FORMATS)} | {o.counts} |" for o in OPERATORS]
    named = [f"| {o.name} | {listed(o.oracle)} | {listed(o.boundaries)} | {listed(o.controls)} |" for o in OPERATORS]
    return HEAD + "\n".join(table) + "\n" + TESTS + "\n".join(named) + "\n"
