"""repmath.hpp: the C functions over spans, beside Python's; errors are exceptions; no warning of g++."""

import pathlib

import numpy as np
import pytest
from native import ROOT, need, run

import repmath

PROGRAM = r"""
#include <repmath/repmath.hpp>
#include <array>
#include <cstdio>
#include <vector>

template <class E, class F> void fails(const char *what, F f) {
  try {
    f();
    std::printf("%s: nothing\n", what);
  } catch (const E &) {
    std::printf("%s: thrown\n", what);
  }
}

int main() {
  std::vector<double> x{0.5, 1, 2}, y(3);
  std::array<float, 3> a{1e8f, 1, -1e8f}, b{0.1f, 0.2f, 0.3f}, c{3, 2, 1}, d{};
  repmath::map(rm_vexp_f64, x, y);
  std::printf("%a %a %a\n", y[0], y[1], y[2]);
  repmath::map(rm_vpow_f32, b, c, d);
  std::printf("%a %a %a\n", d[0], d[1], d[2]);
  repmath::map(rm_vfma_f32, a, b, c, d);
  std::printf("%a %a %a\n", d[0], d[1], d[2]);
  std::printf("%a %a %a\n", repmath::sum(a), repmath::dot(a, b), repmath::dot(x, y));
  repmath::Accumulator total, other;
  total.add(a);
  other.add_products(x, y);
  total.merge(other);
  repmath::Accumulator moved = std::move(total);
  std::printf("%a %a\n", moved.round<float>(), moved.round<double>());
  std::array<float, 2> few{};
  fails<std::invalid_argument>("lengths", [&] { repmath::map(rm_vexp_f32, a, few); });
  fails<std::overflow_error>("range", [&] { repmath::check(RM_ERR_RANGE); });
}
"""


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_spans(compiler, tmp_path):
    (program,) = need(compiler)
    library, source = pathlib.Path(repmath.get_include()).parent / "lib", tmp_path / "program.cpp"
    source.write_text(PROGRAM)
    flags = ["-std=c++20", "-Wall", "-Wextra", "-Werror", f"-I{pathlib.Path(ROOT, 'include')}"]
    run(program, *flags, source, "-o", tmp_path / "program", f"-L{library}", "-lrepmath", f"-Wl,-rpath,{library}")
    lines = run(tmp_path / "program").splitlines()
    x, a, b, c = np.array([0.5, 1, 2]), *np.array([[1e8, 1, -1e8], [0.1, 0.2, 0.3], [3, 2, 1]], np.float32)
    y = repmath.exp(x)
    both = repmath.Accumulator(a)
    both.add_products(x, y)
    expected = [y, repmath.pow(b, c), repmath.fma(a, b, c), [repmath.sum(a), repmath.dot(a, b), repmath.dot(x, y)]]
    expected.append([both.round(np.float32), both.round(np.float64)])
    assert [[float.fromhex(v) for v in line.split()] for line in lines[:5]] == [[float(v) for v in row] for row in expected]
    assert lines[5:] == ["lengths: thrown", "range: thrown"]
