// Jobs whose curve over all caps is small enough for paper. An all-reduce of k MiB takes a + b k.
// It may take 0.6 to 1.7 times that, and nothing else is uncertain (alpha_beta.hpp).
#pragma once

#include <utility>

#include "alpha_beta.hpp"
#include "bucketing_search.hpp"

namespace ddpsim::small {

/// Six gradients, ready 1000 us apart: with a + 5 b below that, only the last bucket is exposed.
inline OpenJob six_hidden(double forward_us, double start_us, double mib_us) {
  return {.workload = mib_layers({1000, 2000, 3000, 4000, 5000, 6000}, forward_us),
          .model = alpha_beta(start_us, mib_us)};
}

/// Three gradients in quick succession, so every bucket waits for the previous one.
///
///   default [1] [2]   gap + T(1) + T(2) = gap + 2a + 3b
///   one bucket        3 gap + T(3)      = 3 gap + a + 3b     a gain of a - 2 gap
inline OpenJob three_queued(double forward_us, double gap_us, double start_us, double mib_us) {
  return {.workload = mib_layers({gap_us, 2 * gap_us, 3 * gap_us}, forward_us),
          .model = alpha_beta(start_us, mib_us)};
}

/// Two gradients come early, four at the end of backward: 2 MiB apart and four together is best.
inline OpenJob two_then_four(double forward_us, double start_us) {
  return {.workload = mib_layers({100, 200, 3000, 3000, 3000, 3000}, forward_us),
          .model = alpha_beta(start_us, 500)};
}

inline Gain gain_us(double value, double low, double high) {
  return {Duration::microseconds(value), Duration::microseconds(low), Duration::microseconds(high)};
}

/// In MiB, to the byte.
inline std::pair<double, double> caps(Bytes from, Bytes to) {
  return {mib(from), mib(to)};
}

}  // namespace ddpsim::small
