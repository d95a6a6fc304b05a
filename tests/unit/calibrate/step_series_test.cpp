// Series of step times, judged by their values alone: a warm-up, two kinds of steps, a time that
// only grows.
#include "step_series.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace ddpsim;

namespace {

std::vector<double> joined(std::vector<double> first, const std::vector<double>& then) {
  first.insert(first.end(), then.begin(), then.end());
  return first;
}

const std::vector<double> kShort(12, 0.052);
const std::vector<double> kLong = {0.312, 0.310, 0.314, 0.309, 0.312};

}  // namespace

TEST_CASE("step series: two steady groups far apart are two kinds, in either order") {
  const auto kinds = two_kinds_of_steps(joined(kLong, kShort));
  REQUIRE(kinds);
  CHECK(kinds->first == 5);
  CHECK(kinds->other == 12);
  CHECK(kinds->first_s == doctest::Approx(0.312));
  CHECK_FALSE(kinds->in_turn);
  CHECK(two_kinds_of_steps(joined(kShort, kLong)));
  const auto turns = two_kinds_of_steps(joined(joined(kLong, kShort), kLong));
  REQUIRE(turns);
  CHECK(turns->in_turn);
  CHECK(two_kinds_of_steps({0.103, 0.103, 0.103, 0.031, 0.031, 0.031, 0.031}));
}

TEST_CASE("step series: a warm-up, every fourth step and a burst are of one kind") {
  CHECK_FALSE(two_kinds_of_steps(joined({0.9, 0.6, 0.4, 0.35}, std::vector<double>(12, 0.312))));
  CHECK_FALSE(two_kinds_of_steps(joined({0.9, 0.9}, std::vector<double>(12, 0.312))));
  std::vector<double> fourth;
  for (int i = 0; i < 40; ++i) fourth.push_back(i % 4 == 3 ? 0.5 : 0.1);
  CHECK_FALSE(two_kinds_of_steps(fourth));
  CHECK_FALSE(two_kinds_of_steps(joined({0.9, 0.9, 0.9}, std::vector<double>(100, 0.3)), 3));
  CHECK(
      two_kinds_of_steps(joined(std::vector<double>(10, 0.9), std::vector<double>(100, 0.3)), 10));
}

TEST_CASE("step series: the time since the start grows in proportion, also after a resume") {
  CHECK(grows_as_elapsed({31, 62, 93}));
  CHECK(grows_as_elapsed({31, 62}));
  CHECK(grows_as_elapsed({31, 62, 93, 124, 31, 62, 93}));
  CHECK(grows_as_elapsed({31.1, 31.2, 62.5, 62.4, 93.5, 93.6, 124.9, 124.8, 155.9, 156.0}));
  CHECK_FALSE(grows_as_elapsed({300.5, 301, 301.5, 302, 302.5, 303, 303.5}));
  CHECK_FALSE(grows_as_elapsed({300, 301, 300, 600, 601, 600}));
  CHECK_FALSE(grows_as_elapsed({5, 0.3, 0.31, 0.3}));
  CHECK_FALSE(grows_as_elapsed({}));
}
