#include "ddpsim/sim/values/elementary.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "ddpsim/sim/values/assert.hpp"
#include "double_double.hpp"
#include "elementary_precise.hpp"

namespace ddpsim::elementary {
namespace {

constexpr DoubleDouble kLn2{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
constexpr double kLn2First = 0x1.62e42fe8p-1;  // the first 30 bits
constexpr DoubleDouble kLn2Rest = kLn2 + DoubleDouble{-kLn2First, 0};
constexpr DoubleDouble kPerLn2{0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56};
constexpr DoubleDouble kPerLn10{0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57};
constexpr DoubleDouble kTwoPi{0x1.921fb54442d18p+2, 0x1.1a62633145c07p-52};

/// Bounds of the relative errors of the functions below, about four times the possible error. Their
/// last terms are plain doubles of 2^-24 (log), 2^-25 (exp) or 2^-17 (expm1, cos) of the value. The
/// error of such a term is two units in its last place.
constexpr double kErrorOfExp = 0x1p-74;
constexpr double kErrorOfExpm1 = 0x1p-66;
constexpr double kErrorOfLog = 0x1p-73;
constexpr double kErrorOfCos = 0x1p-66;
/// Bound of the relative errors of exp and logarithms that are computed with little more than plain
/// doubles. Their errors are at most 2^-59.5 and 2^-61. These values decide the rounding 24 times
/// in 25.
constexpr double kQuickly = 0x1p-58;

/// The double nearest `value`, if its relative error leaves only one candidate; otherwise the
/// result of `precise`.
template <typename Precise>
double nearest(DoubleDouble value, double error, Precise precise) {
  const double wide = std::abs(value.high) * error;
  const double below = value.high + (value.low - wide);
  return below == value.high + (value.low + wide) ? below : precise();
}

/// 2^exponent. Precondition: it is a normal double.
double two_to(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

/// The nearest integer. Precondition: |x| is small.
double whole(double x) {
  return (x + 0x1.8p52) - 0x1.8p52;
}

constexpr int kPieces = 64;  // per octave

/// 2^(i / kPieces).
constexpr auto kPowers = [] {
  // The roots 2^(1/2), 2^(1/4) …, each from the one before by Newton's method.
  std::array<DoubleDouble, kPieces> powers;
  powers.fill({1, 0});
  DoubleDouble root{2, 0};
  for (int bit = kPieces / 2; bit > 0; bit /= 2) {
    double guess = 1.5;
    for (int step = 0; step < 8; ++step) guess = (guess + root.high / guess) / 2;
    const DoubleDouble miss = root + product_of(-guess, guess);
    root = ordered_sum_of(guess, (miss.high + miss.low) / (2 * guess));
    for (int i = 0; i < kPieces; ++i)
      if (i & bit) powers[static_cast<std::size_t>(i)] = powers[static_cast<std::size_t>(i)] * root;
  }
  return powers;
}();

// ln 2 / kPieces in two parts. The first part has so few bits that its products with a number of
// pieces are exact.
constexpr double kFirst = kLn2First / kPieces;
constexpr DoubleDouble kRest{kLn2Rest.high / kPieces, kLn2Rest.low / kPieces};

/// `fraction` times 2^`exponent`.
struct Scaled {
  DoubleDouble fraction;
  int exponent = 0;
};

/// 2^(count / kPieces).
Scaled piece(int count) {
  return {kPowers[static_cast<std::size_t>(count & (kPieces - 1))],
          count >> std::countr_zero(unsigned{kPieces})};
}

/// e^r - 1 for |r| up to slightly more than ln 2 / kPieces / 2.
DoubleDouble expm1_of_small(DoubleDouble r) {
  const double x = r.high;
  const double rest =
      x * x * x * (1. / 6 + x * (1. / 24 + x * (1. / 120 + x * (1. / 720 + x * (1. / 5040)))));
  const DoubleDouble square = r * r;
  return r + ordered_sum_of(square.high / 2, square.low / 2 + rest);
}

/// e^x for |x| < 800.
Scaled exp_of(DoubleDouble x) {
  const double pieces = whole(x.high * (kPieces * kPerLn2.high));
  const DoubleDouble r = (sum_of(x.high, -pieces * kFirst) + kRest * -pieces) + x.low;
  const Scaled power = piece(static_cast<int>(pieces));
  return {power.fraction + power.fraction * expm1_of_small(r), power.exponent};
}

/// Whether 2^exponent times a number from 1 to 2 is a normal double, with a small margin.
bool normal(int exponent) {
  return exponent > -1021 && exponent < 1022;
}

constexpr int kParts = 256;
constexpr int kLeast = 170;  // of kParts / 1.5
constexpr int kMost = 343;   // of kParts / 0.75

/// ln(i / kParts) for i = kLeast to kMost.
constexpr auto kLogarithms = [] {
  std::array<DoubleDouble, kMost - kLeast + 1> logarithms;
  // ln((i + 1) / i) = 2 artanh(1 / (2 i + 1))
  const auto step = [](int i) {
    const DoubleDouble t = DoubleDouble{1, 0} / (2. * i + 1);
    DoubleDouble power = t;
    DoubleDouble total = t;
    for (int n = 3; n <= 15; n += 2) {
      power = power * t * t;
      total = total + power / n;
    }
    return total * 2.;
  };
  DoubleDouble upwards;
  for (int i = kParts; i <= kMost; ++i) {
    logarithms[static_cast<std::size_t>(i - kLeast)] = upwards;
    upwards = upwards + step(i);
  }
  DoubleDouble downwards;
  for (int i = kParts - 1; i >= kLeast; --i) {
    downwards = downwards + step(i) * -1.;
    logarithms[static_cast<std::size_t>(i - kLeast)] = downwards;
  }
  return logarithms;
}();

/// x = 2^exponent kParts / i (1 + z), with 0.75 <= x / 2^exponent < 1.5 and |z| <= 2^-8.4.
struct Split {
  int exponent = 0;
  int i = 0;
  DoubleDouble z;
  const DoubleDouble& tabled() const { return kLogarithms[static_cast<std::size_t>(i - kLeast)]; }
};

/// Precondition: x is finite and positive.
Split split(DoubleDouble x) {
  Split out;
  if (x.high < std::numeric_limits<double>::min()) {
    x = {x.high * 0x1p54, x.low * 0x1p54};
    out.exponent = -54;
  }
  constexpr std::uint64_t kOne = std::uint64_t{1023} << 52;
  const auto bits = std::bit_cast<std::uint64_t>(x.high);
  std::uint64_t mantissa_bits = (bits & ((std::uint64_t{1} << 52) - 1)) | kOne;
  int own = static_cast<int>(bits >> 52) - 1023;
  if (mantissa_bits >= std::bit_cast<std::uint64_t>(1.5)) {  // below 1 in the next octave
    mantissa_bits -= std::uint64_t{1} << 52;
    ++own;
  }
  out.exponent += own;
  // Exact except for `low`: i has nine bits, and each half of the mantissa has at most 27.
  const double mantissa = std::bit_cast<double>(mantissa_bits);
  const double upper = std::bit_cast<double>(mantissa_bits & ~((std::uint64_t{1} << 26) - 1));
  const double i = whole(kParts / mantissa);
  const double factor = i / kParts;
  out.i = static_cast<int>(i);
  out.z = sum_of(upper * factor - 1, (mantissa - upper) * factor);
  if (x.low != 0) out.z = out.z + std::ldexp(x.low, -own) * factor;
  return out;
}

/// ln x within the error kQuickly.
DoubleDouble quick_log_of(const Split& x) {
  const DoubleDouble& z = x.z;
  const double y = z.high;
  const double rest =
      y * y *
      (-1. / 2 +
       y * (1. / 3 + y * (-1. / 4 + y * (1. / 5 + y * (-1. / 6 + y * (1. / 7 + y * (-1. / 8)))))));
  if (x.exponent == 0 && x.i == kParts) return {z.high, z.low + rest};
  const auto exponent = static_cast<double>(x.exponent);
  const DoubleDouble octaves = sum_of(exponent * kLn2First, -x.tabled().high);
  const DoubleDouble most = sum_of(octaves.high, z.high);
  return {most.high,
          most.low + (octaves.low + (exponent * kLn2Rest.high - x.tabled().low + z.low + rest))};
}

/// ln x.
DoubleDouble log_of(const Split& x) {
  const DoubleDouble& z = x.z;
  constexpr DoubleDouble kThird = DoubleDouble{1, 0} / 3;
  const double y = z.high;
  const double rest =
      y * y * y * y *
      (-1. / 4 + y * (1. / 5 + y * (-1. / 6 + y * (1. / 7 + y * (-1. / 8 + y * (1. / 9))))));
  const DoubleDouble square = z * z;
  const DoubleDouble third = square * z * kThird + rest;
  const DoubleDouble log1p = z + (DoubleDouble{-square.high / 2, -square.low / 2} + third);
  if (x.exponent == 0 && x.i == kParts) return log1p;
  return (kLn2 * static_cast<double>(x.exponent) +
          DoubleDouble{-x.tabled().high, -x.tabled().low}) +
         log1p;
}

/// Handles arguments whose logarithm is not computed: zero, negative numbers, infinity, NaN.
/// Returns whether `x` is one.
bool special_logarithm(double x, double& answer) {
  if (x > 0 && x < std::numeric_limits<double>::infinity()) return false;
  answer = x == 0  ? -std::numeric_limits<double>::infinity()
           : x < 0 ? std::numeric_limits<double>::quiet_NaN()
                   : x;
  return true;
}

constexpr double kTooLarge = 800;  // e^800 is larger than every double

/// Handles arguments whose power is NaN, zero or infinite. Returns whether `x` is one.
bool special_power(double x, double largest, double& answer) {
  if (std::abs(x) < largest) return false;
  answer = x > 0 ? std::numeric_limits<double>::infinity() : x < 0 ? 0 : x;
  return true;
}

}  // namespace

double exp(double x) {
  double answer = 0;
  if (special_power(x, kTooLarge, answer)) return answer;
  const double pieces = whole(x * (kPieces * kPerLn2.high));
  const double r = (x - pieces * kFirst) - pieces * kRest.high;
  const double expm1 =
      r + r * r * (1. / 2 + r * (1. / 6 + r * (1. / 24 + r * (1. / 120 + r * (1. / 720)))));
  const Scaled one = piece(static_cast<int>(pieces));
  if (!normal(one.exponent)) return precise::exp(x);
  const double scale = two_to(one.exponent);
  return scale *
         nearest({one.fraction.high, one.fraction.low + one.fraction.high * expm1}, kQuickly, [&] {
           return nearest(exp_of({x, 0}).fraction, kErrorOfExp,
                          [&] { return precise::exp(x) / scale; });
         });
}

double exp2(double x) {
  double answer = 0;
  if (special_power(x, kTooLarge / kLn2.high, answer)) return answer;
  const Scaled power = exp_of(kLn2 * x);
  if (!normal(power.exponent)) return precise::exp2(x);
  return nearest(power.fraction, kErrorOfExp,
                 [&] { return precise::exp2(x) / two_to(power.exponent); }) *
         two_to(power.exponent);
}

double expm1(double x) {
  double answer = 0;
  if (special_power(x, kTooLarge, answer)) return x < 0 ? -1 : answer;
  if (x == 0) return x;
  if (std::abs(x) < kLn2.high / kPieces / 2)
    return nearest(expm1_of_small({x, 0}), kErrorOfExpm1, [&] { return precise::expm1(x); });
  const Scaled power = exp_of({x, 0});
  if (!normal(power.exponent)) return x < 0 ? -1 : precise::expm1(x);
  const double scale = two_to(power.exponent);
  const DoubleDouble value =
      DoubleDouble{power.fraction.high * scale, power.fraction.low * scale} + -1.;
  return nearest(value, kErrorOfExpm1, [&] { return precise::expm1(x); });
}

double log(double x) {
  double answer = 0;
  if (special_logarithm(x, answer)) return answer;
  const Split parts = split({x, 0});
  return nearest(quick_log_of(parts), kQuickly, [&] {
    return nearest(log_of(parts), kErrorOfLog, [&] { return precise::log(x); });
  });
}

double log2(double x) {
  double answer = 0;
  if (special_logarithm(x, answer)) return answer;
  const Split parts = split({x, 0});
  const DoubleDouble quick = quick_log_of(parts);
  const DoubleDouble most = product_of(quick.high, kPerLn2.high);
  return nearest(
      {most.high, most.low + (quick.low * kPerLn2.high + quick.high * kPerLn2.low)}, kQuickly, [&] {
        return nearest(log_of(parts) * kPerLn2, kErrorOfLog, [&] { return precise::log2(x); });
      });
}

double log10(double x) {
  double answer = 0;
  if (special_logarithm(x, answer)) return answer;
  return nearest(log_of(split({x, 0})) * kPerLn10, kErrorOfLog, [&] { return precise::log10(x); });
}

double log1p(double x) {
  double answer = 0;
  if (x == 0) return x;
  if (special_logarithm(1 + x, answer)) return answer;
  return nearest(log_of(split(sum_of(1, x))), kErrorOfLog, [&] { return precise::log1p(x); });
}

double pow(double base, double exponent) {
  DDPSIM_ASSERT(!(base < 0), "a power of a negative number", base, exponent);
  if (base == 0 || base == 1 || exponent == 0 || !std::isfinite(base) || !std::isfinite(exponent))
    return std::pow(base, exponent);  // exact: 0, 1, infinity, NaN
  const DoubleDouble logarithm = log_of(split({base, 0}));
  double answer = 0;
  if (special_power(logarithm.high * exponent, kTooLarge, answer)) return answer;
  const DoubleDouble product = logarithm * exponent;
  const Scaled power = exp_of(product);
  if (!normal(power.exponent)) return precise::pow(base, exponent);
  return nearest(power.fraction, kErrorOfExp + std::abs(product.high) * kErrorOfLog,
                 [&] { return precise::pow(base, exponent) / two_to(power.exponent); }) *
         two_to(power.exponent);
}

double cos_of_turns(double x) {
  // r is the distance to the nearest quarter of a turn, at most an eighth in either direction.
  const double turn = x - std::floor(x);
  const double quarters = whole(turn * 4);
  const double r = turn - quarters / 4;
  const DoubleDouble angle = kTwoPi * r;
  const DoubleDouble square = angle * angle;
  const double s = square.high;
  const bool sine = quarters == 1 || quarters == 3;
  const double sign = quarters == 1 || quarters == 2 ? -1 : 1;
  if (sine && r == 0) return 0;
  // Taylor's series, whose first terms have all their bits.
  constexpr auto over = [](double factorial) { return DoubleDouble{1, 0} / factorial; };
  DoubleDouble value;
  if (sine) {
    constexpr DoubleDouble kTerms[] = {over(-6), over(120), over(-5040)};
    const double rest =
        s * s * s * s *
        (1. / 362880 +
         s * (-1. / 39916800 +
              s * (1. / 6227020800 +
                   s * (-1. / 1307674368000 +
                        s * (1. / 355687428096000 +
                             s * (-1. / 121645100408832000 + s * (1. / 51090942171709440000.)))))));
    const DoubleDouble terms =
        ((square * kTerms[2] + kTerms[1]) * square + kTerms[0]) * square + rest;
    value = angle + angle * terms;
  } else {
    constexpr DoubleDouble kTerms[] = {over(-2), over(24), over(-720)};
    const double rest =
        s * s * s * s *
        (1. / 40320 +
         s * (-1. / 3628800 +
              s * (1. / 479001600 +
                   s * (-1. / 87178291200 +
                        s * (1. / 20922789888000 +
                             s * (-1. / 6402373705728000 + s * (1. / 2432902008176640000)))))));
    value = ((square * kTerms[2] + kTerms[1]) * square + kTerms[0]) * square + rest + 1.;
  }
  return nearest({sign * value.high, sign * value.low}, kErrorOfCos,
                 [&] { return precise::cos_of_turns(x); });
}

}  // namespace ddpsim::elementary
