// Elementary functions with the same bits on every machine and with every C library: they return
// the double nearest the true value. C libraries round the last digit differently; glibc does not
// agree with musl, which WebAssembly uses. So everything that may reach an output uses these
// functions. Additions, products, quotients, std::sqrt, std::floor, std::round and std::ldexp
// follow IEEE 754 and are the same everywhere.
//
// Method: Ziv's (Fast evaluation of elementary mathematical functions with correctly rounded last
// bit, ACM TOMS 17, 1991). Each step has a bound of its error; if that leaves the last bit open,
// the next step decides. The steps are plain doubles (exp, log, log2), pairs of doubles, and for
// one argument in a million Boost.Multiprecision with 192 bits.
//
// Only a power can lie exactly half way between two doubles, so that even 192 bits do not decide.
// It is then rounded to even.
//
// NaN, infinities and zeros are treated as by the C functions of the same name. errno is not set.
#pragma once

namespace ddpsim::elementary {

double exp(double x);
double exp2(double x);
double expm1(double x);
double log(double x);
double log2(double x);
double log10(double x);
double log1p(double x);
/// Precondition: `base` is not negative.
double pow(double base, double exponent);
/// cos(2 pi x) for a finite number x of turns.
double cos_of_turns(double x);

}  // namespace ddpsim::elementary
