// Quantiles and medians of samples small enough to count.
#include "ddpsim/sim/values/quantile.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

#include "ddpsim/sim/values/quantities.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

/// The numbers 1 to n, the largest first.
std::vector<double> first(int n) {
  std::vector<double> values;
  for (int k = n; k >= 1; --k) values.push_back(k);
  return values;
}

}  // namespace

TEST_CASE("quantile: the smallest value that at least the share of all do not exceed") {
  for (int n = 1; n <= 200; ++n) {
    for (int percent = 0; percent <= 100; ++percent) {
      int least = 1;
      while (100 * least < percent * n) ++least;  // in integers: least / n >= percent / 100
      CAPTURE(n);
      CAPTURE(percent);
      CHECK(quantile(first(n), percent / 100.0) == least);
    }
  }
}

TEST_CASE("quantile: always a value of the sample, never one between two") {
  CHECK(quantile<double>({50, 10, 20, 40, 30}, 0.9) == 50);
  CHECK(quantile<double>({50, 10, 20, 40, 30}, 0.1) == 10);
  CHECK(quantile<double>({3, 1}, 0.5) == 1);  // the lower median
  CHECK(quantile<double>({3, 1}, 0.51) == 3);
  CHECK(quantile<double>({7, 7, 1}, 0.5) == 7);
  CHECK(quantile<Duration>({30_us, 10_us, 20_us}, 0.9) == 30_us);
}

TEST_CASE("median: the middle value, or the mean of the middle two for an even number") {
  CHECK(median({7}) == 7);
  CHECK(median({9, 1}) == 5);
  CHECK(median({9, 1, 4}) == 4);
  CHECK(median({9, 1, 4, 6}) == 5);
  CHECK(median({9, 1, 4, 6, 5}) == 5);
  CHECK(median({-3, 100, 2, 2}) == 2);
}
