// Amounts of work instead of times.
#include <doctest/doctest.h>

#include "cpu_device.hpp"
#include "work_rate.hpp"

using namespace ddpsim;

TEST_CASE("real work: calibrated work takes its time for any launch time") {
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

TEST_CASE("real work: a stopped clock causes no endless calibration and no division by zero") {
  const WorkRate rate = WorkRate::calibrated([](std::int64_t) { return Duration(); });
  CHECK(rate.rounds(Duration::microseconds(1)) == 1'000'000);
}
