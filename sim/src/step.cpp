#include "ddpsim/sim/step.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ddpsim/sim/assert.hpp"
#include "reducer.hpp"
#include "summary.hpp"

namespace ddpsim {
namespace {

/// Sums of a step must stay far inside 63 bits of picoseconds (106 days).
constexpr double kLongestStepSeconds = 1e6;

Rates rates_of(const SimulationOptions& options, const Cluster& cluster) {
  return {.compute_loss_per_channel = options.interference.sm_share / std::max(1, cluster.gpu.sms),
          .communication = options.interference.communication_rate};
}

struct SimulatedStep {
  ReducerSchedule planned;
  Execution execution;
  StepResult result;
};

SimulatedStep run_step(const Workload& workload, const Cluster& cluster,
                       const SimulationOptions& options, const CollectiveModel& model,
                       const std::vector<Bucket>& buckets, const StepKind& kind) {
  SimulatedStep step;
  step.planned = schedule_step(workload, cluster, options, model, buckets, kind);
  step.execution = execute(step.planned.schedule, rates_of(options, cluster));
  step.result.times = book_times(step.planned, step.execution, workload, options.compute_scale);
  step.result.events = step.execution.events;
  return step;
}

constexpr int kSteadyIteration = 1'000'000;  // any iteration after the rebuild

std::vector<Bucket> buckets_for(const Workload& workload, const SimulationOptions& options,
                                int iteration) {
  if (options.buckets) return *options.buckets;
  return buckets_of_iteration(workload, options.ddp, iteration);
}

/// Double arithmetic: only to refuse what integers could not hold.
double seconds_at_most(const Workload& workload, const Cluster& cluster,
                       const SimulationOptions& options) {
  const AnalyticModel slow{.cluster = cluster, .tuning = {}};
  double compute = workload.backward->duration.seconds() +
                   workload.forward.value_or(Duration()).seconds() +
                   workload.optimizer.value_or(Duration()).seconds();
  double slowest = options.compute_scale;
  for (const double factor : options.rank_compute_scale)
    slowest = std::min(slowest, options.compute_scale * factor);
  double total = compute * options.ddp.accumulate / slowest;
  for (const Bucket& bucket : buckets_for(workload, options, kSteadyIteration))
    total += plan(slow, CollectiveKind::all_reduce, bucket.bytes, 0).transfer.seconds();
  return total;
}

}  // namespace

std::optional<std::string> cannot_simulate(const Workload& workload, const Cluster& cluster,
                                           const SimulationOptions& options) {
  std::int64_t total = 0;
  bool any = false;
  for (const Parameter& parameter : workload.parameters) {
    if (parameter.ignored) continue;
    any = true;
    if (!parameter.shape)
      return fmt::format(
          "the shape of parameter \"{}\" is not known, so its bucket is not either. Name the model "
          "when importing: --model resnet50 (`ddpsim list` shows those known)",
          parameter.name);
    const std::optional<Bytes> bytes = gradient_bytes(parameter);
    if (!bytes || __builtin_add_overflow(total, bytes->count(), &total))
      return "the parameters add up to more than 2^63 - 1 bytes";
  }
  if (!any) return "the workload has no parameters under DDP";
  if (!workload.backward || workload.backward->ready.empty())
    return "the workload has no backward timing (backward.ready). Record one, or import a profiler "
           "trace: ddpsim import TRACE -o WORKLOAD";
  if (!options.ddp.find_unused_parameters && !options.ddp.static_graph) {
    std::vector<bool> used(workload.parameters.size(), false);
    for (const ReadyEvent& event : workload.backward->ready) used[event.parameter] = true;
    for (std::size_t i = 0; i < used.size(); ++i)
      if (!used[i] && !workload.parameters[i].ignored)
        return fmt::format(
            "parameter \"{}\" gets no gradient in this backward: DDP would stop with an error at "
            "the "
            "next forward. Pass --find-unused-parameters as the script does, or mark it "
            "\"ignored\"",
            workload.parameters[i].name);
  }
  if (seconds_at_most(workload, cluster, options) > kLongestStepSeconds)
    return fmt::format(
        "a step would take longer than {:.0f} days; check the units of times and rates",
        kLongestStepSeconds / 86400);
  return std::nullopt;
}

SimulationResult simulate(const Workload& workload, const Cluster& cluster,
                          const SimulationOptions& options, const CollectiveModel& model) {
  const BucketLimits limits = bucket_limits(options.ddp);
  SimulationResult result;
  const int first = options.iterations > 0 ? 1 : 0;
  for (int iteration = first; iteration <= options.iterations; ++iteration) {
    const std::vector<Bucket> buckets =
        buckets_for(workload, options, iteration == 0 ? kSteadyIteration : iteration);
    const StepKind kind{.rebuild = iteration > 0 && limits.rebuilt_from == iteration,
                        .delay_launch = iteration == 1 && options.ddp.static_graph};
    SimulatedStep step = run_step(workload, cluster, options, model, buckets, kind);
    step.result.iteration = iteration;
    step.result.buckets = describe_buckets(step.planned, step.execution, buckets);
    if (iteration == options.iterations)
      result.timeline = draw_timeline(step.planned, step.execution);
    if (iteration > 0) result.iterations.push_back(step.result);
    result.step = std::move(step.result);
  }
  return result;
}

StepTimes simulate_times(const Workload& workload, const Cluster& cluster,
                         const SimulationOptions& options, const CollectiveModel& model) {
  const std::vector<Bucket> buckets = buckets_for(workload, options, kSteadyIteration);
  return run_step(workload, cluster, options, model, buckets, StepKind{}).result.times;
}

}  // namespace ddpsim
