// The functions of elementary.hpp with 192 bits, rounded once to a double. Each call takes about 20
// us. Precondition: the value is finite and no special case.
#pragma once

namespace ddpsim::elementary::precise {

double exp(double x);
double exp2(double x);
double expm1(double x);
double log(double x);
double log2(double x);
double log10(double x);
double log1p(double x);
double pow(double base, double exponent);
double cos_of_turns(double x);

}  // namespace ddpsim::elementary::precise
