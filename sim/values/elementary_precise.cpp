#include "elementary_precise.hpp"

#include <boost/math/constants/constants.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cstdint>

namespace ddpsim::elementary::precise {
namespace {

using boost::multiprecision::cpp_bin_float;
using boost::multiprecision::digit_base_2;
using Wide = boost::multiprecision::number<cpp_bin_float<192, digit_base_2, void, std::int32_t>,
                                           boost::multiprecision::et_off>;

Wide wide(double x) {
  return Wide(x);
}

double rounded(const Wide& value) {
  return value.convert_to<double>();
}

/// Below this, expm1 and log1p use Taylor's series, because the general formulas would lose the
/// bits that these functions exist for.
constexpr double kSmall = 0x1p-20;

/// x + x^2 c(2) + x^3 c(3) … for |x| <= kSmall.
template <typename Coefficient>
Wide series(const Wide& x, Coefficient coefficient) {
  Wide total = x;
  Wide power = x;
  for (int n = 2; n <= 10; ++n) {
    power *= x;
    total += power * coefficient(n);
  }
  return total;
}

}  // namespace

double exp(double x) {
  return rounded(boost::multiprecision::exp(wide(x)));
}

double exp2(double x) {
  return rounded(boost::multiprecision::pow(Wide(2), wide(x)));
}

double expm1(double x) {
  if (x < -kSmall || x > kSmall) return rounded(boost::multiprecision::exp(wide(x)) - 1);
  Wide factorial = 1;
  return rounded(series(wide(x), [&](int n) { return 1 / (factorial *= n); }));
}

double log(double x) {
  return rounded(boost::multiprecision::log(wide(x)));
}

double log2(double x) {
  return rounded(boost::multiprecision::log(wide(x)) / boost::math::constants::ln_two<Wide>());
}

double log10(double x) {
  return rounded(boost::multiprecision::log(wide(x)) / boost::math::constants::ln_ten<Wide>());
}

double log1p(double x) {
  if (x < -kSmall || x > kSmall) return rounded(boost::multiprecision::log(1 + wide(x)));
  return rounded(series(wide(x), [](int n) { return Wide(n % 2 == 0 ? -1 : 1) / n; }));
}

double pow(double base, double exponent) {
  const Wide value = boost::multiprecision::pow(wide(base), wide(exponent));
  // A product of few factors may lie half way between two doubles. What the last bits then say
  // about it is noise.
  using Narrower =
      boost::multiprecision::number<cpp_bin_float<160, digit_base_2, void, std::int32_t>,
                                    boost::multiprecision::et_off>;
  return Narrower(value).convert_to<double>();
}

double cos_of_turns(double x) {
  return rounded(boost::multiprecision::cos(2 * boost::math::constants::pi<Wide>() * wide(x)));
}

}  // namespace ddpsim::elementary::precise
