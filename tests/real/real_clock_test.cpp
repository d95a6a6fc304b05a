// Simulated clocks that drift: the results of comparing them, and that their error bounds hold.
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

/// Rank 0's clock runs faster by 10 millionths and is 5 s ahead. The two directions of messages
/// take different times.
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
                          now += there + (asked % 7) * 11'000;  // one in seven is fast
                          const std::int64_t answer = of_rank_0(now);
                          now += back + (asked % 3) * 5'000;
                          return answer;
                        });
  }
  static std::int64_t offset_at(std::int64_t own) { return of_rank_0(own) - own; }
};

// A thousand times the drift of quartz, visible within milliseconds.
constexpr double kDrift = 0.1;

/// The clock of another host, which has another origin and runs slower than rank 0's.
std::int64_t elsewhere_ns(std::int64_t ns) {
  return 3 * kSecond + static_cast<std::int64_t>(static_cast<double>(ns) * (1 - kDrift));
}
std::int64_t elsewhere_now() {
  static const std::int64_t zero = monotonic_ns();
  return elsewhere_ns(monotonic_ns() - zero) + zero;
}

}  // namespace

TEST_CASE("real clock: records of another host are converted to rank 0's clock") {
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
  while (monotonic_ns() < begin + 50'000'000) store->time_of_rank_0();  // duration of a sweep
  const std::int64_t before = monotonic_ns();
  records[0].forward_begin = host.at(elsewhere_now());
  const std::int64_t after = monotonic_ns();
  clock.correct(records);
  clock.tell("cap25");
  store->barrier("recorded");
  const auto [origin, agreement] = rank_0.get();
  store->leave();

  // On rank 0's clock, it was between `before` and `after`.
  const Duration recorded = records[0].forward_begin.since_start() - origin;
  const double error_us = std::stod(agreement.substr(agreement.find("others within ") + 14));
  const Duration slack = Duration::microseconds(error_us * (1 + 2 * kDrift) + 1);
  CHECK(recorded > Duration::picoseconds(before * 1000) - slack);
  CHECK(recorded < Duration::picoseconds(after * 1000) + slack);
  CHECK(error_us < 2000);  // without comparisons, the error would be 5 ms
  CHECK(agreement.starts_with("rank 0's, known to others within "));
  CHECK(agreement.find("; drift of up to 1") != std::string::npos);  // 1 / 0.9 - 1 = 111,111 ppm
}

TEST_CASE("real clock: the fastest exchange is used, and its error bound holds") {
  TwoClocks clocks;
  const ClockSample sample = clocks.sample();
  CHECK(clocks.asked == 50);
  CHECK(sample.error_ns == 60'000);  // half of 30 + 90 us
  CHECK(std::abs(sample.offset_ns - TwoClocks::offset_at(sample.own_ns)) <= sample.error_ns + 2);
}

TEST_CASE("real clock: drift between two comparisons is removed within their error") {
  TwoClocks clocks;
  const ClockSample before = clocks.sample();
  clocks.now += 100 * kSecond;  // duration of a sweep
  const ClockSample after = clocks.sample();
  const ClockLine line(before, after);
  CHECK(std::abs(line.drift_ppm() - 10) <= line.drift_error_ppm());
  CHECK(line.drift_error_ppm() < 1.3);
  for (int tenth = 0; tenth <= 10; ++tenth) {
    const std::int64_t at = before.own_ns + tenth * 10 * kSecond;
    CHECK(std::abs(line.offset_ns(at) - TwoClocks::offset_at(at)) <= line.error_ns() + 2);
  }
  // With only the first comparison, the error would be a millisecond.
  CHECK(TwoClocks::offset_at(after.own_ns) - before.offset_ns > 900'000);
}

TEST_CASE("real clock: the offset is constant outside the comparisons") {
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

TEST_CASE("real clock: every time of a record is converted") {
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
