/* repmath for C++20: the C functions over std::span, errors as exceptions, and an accumulator that frees itself. It is all in
 * this header; the library is the C one. Elementwise functions are called by their C names:
 *
 *     repmath::map(rm_vexp_f32, x, y);                  // y[i] = RN(exp(x[i])), of spans, vectors or arrays
 */
#ifndef REPMATH_REPMATH_HPP
#define REPMATH_REPMATH_HPP

#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <type_traits>

#include "repmath.h"

namespace repmath {

/* Throws std::bad_alloc where there is no memory, std::overflow_error where a total does not fit, and std::invalid_argument
 * for all else. */
inline void check(rm_status status) {
  if (status == RM_OK) return;
  if (status == RM_ERR_MEMORY) throw std::bad_alloc();
  if (status == RM_ERR_RANGE) throw std::overflow_error(rm_status_message(status));
  throw std::invalid_argument(rm_status_message(status));
}

namespace detail {
template <class T> using constant = std::type_identity_t<std::span<const T>>;
template <class T> using writable = std::type_identity_t<std::span<T>>;
template <class... Sizes> inline int64_t same(size_t n, Sizes... others) {
  if (((others != n) || ...)) throw std::invalid_argument("arrays of different lengths");
  return static_cast<int64_t>(n);
}
template <class T> inline constexpr ptrdiff_t step = static_cast<ptrdiff_t>(sizeof(T));
} // namespace detail

/* Elementwise functions of one, two and three arguments: out[i] = RN(f(x[i], ...)). out may be one of the arguments. */
template <class T>
void map(rm_status (*f)(int64_t, const T *, ptrdiff_t, T *, ptrdiff_t), detail::constant<T> x, detail::writable<T> out) {
  check(f(detail::same(out.size(), x.size()), x.data(), detail::step<T>, out.data(), detail::step<T>));
}
template <class T>
void map(rm_status (*f)(int64_t, const T *, ptrdiff_t, const T *, ptrdiff_t, T *, ptrdiff_t), detail::constant<T> x,
         detail::constant<T> y, detail::writable<T> out) {
  constexpr ptrdiff_t s = detail::step<T>;
  check(f(detail::same(out.size(), x.size(), y.size()), x.data(), s, y.data(), s, out.data(), s));
}
template <class T>
void map(rm_status (*f)(int64_t, const T *, ptrdiff_t, const T *, ptrdiff_t, const T *, ptrdiff_t, T *, ptrdiff_t),
         detail::constant<T> x, detail::constant<T> y, detail::constant<T> z, detail::writable<T> out) {
  constexpr ptrdiff_t s = detail::step<T>;
  check(f(detail::same(out.size(), x.size(), y.size(), z.size()), x.data(), s, y.data(), s, z.data(), s, out.data(), s));
}

/* The exact sum, and the exact sum of products, rounded once. */
inline float sum(std::span<const float> x) {
  float out;
  check(rm_sum_f32(static_cast<int64_t>(x.size()), x.data(), sizeof(float), &out));
  return out;
}
inline double sum(std::span<const double> x) {
  double out;
  check(rm_sum_f64(static_cast<int64_t>(x.size()), x.data(), sizeof(double), &out));
  return out;
}
inline float dot(std::span<const float> x, std::span<const float> y) {
  float out;
  check(rm_dot_f32(detail::same(x.size(), y.size()), x.data(), sizeof(float), y.data(), sizeof(float), &out));
  return out;
}
inline double dot(std::span<const double> x, std::span<const double> y) {
  double out;
  check(rm_dot_f64(detail::same(x.size(), y.size()), x.data(), sizeof(double), y.data(), sizeof(double), &out));
  return out;
}

/* An exact sum. It is moved, not copied; another is made with merge. */
class Accumulator {
public:
  Accumulator() : total(rm_accumulator_new(), rm_accumulator_free) {
    if (!total) throw std::bad_alloc();
  }
  void add(std::span<const float> x) {
    check(rm_accumulator_add_f32(total.get(), static_cast<int64_t>(x.size()), x.data(), sizeof(float)));
  }
  void add(std::span<const double> x) {
    check(rm_accumulator_add_f64(total.get(), static_cast<int64_t>(x.size()), x.data(), sizeof(double)));
  }
  void add_products(std::span<const float> x, std::span<const float> y) {
    check(rm_accumulator_add_products_f32(total.get(), detail::same(x.size(), y.size()), x.data(), sizeof(float), y.data(),
                                          sizeof(float)));
  }
  void add_products(std::span<const double> x, std::span<const double> y) {
    check(rm_accumulator_add_products_f64(total.get(), detail::same(x.size(), y.size()), x.data(), sizeof(double), y.data(),
                                          sizeof(double)));
  }
  void merge(const Accumulator &other) { check(rm_accumulator_merge(total.get(), other.total.get())); }
  /* RN(total), of float or double. */
  template <class T> T round() const {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>, "round<float>() or round<double>()");
    T out;
    if constexpr (std::is_same_v<T, float>) check(rm_accumulator_round_f32(total.get(), &out));
    else check(rm_accumulator_round_f64(total.get(), &out));
    return out;
  }
  /* For the C functions that are not here. */
  rm_accumulator *get() { return total.get(); }

private:
  std::unique_ptr<rm_accumulator, void (*)(rm_accumulator *)> total;
};

} // namespace repmath

#endif
