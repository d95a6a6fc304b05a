// Elementary functions that are the same to the bit on every machine and under every C library: the double nearest the
// true value. C libraries round the last digit as they please, glibc otherwise than musl (which WebAssembly uses), so
// whatever may reach an output takes these. Additions, products, quotients, std::sqrt, std::floor, std::round,
// std::ldexp are IEEE's, alike everywhere, and need none of this.
//
// How: as Ziv does (Fast evaluation of elementary mathematical functions with correctly rounded last bit, ACM TOMS 17, 1991), in
// steps, each with a bound of its error; where that leaves the last bit open, the next decides. Plain doubles (exp, log, log2), pairs of
// doubles, and, once in a million arguments, Boost.Multiprecision with 192 bits. (What 192 bits leave open is a power half way between
// two doubles, and rounded to even; the other functions have no such values.)
//
// NaN, infinities and zeros are answered as by the C functions of the same name; errno is not set.
#pragma once

namespace ddpsim::elementary {

double exp(double x);
double exp2(double x);
double expm1(double x);
double log(double x);
double log2(double x);
double log10(double x);
double log1p(double x);
/// Of a `base` that is not negative.
double pow(double base, double exponent);
/// cos(2 pi x) of a number of turns, finite.
double cos_of_turns(double x);

}  // namespace ddpsim::elementary
