#include <doctest/doctest.h>

#include "ddpsim/sim/engine/event_queue.hpp"
#include "ddpsim/sim/values/quantities.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

// 25 MiB at 50 GB/s, to the picosecond.
static_assert(25_MiB / 50_GBps == Duration::picoseconds(524'288'000));
static_assert(100_Gbps == 12.5_GBps);
static_assert(1_us + 1_ps == Duration::picoseconds(1'000'001));
static_assert(1_ms == 1000_us);
static_assert(1.5_us == Duration::picoseconds(1'500'000) && 1.5_ms == 1500_us);
static_assert(Duration::seconds(2) == 2000_ms && Duration::milliseconds(2) == 2_ms);
static_assert((2500_us).milliseconds() == 2.5 && (2500_us).seconds() == 0.0025);
static_assert(3_us * 4 == 4 * 3_us && 3_us * 4 == 12_us && -(3_us) + 5_us == 2_us);
static_assert(3_us / 2_us == 1.5);
static_assert(1_MiB == 1024_KiB && 1_KiB == 1024_B && 3_KiB - 1_KiB == 2 * 1_KiB);
static_assert((2_GBps + 1_GBps) * 2 == 6_GBps && 6_GBps / 3 == 2_GBps && 6_GBps / 3_GBps == 2);
static_assert(TimePoint(3_us) + 2_us - TimePoint(1_us) == 4_us);
static_assert(TimePoint(3_us) - 2_us == TimePoint(1_us));

TEST_CASE("units: a transfer is never finished before its last byte") {
  CHECK(1_B / Bandwidth::bytes_per_second(3) == Duration::picoseconds(333'333'333'334));
  CHECK(0_B / 1_GBps == Duration());
  CHECK(1_B / Bandwidth() == Duration::max());
  CHECK(Bytes::max() / Bandwidth::bytes_per_second(1e-3) == Duration::max());
}

TEST_CASE("units: doubling size and rate changes nothing") {
  for (std::int64_t bytes = 1; bytes < 1'000'000'000; bytes = bytes * 7 + 3)
    CHECK(Bytes(bytes) / 13_GBps == Bytes(2 * bytes) / 26_GBps);
}

TEST_CASE("units: scaling rounds to the nearest picosecond and saturates") {
  CHECK(Duration::picoseconds(3).scaled(0.5) == Duration::picoseconds(2));
  CHECK(Duration::picoseconds(-3).scaled(0.5) == Duration::picoseconds(-2));
  CHECK(Duration::max().scaled(2) == Duration::max());
  CHECK(Duration::microseconds(1e300) == Duration::max());
  CHECK(Duration::microseconds(-1e300) == -Duration::max());
  CHECK(Duration::picoseconds(5).scaled(0.29) == 1_ps);  // 1.45
  CHECK(Duration::picoseconds(5).scaled(0.31) == 2_ps);  // 1.55
}

TEST_CASE("event queue: by time, then in the order scheduled") {
  EventQueue<int> queue;
  const auto at = [](std::int64_t ps) { return TimePoint(Duration::picoseconds(ps)); };
  for (int i = 0; i < 1000; ++i) queue.push(at((i * 7919) % 10), i);
  TimePoint last;
  int last_payload = -1;
  int popped = 0;
  while (!queue.empty()) {
    const auto [time, payload] = queue.pop();
    CHECK(time >= last);
    if (time == last && popped > 0) CHECK(payload > last_payload);
    last = time;
    last_payload = payload;
    ++popped;
  }
  CHECK(popped == 1000);
}
