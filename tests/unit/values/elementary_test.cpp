// Compares the elementary functions with values computed with 600 bits (mpmath) where rounding is
// hardest. glibc 2.36 misses some of them. The arguments are:
// - the cases of Lefevre and Muller (Worst cases for correct rounding of the elementary functions
//   in double precision, ARITH 2001);
// - the hardest of eight million random arguments for each function;
// - results among the subnormals, and powers exactly half way between two doubles.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "ddpsim/sim/values/elementary.hpp"
#include "ddpsim/sim/values/split_mix.hpp"
#include "elementary_precise.hpp"

namespace ddpsim {
namespace {

using Function = double (*)(double);

struct HardCase {
  Function function;
  double x;
  double nearest;
};

constexpr HardCase kHard[] = {
    {elementary::exp, 0x1.accfbe46b4efp-1, 0x1.27c2e4bc1ee7p+1},
    {elementary::exp, -0x1.02393d5976769p+1, 0x1.1064b2c103ddbp-3},
    {elementary::exp, -0x1.ed318efb627eap-27, 0x1.ffffff84b39c5p-1},
    {elementary::exp, -0x1.74910d52d3052p+9, 0x0p+0},
    {elementary::exp, -0x1.73dp+9, 0x0.0000000000002p-1022},
    {elementary::exp2, 0x1.e4596526bf94dp-10, 0x1.0053fc2ec2b53p+0},
    {elementary::exp2, -0x1.0c8p+10, 0x0.0000000000001p-1022},
    {elementary::log, 0x1.62a88613629b6p+678, 0x1.d6479eba7c971p+8},
    {elementary::log, 0x0.0000000000001p-1022, -0x1.74385446d71c3p+9},
    {elementary::log2, 0x1.b4ebe40c95a01p+0, 0x1.8adeac981e00ep-1},
    {elementary::log10, 0x1.e12d66744ff81p+429, 0x1.02d4f53729e45p+7},
    {elementary::log1p, 0x1.8000000000003p-50, 0x1.7ffffffffffffp-50},
    {elementary::expm1, 0x1p-60, 0x1p-60},
    {elementary::cos_of_turns, 0x1.dd56ed2bec1f7p-4, 0x1.7cc45cc4ebda2p-1},
    {elementary::cos_of_turns, 0x1.5555555555555p-4, 0x1.bb67ae8584cabp-1},
    {elementary::cos_of_turns, 0x1.5555555555555p-3, 0x1p-1},
    {elementary::cos_of_turns, 0x1.ffffffffffp-3, 0x1.921fb54442d18p-41},
    {elementary::cos_of_turns, 0x1.bp-1, 0x1.1c73b39ae68c8p-1},
    {elementary::cos_of_turns, 0x1.0000000000001p-2, -0x1.921fb54442d18p-52},
    {elementary::exp, -0x1.408a1a3514f08p+9, 0x1.15efe30677e42p-925},
    {elementary::exp, 0x1.6d9bf2cdd4fc4p+8, 0x1.60c2782559767p+527},
    {elementary::exp, 0x1.0dc6710732e98p+6, 0x1.3b5a45f6cde24p+97},
    {elementary::exp, 0x1.5f7a06064f668p+8, 0x1.0d675ebba9106p+507},
    {elementary::exp2, -0x1.a4a4278663bc8p+1, 0x1.a3da5cabdc2dp-4},
    {elementary::exp2, -0x1.62bbc69985bd6p+4, 0x1.c6d246ccbb932p-23},
    {elementary::exp2, 0x1.175d272cf7ac8p+2, 0x1.49b6280b5f3b1p+4},
    {elementary::exp2, -0x1.70987c65519d8p+4, 0x1.f2f505083ffecp-24},
    {elementary::exp2, 0x1.97236138b6d38p+4, 0x1.5cc575dbbcfb5p+25},
    {elementary::log, 0x1.64aaa2d8ecb0dp-3, -0x1.bf70fac71b621p+0},
    {elementary::log, 0x1.285dcb2218059p+17, 0x1.7dc1e9de0e615p+3},
    {elementary::log, 0x1.cf03051839d5bp-5, -0x1.6fc3bbcc977d4p+1},
    {elementary::log, 0x1.51dcb7e0f0068p-18, -0x1.865fc0d638de4p+3},
    {elementary::log, 0x1.4efd232d57778p-4, -0x1.407839ecb297ep+1},
    {elementary::log, 0x1.9caaeb3eb0ffep+0, 0x1.e8ec9cfe6048cp-2},
    {elementary::log, 0x1.ae20c77b9380cp+0, 0x1.09adfb30bdcap-1},
    {elementary::log2, 0x1.70a58b9f2baf6p+25, 0x1.986ae277aa6b1p+4},
    {elementary::log2, 0x1.01706d5c23ed2p+29, 0x1.d02120a22b692p+4},
    {elementary::log2, 0x1.6f017d84e191fp+36, 0x1.2428430cbf81ap+5},
    {elementary::log2, 0x1.e3fb4dccbbde5p+18, 0x1.2eb37099da63ep+4},
    {elementary::log2, 0x1.16bd3d48e0855p+6, 0x1.87db7fdace854p+2},
    {elementary::log10, 0x1.d824f4c06c446p+19, 0x1.7f10df1e6179ap+2},
    {elementary::log10, 0x1.43422e053ca05p-10, -0x1.7459c85b46b3dp+1},
    {elementary::log10, 0x1.334e9cd963289p+19, 0x1.7321380879759p+2},
    {elementary::log10, 0x1.01bfec25a5cbap+19, 0x1.6e3de690fd1d7p+2},
    {elementary::log10, 0x1.5250b2cd6a4ffp+32, 0x1.38211b8508446p+3},
    {elementary::log1p, 0x1.91d9d2857091cp-5, 0x1.884e3a0dc717ap-5},
    {elementary::log1p, 0x1.d631f80f1cd68p-16, 0x1.d63048436b423p-16},
    {elementary::log1p, 0x1.6d25d7e53dddap-26, 0x1.6d25d7a4233fdp-26},
    {elementary::log1p, 0x1.a9c317dbcb17cp-6, 0x1.a452f61a6a033p-6},
    {elementary::log1p, 0x1.e023389e301dbp-21, 0x1.e0232a8c2045dp-21},
    {elementary::expm1, 0x1.cd1b164b6e328p-22, 0x1.cd1b1cc883647p-22},
    {elementary::expm1, 0x1.57ee9292c3d58p-23, 0x1.57ee9460d5023p-23},
    {elementary::expm1, 0x1.fb8d9c7cffe4p-27, 0x1.fb8d9cbbe4878p-27},
    {elementary::expm1, 0x1.00b4b187e99d6p-24, 0x1.00b4b2089e8edp-24},
    {elementary::expm1, 0x1.2a6ac44d210f9p-14, 0x1.2a6d7c0ad57f5p-14},
    {elementary::expm1, 0x1.1d783808fd0dcp+1, 0x1.09aa2028a0621p+3},
    {elementary::expm1, -0x1.098b48a04a9e5p+0, -0x1.4a89e0509f0fcp-1},
    {elementary::expm1, 0x1.0a4ac7099184p-2, 0x1.301fbd26a160ep-2},
};

struct Power {
  double base;
  double exponent;
  double nearest;
};

constexpr Power kPowers[] = {
    {0x1.8p+1, 0x1.4p+1, 0x1.f2d4a4563564p+3},
    {0x1.4p+3, -0x1.2cp+8, 0x1.56e1fc2f8f359p-997},
    {0x1.4p+3, 0x1.6p+4, 0x1.0f0cf064dd592p+73},
    {0x1.4p+3, 0x1.7p+4, 0x1.52d02c7e14af6p+76},
    {0x1.0000000000001p+0, 0x1.c6bf52634p+49, 0x1.3fa60615291eep+0},
    {0x1.0000002p+27, 0x1p+1, 0x1.0000004p+54},
    {0x1.8p+0, 0x1.9p+6, 0x1.69194f299cddap+58},
    {0x1.3333333333333p-2, 0x1.ecccccccccccdp+2, 0x1.8ae7e5b4e6bafp-14},
    {0x1.56e1fc2f8f359p-997, 0x1.07ae147ae147bp+0, 0x0.0b8157268fdabp-1022},
    {0x1p+1, 0x1p-1, 0x1.6a09e667f3bcdp+0},
    {0x1p+33, 0x1.5555555555555p-2, 0x1.ffffffffffffcp+10},
    {0x1.6a09e6cp+26, 0x1p+1, 0x1.0000007c84becp+53},
    {0x1.96608p+17, 0x1.8p+1, 0x1.00011add69b2p+53},
};

constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// A random number from `least` to `most`, from a counter.
double between(double least, double most, std::uint64_t which) {
  return least + (most - least) * (static_cast<double>(mixed(which) >> 11) * 0x1p-53);
}

}  // namespace

TEST_CASE("elementary functions: the arguments that are hardest to round") {
  for (const HardCase& one : kHard) {
    CAPTURE(one.x);
    CHECK(one.function(one.x) == one.nearest);
  }
  for (const Power& one : kPowers) {
    CAPTURE(one.base);
    CAPTURE(one.exponent);
    CHECK(elementary::pow(one.base, one.exponent) == one.nearest);
  }
}

TEST_CASE("elementary functions: 120 bits and 192 agree on random arguments") {
  const struct {
    Function quick;
    Function precise;
    double least;
    double most;
  } functions[] = {
      {elementary::exp, elementary::precise::exp, -700, 700},
      {elementary::exp, elementary::precise::exp, -1, 1},
      {elementary::exp2, elementary::precise::exp2, -1000, 1000},
      {elementary::expm1, elementary::precise::expm1, -0.02, 0.02},
      {elementary::expm1, elementary::precise::expm1, -3, 40},
      {elementary::log, elementary::precise::log, 0, 1e300},
      {elementary::log, elementary::precise::log, 0.5, 2},
      {elementary::log, elementary::precise::log, 0.99, 1.01},
      {elementary::log2, elementary::precise::log2, 0.5, 2},
      {elementary::log10, elementary::precise::log10, 0, 1e6},
      {elementary::log1p, elementary::precise::log1p, -0.01, 0.01},
      {elementary::log1p, elementary::precise::log1p, -0.999, 100},
      {elementary::cos_of_turns, elementary::precise::cos_of_turns, 0, 1},
  };
  for (const auto& function : functions)
    for (std::uint64_t i = 0; i < 300; ++i) {
      const double x = between(function.least, function.most, i);
      CAPTURE(x);
      CHECK(function.quick(x) == function.precise(x));
    }
  for (std::uint64_t i = 0; i < 300; ++i) {
    const double base = between(0, 100, i);
    const double exponent = between(-20, 20, i + 1'000'000);
    CAPTURE(base);
    CAPTURE(exponent);
    CHECK(elementary::pow(base, exponent) == elementary::precise::pow(base, exponent));
  }
}

TEST_CASE("elementary functions: zeros, infinities and NaN are treated as in C") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(elementary::exp(kInfinite) == kInfinite);
  CHECK(elementary::exp(-kInfinite) == 0);
  CHECK(elementary::exp(710) == kInfinite);
  CHECK(elementary::exp(-746) == 0);
  CHECK(elementary::exp2(-1024) == 0x1p-1024);
  CHECK(elementary::exp2(3) == 8);
  CHECK(elementary::expm1(-kInfinite) == -1);
  CHECK(elementary::expm1(0x1p-1074) == 0x1p-1074);
  CHECK(std::signbit(elementary::expm1(-0.0)));
  CHECK(elementary::log(0) == -kInfinite);
  CHECK(elementary::log(kInfinite) == kInfinite);
  CHECK(std::isnan(elementary::log(-1)));
  CHECK(elementary::log(1) == 0);
  CHECK(elementary::log2(0x1p-1074) == -1074);
  CHECK(elementary::log10(1000) == 3);
  CHECK(elementary::log1p(-1) == -kInfinite);
  CHECK(elementary::log1p(0x1p-1074) == 0x1p-1074);
  for (const Function function :
       {elementary::exp, elementary::exp2, elementary::expm1, elementary::log, elementary::log2,
        elementary::log10, elementary::log1p})
    CHECK(std::isnan(function(nan)));
  CHECK(elementary::pow(0, 2) == 0);
  CHECK(elementary::pow(0, -1) == kInfinite);
  CHECK(elementary::pow(nan, 0) == 1);
  CHECK(elementary::pow(2, kInfinite) == kInfinite);
  CHECK(elementary::pow(10, 400) == kInfinite);
  CHECK(elementary::pow(10, -400) == 0);
  for (const double quarter : {0.25, 0.75, 1.25, -0.25})
    CHECK(elementary::cos_of_turns(quarter) == 0);
  CHECK(elementary::cos_of_turns(0.5) == -1);
  CHECK(elementary::cos_of_turns(2) == 1);
}

}  // namespace ddpsim
