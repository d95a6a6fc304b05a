#include "gain.hpp"

#include <algorithm>
#include <utility>

#include "ddpsim/sim/simulate/simulate.hpp"
#include "host_ahead.hpp"
#include "uncertainty.hpp"

namespace ddpsim {
namespace {

/// For a step with another number of micro-batches: gives each the allowance for multi-GPU overhead
/// that one of `batches` has.
Job with_same_allowance(const Job& job, int batches) {
  SimulationOptions options = job.options();
  options.rank_slowdown.shared_by = batches;
  return job.with(std::move(options));
}

/// Costs that the lower bound still includes and a setting may save.
Duration beside_collectives(const Loss& loss) {
  Duration sum;
  for (const LossCause cause : {LossCause::copies, LossCause::hooks, LossCause::slowest_gpu,
                                LossCause::straggler, LossCause::jitter})
    sum += loss[cause];
  return std::max(Duration(), sum);
}

/// Either gain may apply, so a saving in only one of them does not count.
WeighedGain lesser(const WeighedGain& a, const WeighedGain& b) {
  return {.gain = {.value = std::min(a.gain.value, b.gain.value),
                   .low = std::min(a.gain.low, b.gain.low),
                   .high = std::max(a.gain.high, b.gain.high)},
          .expected = std::min(a.expected, b.expected)};
}

/// Bounds combine as independent errors, so together they may exceed the limit of each.
WeighedGain no_more_than(Duration most, WeighedGain gain) {
  gain.gain.high = std::min(gain.gain.high, most);
  gain.expected = std::min(gain.expected, most);
  return gain;
}

}  // namespace

Job with_buckets(const Job& job, std::vector<Bucket> buckets) {
  SimulationOptions options = job.options();
  options.iterations = 0;
  options.buckets = std::move(buckets);
  return job.with(std::move(options));
}

Job with_buckets(const Job& job, std::vector<Bucket> buckets, const BucketCaps& caps) {
  if (compiled_pieces(job.options().scheme) == nullptr)
    return with_buckets(job, std::move(buckets));
  SimulationOptions options = job.options();
  DdpOptions& ddp = options.ddp_to_set();
  ddp.bucket_cap_mb = caps.bucket_cap_mb;
  ddp.first_bucket_mb = caps.first_bucket_mb;
  return with_buckets(job.with(std::move(options)), std::move(buckets));
}

Duration lower_bound(const Job& job, std::vector<Bucket> buckets) {
  SimulationOptions free = job.options();
  free.iterations = 0;
  free.buckets = std::move(buckets);
  free.costs.host_hook = free.costs.host_launch = free.costs.host_search_per_parameter = Duration();
  free.costs.launch_latency = free.costs.event_latency = Duration();
  if (uses_reducer(free.scheme)) free.ddp_to_set().comm_hook = CommHook::none;
  free.costs.host_step = free.costs.host_step_kernel = Duration();
  return simulate_times(job.with(std::move(free)).with(FreeModel{})).iteration;
}

Job as_measured(const Job& job, const std::optional<MeasuredCause>& measured) {
  if (!measured) return job;
  return explained(job, explain(job, measured->measured, measured->cause));
}

Readings readings_of(const std::optional<Duration>& measured) {
  if (!measured) return {std::nullopt};
  return {MeasuredCause{*measured, Cause::compute}, MeasuredCause{*measured, Cause::communication}};
}

Gains::Gains(const Job& job, std::vector<Bucket> before, const Readings& readings)
    : before_(std::move(before)) {
  for (const std::optional<MeasuredCause>& measured : readings)
    readings_.push_back(reading(job, measured));
  if (readings.size() == 1 && !readings.front() && launch_bound(job.workload()))
    unprofiled_ = reading(job.with(host_ahead(job.workload())), std::nullopt);
}

Gains::Reading Gains::reading(const Job& job, const std::optional<MeasuredCause>& measured) const {
  const Job read = as_measured(job, measured);
  const StepTimes before = times_before(read);
  Reading reading{
      .expected = {read, before.iteration}, .most = most_saved(read, before), .bounds = {}};
  // What is unknown about the GPUs' speed is part of the measured step, and so of its explanation.
  SimulationOptions certain = job.options();
  if (measured) {
    certain.compute_scale_range.reset();
    certain.rank_slowdown_range.reset();
  }
  for (const Scenario& scenario : scenarios(job.with(std::move(certain))))
    reading.bounds.push_back({scenario.source, bound(as_measured(scenario.at_one, measured)),
                              bound(as_measured(scenario.at_other, measured))});
  return reading;
}

Duration Gains::MostSaved::by(const ChangeTraits& traits) const {
  return communication + (traits.sets_else ? beside : Duration()) +
         (traits.loads_data ? input : Duration()) + (traits.spares_host ? launches : Duration());
}

Gains::MostSaved Gains::most_saved(const Job& read, const StepTimes& before) const {
  return {.communication = std::max(Duration(), before.iteration - lower_bound(read, before_)),
          .beside = beside_collectives(before.loss),
          .input = before.input,
          .launches = before.launch_bound};
}

std::size_t Gains::steps() const {
  std::size_t steps = 0;
  for (const Reading& reading : readings_) steps += 1 + 2 * reading.bounds.size();
  return steps + (unprofiled_ ? 1 + 2 * unprofiled_->bounds.size() : 0);
}

StepTimes Gains::times_before(const Job& job) const {
  return simulate_times(with_buckets(job, before_));
}

Gains::Bound Gains::bound(const Job& job) const {
  return {job, times_before(job).iteration};
}

Duration Gains::gain(Duration most, const Bound& bound, const Change& change) {
  Job after = change(bound.job);
  const int before_batches = bound.job.options().accumulate;
  const int after_batches = after.options().accumulate;
  const double batches = static_cast<double>(before_batches) / after_batches;
  if (batches != 1) after = with_same_allowance(after, before_batches);
  const Duration step = simulate_times(after).iteration;
  return std::min(most, bound.before - (batches == 1 ? step : step.scaled(batches)));
}

WeighedGain Gains::with_shared_errors(const Reading& reading, Duration most, const Change& change) {
  std::vector<GainBounds> bounds;
  for (const Bounds& of : reading.bounds)
    bounds.push_back({of.source, gain(most, of.one, change), gain(most, of.other, change)});
  return no_more_than(most, weighed(gain(most, reading.expected, change), bounds));
}

WeighedGain Gains::with_own_errors(const Reading& reading, Duration most, const Change& change) {
  const Duration value = gain(most, reading.expected, change);
  std::vector<GainBounds> bounds;
  for (const Bounds& of : reading.bounds) {
    const Duration at_one = gain(most, of.one, change);
    const Duration at_other = gain(most, of.other, change);
    const bool collectives = of.source == ErrorSource::fixed_cost ||
                             of.source == ErrorSource::bandwidth ||
                             of.source == ErrorSource::collective_times;
    if (!collectives) {
      bounds.push_back({of.source, at_one, at_other});
      continue;
    }
    // Either the error of the current collectives applies and that of the others does not, or the
    // reverse.
    const Duration current_one = of.one.before - reading.expected.before;
    const Duration current_other = of.other.before - reading.expected.before;
    bounds.push_back({of.source, value + current_one, value + current_other});
    bounds.push_back({of.source, at_one - current_one, at_other - current_other});
  }
  return no_more_than(most, weighed(value, bounds));
}

WeighedGain Gains::gain_of(const Reading& reading, const Change& change,
                           const ChangeTraits& traits) {
  const Duration most = reading.most.by(traits);
  return traits.other_collectives ? with_own_errors(reading, most, change)
                                  : with_shared_errors(reading, most, change);
}

WeighedGain Gains::of(const Change& change, const ChangeTraits& traits) const {
  std::vector<WeighedGain> gains;
  for (const Reading& reading : readings_) gains.push_back(gain_of(reading, change, traits));
  const WeighedGain gain = whichever(gains);
  return unprofiled_ ? lesser(gain, gain_of(*unprofiled_, change, traits)) : gain;
}

}  // namespace ddpsim
