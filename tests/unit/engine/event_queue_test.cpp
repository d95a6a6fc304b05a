#include "ddpsim/sim/engine/event_queue.hpp"

#include <doctest/doctest.h>

#include <map>
#include <random>

#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

TimePoint at_picosecond(std::int64_t picoseconds) {
  return TimePoint(Duration::picoseconds(picoseconds));
}

}  // namespace

TEST_CASE("event queue: events of one instant leave in the order in which they were scheduled") {
  EventQueue<int> queue;
  queue.push(at_picosecond(7), 1);
  queue.push(at_picosecond(3), 2);
  queue.push(at_picosecond(7), 3);
  CHECK_FALSE(queue.more_now());
  CHECK(queue.pop() == std::pair(at_picosecond(3), 2));
  queue.push(at_picosecond(7), 4);
  queue.push(at_picosecond(3), 5);  // now is not the past
  CHECK(queue.pop() == std::pair(at_picosecond(3), 5));
  CHECK_FALSE(queue.more_now());
  CHECK(queue.pop() == std::pair(at_picosecond(7), 1));
  CHECK(queue.more_now());
  CHECK(queue.pop() == std::pair(at_picosecond(7), 3));
  queue.push(at_picosecond(7), 6);
  CHECK(queue.pop() == std::pair(at_picosecond(7), 4));
  CHECK(queue.pop() == std::pair(at_picosecond(7), 6));
  CHECK(queue.empty());
}

TEST_CASE("event queue: time begins before zero and its far end fits") {
  EventQueue<int> queue;
  queue.push(at_picosecond(-2), 4);
  queue.push(at_picosecond(-3), 5);
  CHECK(queue.pop() == std::pair(at_picosecond(-3), 5));
  queue.push(TimePoint::max(), 1);
  queue.push(at_picosecond(0), 2);
  queue.push(TimePoint::max() - 1_ps, 3);
  CHECK(queue.pop() == std::pair(at_picosecond(-2), 4));
  CHECK(queue.pop().second == 2);
  CHECK(queue.pop().second == 3);
  CHECK(queue.pop() == std::pair(TimePoint::max(), 1));
  CHECK(queue.empty());
}

TEST_CASE("event queue: random pushes and pops behave like an ordered map") {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 random(seed);
    EventQueue<std::uint32_t> queue;
    std::multimap<TimePoint, std::uint32_t> reference;  // equal keys keep the order of insertion
    const std::uint64_t span = std::uint64_t{1} << (random() % 40);
    TimePoint now = at_picosecond(-static_cast<std::int64_t>(random() % (1000 * span)));
    for (std::uint32_t i = 0; i < 2000; ++i) {
      // Fills up first, then drains.
      const bool push = reference.empty() || random() % 1000 > i / 2;
      if (push) {
        const TimePoint time =
            now + Duration::picoseconds(static_cast<std::int64_t>(random() % span));
        queue.push(time, i);
        reference.emplace(time, i);
      } else {
        const auto [time, payload] = queue.pop();
        REQUIRE(time == reference.begin()->first);
        REQUIRE(payload == reference.begin()->second);
        reference.erase(reference.begin());
        now = time;
        REQUIRE(queue.more_now() == reference.contains(now));
      }
      REQUIRE(queue.empty() == reference.empty());
    }
  }
}
