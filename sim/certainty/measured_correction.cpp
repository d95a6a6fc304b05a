#include "ddpsim/sim/certainty/measured_correction.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ddpsim/sim/simulate/simulate.hpp"
#include "scaled_recording.hpp"

namespace ddpsim {
namespace {

/// Bounds of the factor on predicted collective time: the ends of the widest bands in
/// uncertainty.cpp, both of fixed costs.
constexpr double kLeastCollectives = 0.25;
constexpr double kMostCollectives = 12.1;
/// Nothing bounds the factor on compute (a GPU may be throttled or shared). This one only keeps
/// sums inside 63 bits.
constexpr double kMostCompute = 16;
/// Factors this close are the same: the 52 bits of a double hold no more.
constexpr double kSame = 1e-14;
/// Every operation's time is rounded to a picosecond, so a step may be off by this much.
constexpr Duration kRounding = Duration::picoseconds(1000);

Job with_factors(const Job& job, double compute, double collectives) {
  SimulationOptions options = job.options();
  // Without the profiler, the recorded host is faster, just as the GPU is.
  const bool host = has_recorded_host(job.workload());
  if (!host) options.compute_scale /= compute;
  options.costs.host_kernel = options.costs.host_kernel.scaled(compute);
  // One GPU alone takes the recorded time, unless the GPUs turn out to be faster than that. If a
  // single GPU was measured, it takes the measured time.
  if (job.cluster().ranks() > 1) options.unexplained_compute = std::max(1.0, compute);
  options.compute_scale_range.reset();
  options.rank_slowdown_range.reset();
  CollectiveModel model = job.model();
  if (CostFactors* factors = cost_factors_of(model)) {
    factors->fixed *= collectives;
    factors->bandwidth *= collectives;
  }
  const Job with_options = job.with(std::move(options)).with(std::move(model));
  if (!host || compute == 1) return with_options;
  return with_options.with(scaled_recording(job.workload(), compute));
}

/// Finds the factor on one part of a job that makes its step the measured one, with the other
/// factor given.
class FactorSearch {
 public:
  FactorSearch(const Job& job, Explanation given, Cause cause, double least, double most,
               Duration measured)
      : job_(job),
        given_(given),
        cause_(cause),
        least_(least),
        most_(most),
        target_(measured),
        longer_(measured > step(given_)) {}

  /// Among all factors that come equally near to the measured step, returns the one nearest to 1.
  Explanation run() {
    if (off(given_) < kRounding) return given_;
    const double bound = longer_ ? most_ : least_;
    Explanation far = at(bound);
    if (step(far) == step(given_)) return given_;  // the step does not depend on this factor
    const bool out_of_reach = !reached(far);
    if (out_of_reach) target_ = step(far);
    return narrow(given_, far, out_of_reach);
  }

 private:
  static Duration step(const Explanation& explanation) { return explanation.times.iteration; }
  double& factor(Explanation& explanation) const {
    return cause_ == Cause::compute ? explanation.compute : explanation.collectives;
  }
  Duration off(const Explanation& explanation) const {
    return std::max(step(explanation) - target_, target_ - step(explanation));
  }
  bool reached(const Explanation& explanation) const {
    return longer_ ? step(explanation) >= target_ : step(explanation) <= target_;
  }
  Explanation at(double value) const {
    Explanation tried = given_;
    factor(tried) = value;
    tried.times = simulate_times(with_factors(job_, tried.compute, tried.collectives));
    return tried;
  }

  /// `near` does not reach the step, `far` does. Alternates between the middle and, because a step
  /// is piecewise linear, the point where a straight line would reach it. `to_the_end` goes on
  /// where different factors give the same step.
  Explanation narrow(Explanation near, Explanation far, bool to_the_end) const {
    constexpr int kMostSteps = 120;  // half of them are bisections
    for (int i = 0; i < kMostSteps; ++i) {
      const double from = factor(near);
      const double to = factor(far);
      if (std::abs(to - from) <= kSame * from) break;
      const double share = i % 2 == 0 ? (target_ - step(near)) / (step(far) - step(near)) : 0.5;
      const double middle = from + (to - from) * share;
      if (middle == from || (middle == to && i % 2 != 0)) break;
      if (middle == to) continue;
      Explanation tried = at(middle);
      if (step(tried) == target_ && !to_the_end) return tried;
      (reached(tried) ? far : near) = tried;
    }
    return off(near) < off(far) ? near : far;
  }

  const Job& job_;
  const Explanation given_;
  const Cause cause_;
  const double least_;
  const double most_;
  Duration target_;
  const bool longer_;
};

/// The highest speed that this GPU may have, relative to the assumed one.
double fastest(const SimulationOptions& options) {
  return options.compute_scale_range ? options.compute_scale_range->second / options.compute_scale
                                     : 1;
}

/// The smallest factor on predicted compute that a GPU of this kind may reach.
double least_compute(const Job& job) {
  return std::max(1 / kMostCompute, kFastestGpu / std::max(1.0, fastest(job.options())));
}

Duration stream(const Recorded& recorded, int accumulate) {
  if (const auto& busy = recorded.busy)
    return (busy->forward + busy->backward) * accumulate + busy->optimizer;
  const Duration buffers = recorded.recorded_with.buffer_broadcast.value_or(Duration());
  const Duration forward = recorded.forward.value_or(Duration());
  const Duration backward = recorded.backward ? recorded.backward->duration : Duration();
  // When steps overlap, part of forward runs during the step before.
  const Duration ahead = -std::min(stall(recorded).value_or(Duration()), Duration());
  return (forward - std::min(ahead, forward) + backward) * accumulate - std::min(buffers, forward) +
         recorded.optimizer.value_or(Duration());
}

}  // namespace

std::string_view name_of(Cause cause) {
  return cause == Cause::compute ? "compute" : "communication";
}

Explanation explain(const Job& job, Duration measured, Cause cause) {
  Explanation explanation;
  explanation.times = simulate_times(with_factors(job, 1, 1));
  const auto explain_by = [&](Cause part, double least, double most) {
    explanation = FactorSearch(job, explanation, part, least, most, measured).run();
  };
  const auto by = [&](Cause part) {
    if (part == Cause::compute)
      explain_by(part, least_compute(job), kMostCompute);
    else
      explain_by(part, kLeastCollectives, kMostCollectives);
  };
  by(cause);
  by(cause == Cause::compute ? Cause::communication : Cause::compute);
  // Nothing likely explains the rest.
  explain_by(Cause::compute, 1 / kMostCompute, kMostCompute);
  return explanation;
}

Job explained(const Job& job, const Explanation& explanation) {
  return with_factors(job, explanation.compute, explanation.collectives);
}

std::optional<MeasuredCorrection> correct(const Job& job, const std::optional<Replay>& replay) {
  if (!replay || replay->contradicted()) return std::nullopt;
  return MeasuredCorrection{explain(job, replay->measured, Cause::compute),
                            explain(job, replay->measured, Cause::communication)};
}

Duration longest_stream(const Job& job) {
  const SimulationOptions& options = job.options();
  Duration longest = stream(job.workload(), options.accumulate);
  for (const RankRecording& rank : job.workload().ranks)
    longest = std::max(longest, stream(rank, options.accumulate));
  return longest.scaled(1 / (options.compute_scale * fastest(options)));
}

}  // namespace ddpsim
