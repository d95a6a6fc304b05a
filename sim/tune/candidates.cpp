#include "candidates.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "ddpsim/sim/engine/parallel.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "gradient_runs.hpp"
#include "quick_step.hpp"

namespace ddpsim {
namespace {

/// Simulating a bucketing takes well under a millisecond, so fewer are not worth a thread.
constexpr std::size_t kPointsPerThread = 8;
constexpr std::size_t kEstimatesPerThread = 256;
/// At least this many bucketings are simulated, however many gradients they have.
constexpr std::size_t kFewest = 64;

/// `count` of the positions, including the first and the last.
std::vector<std::size_t> spread(const std::vector<std::size_t>& positions, std::size_t count) {
  std::vector<std::size_t> chosen;
  for (std::size_t k = 0; k < count && count > 1; ++k)
    chosen.push_back(positions[k * (positions.size() - 1) / (count - 1)]);
  return chosen;
}

}  // namespace

void time_bucketing(const Gains& gains, const Change& change, CurvePoint& point) {
  const StepTimes times = simulate_times(change(gains.job(0)));
  point.iteration = times.iteration;
  point.exposed_communication = times.exposed_communication;
  point.blocking_communication = times.blocking_communication();
  if (gains.readings() > 1) point.if_communication = simulate_times(change(gains.job(1))).iteration;
}

Candidates::Candidates(const Gains& gains, std::vector<Bucketing> found, const TuneOptions& tuning)
    : gains_(gains), found_(std::move(found)), simulated_(found_.size(), 0) {
  const std::size_t gradients = gains.job(0).workload().parameters.size() * gains.readings();
  const std::size_t most = std::max(kFewest, tuning.most_gradients / gradients);
  std::vector<std::size_t> all(found_.size());
  std::iota(all.begin(), all.end(), 0);
  if (found_.size() <= most ||
      !tuning.caps.empty()) {  // caps that were asked for are always simulated
    simulate(all, tuning);
    return;
  }
  const std::vector<Duration> estimates = estimate(tuning.threads);
  simulate(spread(all, most / 2), tuning);
  constexpr std::size_t kRounds = 4;
  for (std::size_t round = 0; round < kRounds; ++round) {
    correct(estimates);
    simulate(fastest((most - most / 2) / kRounds), tuning);
  }
  correct(estimates);
}

void Candidates::simulate(const std::vector<std::size_t>& chosen, const TuneOptions& tuning) {
  for_each_index(chosen.size(), tuning.threads, kPointsPerThread, tuning.progress,
                 [&](std::size_t k) { simulate(chosen[k]); });
}

/// Corrects the estimates. Their error changes slowly from cap to cap, so it is interpolated
/// linearly between simulated points.
void Candidates::correct(const std::vector<Duration>& estimates) {
  const std::vector<std::size_t> known = simulated();
  const auto missed = [&](std::size_t i) { return found_[i].point.iteration - estimates[i]; };
  for (std::size_t k = 0; k + 1 < known.size(); ++k)
    for (std::size_t i = known[k] + 1; i < known[k + 1]; ++i) {
      const double share =
          static_cast<double>(i - known[k]) / static_cast<double>(known[k + 1] - known[k]);
      found_[i].point.iteration =
          estimates[i] + missed(known[k]).scaled(1 - share) + missed(known[k + 1]).scaled(share);
    }
}

std::vector<Bucket> Candidates::buckets_of(std::size_t i) const {
  const Job& job = gains_.job(0);
  return buckets_under(job.workload(), job.options().ddp(), job.options().torch, found_[i].limits);
}

Change Candidates::change_to(std::size_t i) const {
  const BucketCaps caps = caps_of(found_[i], gains_.job(0).options().torch);
  return
      [buckets = buckets_of(i), caps](const Job& job) { return with_buckets(job, buckets, caps); };
}

void Candidates::simulate(std::size_t i) {
  if (simulated_[i]) return;
  time_bucketing(gains_, change_to(i), found_[i].point);
  simulated_[i] = 1;
}

std::vector<std::size_t> Candidates::simulated() const {
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < found_.size(); ++i)
    if (simulated_[i]) positions.push_back(i);
  return positions;
}

/// If nothing can be estimated, all bucketings get the same value.
std::vector<Duration> Candidates::estimate(int threads) {
  std::vector<Duration> estimates(found_.size());
  std::vector<QuickStep> steps;
  for (std::size_t reading = 0; reading < gains_.readings(); ++reading)
    if (QuickStep::can_estimate(gains_.job(reading))) steps.emplace_back(gains_.job(reading));
  if (steps.size() < gains_.readings()) return estimates;
  const Job& job = gains_.job(0);
  const GradientRuns runs(job.workload(), job.options().ddp(), job.options().torch);
  for_each_index(found_.size(), threads, kEstimatesPerThread, [&](std::size_t i) {
    CurvePoint& point = found_[i].point;
    const Cut cut = runs.cut(found_[i].limits);
    const auto estimated = [&](const QuickStep& step) {
      return Duration::microseconds(1e6 * step.seconds(cut.ends, runs.bytes_before()));
    };
    point.iteration = estimates[i] = estimated(steps.front());
    if (steps.size() > 1) point.if_communication = estimated(steps.back());
  });
  return estimates;
}

/// The fastest bucketings that can be set and are not simulated yet.
std::vector<std::size_t> Candidates::fastest(std::size_t wanted) const {
  std::vector<std::size_t> fastest;
  for (std::size_t i = 0; i < found_.size(); ++i)
    if (found_[i].point.reachable && !simulated_[i]) fastest.push_back(i);
  const auto estimated = [&](std::size_t i) {
    const CurvePoint& point = found_[i].point;
    return point.iteration + point.if_communication.value_or(point.iteration);
  };
  std::stable_sort(fastest.begin(), fastest.end(),
                   [&](std::size_t a, std::size_t b) { return estimated(a) < estimated(b); });
  fastest.resize(std::min(fastest.size(), wanted));
  return fastest;
}

}  // namespace ddpsim
