// repmath from C++: the C interface over containers. Prints each result's bits.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <vector>

#include <repmath/repmath.h>

static void check(rm_status status) {
  if (status != RM_OK) throw std::runtime_error(rm_status_message(status));
}

template <class Bits, class Float> static void print(const char *what, const std::vector<Float> &values) {
  static_assert(sizeof(Bits) == sizeof(Float), "bits of another width");
  std::printf("%s", what);
  for (Float v : values) {
    Bits b;
    std::memcpy(&b, &v, sizeof b);
    std::printf(" %0*llx", int(2 * sizeof b), static_cast<unsigned long long>(b));
  }
  std::printf("\n");
}

int main() {
  print<std::uint64_t, double>("exp_f64(1)", {rm_exp_f64(1.0)});
  print<std::uint32_t, float>("exp_f32(1)", {rm_exp_f32(1.0f)});

  std::vector<float> x{1, 2, 3}, y(3);
  check(rm_vlog_f32(3, x.data(), sizeof(float), y.data(), sizeof(float)));
  print<std::uint32_t, float>("log_f32(1 2 3)", y);

  std::vector<double> terms{1e100, 1.0, -1e100, 0.5}, sum(1);
  check(rm_sum_f64(4, terms.data(), sizeof(double), sum.data()));
  print<std::uint64_t, double>("sum_f64", sum);

  std::vector<float> a{1, 2, 3, 4}, b{5, 6, 7, 8}, c(4);
  check(rm_matmul_f32(RM_ROW_MAJOR, RM_NO_TRANS, RM_NO_TRANS, 2, 2, 2, a.data(), 2, b.data(), 2, nullptr, c.data(), 2));
  print<std::uint32_t, float>("matmul_f32", c);
}
