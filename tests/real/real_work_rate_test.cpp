// Amounts of work in place of times.
#include <doctest/doctest.h>

#include "cpu_device.hpp"
#include "work_rate.hpp"

using namespace ddpsim;

TEST_CASE("real work: what was calibrated alone takes its time there, whatever its launch takes") {
  for (const double each_ns : {0.3, 7.0, 900.0}) {
    for (const double fixed_us : {0.0, 5.0}) {
      const auto time_of = [&](std::int64_t rounds) {
        return Duration::microseconds(fixed_us) +
               Duration::microseconds(each_ns / 1000 * static_cast<double>(rounds));
      };
      const WorkRate rate = WorkRate::calibrated(time_of);
      for (const double us : {100.0, 20'000.0})
        CHECK(time_of(rate.rounds(Duration::microseconds(us))).microseconds() ==
              doctest::Approx(us + fixed_us).epsilon(0.01));
      CHECK(rate.rounds(Duration()) == 0);
    }
  }
}

TEST_CASE("real work: a clock that stands still ends no calibration in a loop or a division") {
  const WorkRate rate = WorkRate::calibrated([](std::int64_t) { return Duration(); });
  CHECK(rate.rounds(Duration::microseconds(1)) == 1'000'000);
}
