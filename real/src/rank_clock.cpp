#include "rank_clock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "hosts.hpp"

namespace ddpsim {
namespace {

constexpr double kBillionthsOfMillionth = 1000;  // ppb per ppm, for integers in the store
constexpr double kNanosecondsPerUs = 1000;

std::string key_of(const char* what, const std::string& configuration, int rank) {
  return fmt::format("clock/{}/{}/{}", what, configuration, rank);
}

}  // namespace

RankClock::RankClock(StoreClient& store, int rank, const std::string& boot, Clock own_ns)
    : store_(store), rank_(rank), own_ns_(own_ns) {
  tell_host(store_, rank_, boot);
  same_clock_ = on_host_of_rank_0(store_, boot);
}

ClockSample RankClock::compare() {
  if (same_clock_) return {.own_ns = own_ns_(), .offset_ns = 0, .error_ns = 0};
  return sample_clock(own_ns_, [this] { return store_.time_of_rank_0(); });
}

HostClock RankClock::start() {
  if (rank_ == 0) store_.set("origin", std::to_string(own_ns_()));
  const std::int64_t origin = store_.get_number("origin");
  first_ = last_ = compare();
  worst_error_ns_ = first_.error_ns;
  clock_ = HostClock(origin - first_.offset_ns);
  return clock_;
}

void RankClock::correct(std::vector<StepRecord>& records) {
  const ClockSample now = compare();
  const ClockLine line(last_, now);
  for (StepRecord& step : records)
    move_times(step, [&](TimePoint instant) {
      const std::int64_t ns = line.offset_ns(clock_.local_ns(instant)) - first_.offset_ns;
      return instant + Duration::picoseconds(ns * 1000);
    });
  last_ = now;
  worst_error_ns_ = std::max(worst_error_ns_, now.error_ns);
}

void RankClock::tell(const std::string& configuration) {
  const ClockLine sweep(first_, last_);
  const auto set = [&](const char* what, double number) {
    store_.set(key_of(what, configuration, rank_), std::to_string(std::llround(number)));
  };
  set("error", same_clock_ ? -1 : static_cast<double>(worst_error_ns_));
  set("drift", sweep.drift_ppm() * kBillionthsOfMillionth);
  set("drift_error", sweep.drift_error_ppm() * kBillionthsOfMillionth);
}

std::string RankClock::agreement(const std::string& configuration, int ranks) {
  std::int64_t error = -1;
  std::int64_t drift = 0;
  std::int64_t drift_error = 0;
  const auto get = [&](const char* what, int rank) {
    return store_.get_number(key_of(what, configuration, rank));
  };
  for (int rank = 1; rank < ranks; ++rank) {
    error = std::max(error, get("error", rank));
    const std::int64_t its = get("drift", rank);
    const std::int64_t its_error = get("drift_error", rank);
    if (std::abs(its) < std::abs(drift)) continue;
    drift = its;
    drift_error = its_error;
  }
  if (error < 0) return "one host's";
  return fmt::format(
      "rank 0's, known to others within {:.3f} us; drift of up to {:.3f} ppm (within {:.3f}) "
      "removed",
      static_cast<double>(error) / kNanosecondsPerUs,
      static_cast<double>(std::abs(drift)) / kBillionthsOfMillionth,
      static_cast<double>(drift_error) / kBillionthsOfMillionth);
}

}  // namespace ddpsim
