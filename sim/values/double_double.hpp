// Unevaluated sums of two doubles with about 106 bits (Dekker, A floating-point technique for
// extending the available precision, 1971). They use no fused multiply-add, because not every
// machine has one. Precondition: operands are below 2^990.
#pragma once

namespace ddpsim {

struct DoubleDouble {
  double high = 0;
  double low = 0;
};

/// Exact.
constexpr DoubleDouble sum_of(double a, double b) {
  const double sum = a + b;
  const double of_b = sum - a;
  return {sum, (a - (sum - of_b)) + (b - of_b)};
}

/// Exact if |a| >= |b|.
constexpr DoubleDouble ordered_sum_of(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

/// Exact unless it underflows.
constexpr DoubleDouble product_of(double a, double b) {
  constexpr double kHalf = 0x1p27 + 1;
  const double a_high = kHalf * a - (kHalf * a - a);
  const double b_high = kHalf * b - (kHalf * b - b);
  const double a_low = a - a_high;
  const double b_low = b - b_high;
  const double product = a * b;
  return {product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low};
}

constexpr DoubleDouble operator+(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble high = sum_of(a.high, b.high);
  const DoubleDouble low = sum_of(a.low, b.low);
  const DoubleDouble most = ordered_sum_of(high.high, high.low + low.high);
  return ordered_sum_of(most.high, most.low + low.low);
}

constexpr DoubleDouble operator+(DoubleDouble a, double b) {
  const DoubleDouble high = sum_of(a.high, b);
  return ordered_sum_of(high.high, high.low + a.low);
}

constexpr DoubleDouble operator*(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble high = product_of(a.high, b.high);
  return ordered_sum_of(high.high, high.low + (a.high * b.low + a.low * b.high));
}

constexpr DoubleDouble operator*(DoubleDouble a, double b) {
  const DoubleDouble high = product_of(a.high, b);
  return ordered_sum_of(high.high, high.low + a.low * b);
}

constexpr DoubleDouble operator/(DoubleDouble a, double b) {
  const double quotient = a.high / b;
  const DoubleDouble rest = a + product_of(-quotient, b);
  return ordered_sum_of(quotient, (rest.high + rest.low) / b);
}

}  // namespace ddpsim
