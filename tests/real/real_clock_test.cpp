// Clocks that drift, made up: what comparing them says, and that it is as right as it claims.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "clock_fit.hpp"
#include "rank_clock.hpp"

using namespace ddpsim;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

/// Rank 0's clock runs 10 millionths faster and 5 s ahead; messages take what they take, each way something else.
struct TwoClocks {
  std::int64_t now = 7 * kSecond;
  std::int64_t there = 30'000;
  std::int64_t back = 90'000;
  int asked = 0;

  static std::int64_t of_rank_0(std::int64_t own) { return own + own / 100'000 + 5 * kSecond; }
  ClockSample sample() {
    return sample_clock([this] { return now; },
                        [this] {
                          ++asked;
                          now += there + (asked % 7) * 11'000;  // one in seven is quick
                          const std::int64_t answer = of_rank_0(now);
                          now += back + (asked % 3) * 5'000;
                          return answer;
                        });
  }
  static std::int64_t offset_at(std::int64_t own) { return of_rank_0(own) - own; }
};

constexpr double kDrift = 0.1;  // a thousand times what quartz does: seen within milliseconds

/// A host whose clock began elsewhere and runs slower than rank 0's.
std::int64_t elsewhere_ns(std::int64_t ns) {
  return 3 * kSecond + static_cast<std::int64_t>(static_cast<double>(ns) * (1 - kDrift));
}
std::int64_t elsewhere_now() {
  static const std::int64_t zero = monotonic_ns();
  return elsewhere_ns(monotonic_ns() - zero) + zero;
}

}  // namespace

TEST_CASE("real clock: what a rank of another host records is on rank 0's clock in the end") {
  const Listening listening = listen_on("127.0.0.1", 0);
  const StoreServer server(listening, 2, std::chrono::seconds(30));
  const auto client = [&](int rank) {
    return std::make_unique<StoreClient>(
        "127.0.0.1", listening.port,
        Greeting{.rank = rank, .ranks = 2, .version = "", .job = "", .token = ""},
        std::chrono::seconds(30));
  };
  auto rank_0 = std::async(std::launch::async, [&] {
    const auto store = client(0);
    RankClock clock(*store, 0, "here");
    const HostClock host = clock.start();
    store->barrier("recorded");
    std::vector<StepRecord> records(1);
    clock.correct(records);
    const std::string agreement = clock.agreement("cap25", 2);
    store->leave();
    return std::pair(host.at(0).since_start(), agreement);
  });
  const auto store = client(1);
  RankClock clock(*store, 1, "elsewhere", elsewhere_now);
  const HostClock host = clock.start();
  std::vector<StepRecord> records(1);
  const std::int64_t begin = monotonic_ns();
  while (monotonic_ns() < begin + 50'000'000) store->time_of_rank_0();  // a sweep of 50 ms
  const std::int64_t before = monotonic_ns();
  records[0].forward_begin = host.at(elsewhere_now());
  const std::int64_t after = monotonic_ns();
  clock.correct(records);
  clock.tell("cap25");
  store->barrier("recorded");
  const auto [origin, agreement] = rank_0.get();
  store->leave();

  // On rank 0's clock it was between `before` and `after`.
  const Duration recorded = records[0].forward_begin.since_start() - origin;
  const double error_us = std::stod(agreement.substr(agreement.find("others within ") + 14));
  const Duration slack = Duration::microseconds(error_us * (1 + 2 * kDrift) + 1);
  CHECK(recorded > Duration::picoseconds(before * 1000) - slack);
  CHECK(recorded < Duration::picoseconds(after * 1000) + slack);
  CHECK(error_us < 2000);  // of 5 ms that it would be off without
  CHECK(agreement.starts_with("rank 0's, known to others within "));
  CHECK(agreement.find("; drift of up to 1") != std::string::npos);  // 1 / 0.9 - 1 = 111,111 ppm
}

TEST_CASE("real clock: the quickest exchange is taken, and its error holds") {
  TwoClocks clocks;
  const ClockSample sample = clocks.sample();
  CHECK(clocks.asked == 50);
  CHECK(sample.error_ns == 60'000);  // half of 30 + 90 us
  CHECK(std::abs(sample.offset_ns - TwoClocks::offset_at(sample.own_ns)) <= sample.error_ns + 2);
}

TEST_CASE("real clock: between two comparisons drift is taken out, to the error they have") {
  TwoClocks clocks;
  const ClockSample before = clocks.sample();
  clocks.now += 100 * kSecond;  // a sweep
  const ClockSample after = clocks.sample();
  const ClockLine line(before, after);
  CHECK(std::abs(line.drift_ppm() - 10) <= line.drift_error_ppm());
  CHECK(line.drift_error_ppm() < 1.3);
  for (int tenth = 0; tenth <= 10; ++tenth) {
    const std::int64_t at = before.own_ns + tenth * 10 * kSecond;
    CHECK(std::abs(line.offset_ns(at) - TwoClocks::offset_at(at)) <= line.error_ns() + 2);
  }
  // With the first comparison alone it would be a millisecond.
  CHECK(TwoClocks::offset_at(after.own_ns) - before.offset_ns > 900'000);
}

TEST_CASE("real clock: beyond its comparisons a line stays where it was") {
  const ClockLine line({.own_ns = 100, .offset_ns = 10, .error_ns = 1},
                       {.own_ns = 200, .offset_ns = 30, .error_ns = 3});
  CHECK(line.offset_ns(0) == 10);
  CHECK(line.offset_ns(150) == 20);
  CHECK(line.offset_ns(1000) == 30);
  CHECK(line.error_ns() == 3);
  const ClockLine moment({.own_ns = 100, .offset_ns = 10}, {.own_ns = 100, .offset_ns = 10});
  CHECK(moment.drift_ppm() == 0);
  CHECK(moment.offset_ns(100) == 10);
}

TEST_CASE("real clock: every instant of a record is moved") {
  StepRecord step;
  step.buckets.resize(2);
  move_times(step, [](TimePoint instant) { return instant + Duration::microseconds(3); });
  const TimePoint moved = TimePoint() + Duration::microseconds(3);
  for (const TimePoint instant : {step.forward_begin, step.backward_begin, step.backward_end,
                                  step.optimizer_begin, step.optimizer_end, step.end})
    CHECK(instant == moved);
  for (const BucketRecord& bucket : step.buckets)
    for (const TimePoint instant :
         {bucket.ready, bucket.launch_begin, bucket.launch_end, bucket.start, bucket.end,
          bucket.copy_out_begin, bucket.copy_out_end})
      CHECK(instant == moved);
}
