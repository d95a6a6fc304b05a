#include "ddpsim/sim/simulate/cannot_simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <variant>

#include "cannot_schedule.hpp"
#include "ddpsim/sim/step/bucket_assignment.hpp"
#include "ddpsim/sim/step/cannot_replay.hpp"
#include "ddpsim/sim/step/job_buckets.hpp"
#include "ddpsim/sim/values/limits.hpp"
#include "local_sgd.hpp"
#include "power_sgd.hpp"
#include "server_costs.hpp"
#include "sync_batch_norm.hpp"

namespace ddpsim {
namespace {

/// Far beyond any memory, but four times this still fits into 63 bits.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;
constexpr double kSecondsPerTensor = 1e-3;

double recorded_seconds(const Recorded& recorded) {
  return recorded.backward->duration.seconds() + recorded.forward.value_or(Duration()).seconds() +
         recorded.optimizer.value_or(Duration()).seconds() +
         std::abs(stall(recorded).value_or(Duration()).seconds());
}

/// The least share of its recorded speed that any rank computes at.
double slowest_share(const Job& job) {
  const SimulationOptions& options = job.options();
  double share = options.compute_scale;
  if (options.compute_scale_range) share = std::min(share, options.compute_scale_range->first);
  share /= slowdown_shares(options.rank_slowdown_range ? options.rank_slowdown_range->second
                                                       : options.rank_slowdown,
                           job.cluster())
               .slowdown();
  double least = share;
  for (const Straggler& straggler : options.variation.stragglers)
    least = std::min(least, share / straggler.slowdown);
  return least / (1 + 10 * options.variation.jitter);
}

double longest_recording(const Workload& workload) {
  double seconds = recorded_seconds(workload);
  for (const RankRecording& rank : workload.ranks)
    seconds = std::max(seconds, recorded_seconds(rank) + std::abs(rank.offset.seconds()));
  return seconds;
}

/// What kernels of DDP read and write, beside what was recorded.
struct Passes {
  double bytes = 0;
  double tensors = 0;
};

Passes passes_at_most(const Job& job, double gradients) {
  const Workload& workload = job.workload();
  // Copies in and out, a hook's kernels and adding to gradients make at most twenty passes over
  // memory.
  Passes passes{.bytes = 20 * gradients,
                .tensors = static_cast<double>(workload.parameters.size())};
  const DdpOptions& ddp = job.options().ddp();
  if (ddp.comm_hook == CommHook::power_sgd) {
    const auto rank = static_cast<double>(ddp.power_sgd.matrix_approximation_rank);
    passes.tensors *= 1 + rank;
    passes.bytes *= 1 + rank;
  }
  for (const BufferGroup& group : workload.buffers) {
    passes.bytes += 8 * static_cast<double>(group.bytes.count());
    passes.tensors += static_cast<double>(group.tensors);
  }
  return passes;
}

/// Seconds of all collectives, one after the other.
double transfers_at_most(const Job& job, double gradients, double tensors) {
  const Workload& workload = job.workload();
  const SimulationOptions& options = job.options();
  const Job quiet = job.with(AnalyticModel{});
  const auto takes = [&](CollectiveKind kind, Bytes bytes) {
    return plan(quiet, kind, bytes).transfer.seconds();
  };
  double seconds = 0;
  for (const BufferGroup& group : workload.buffers)
    seconds += takes(CollectiveKind::broadcast, group.bytes);
  if (!uses_reducer(options.scheme))  // gathers twice and reduces, or one by one
    seconds += 4 * options.accumulate *
                   takes(CollectiveKind::all_reduce, Bytes(static_cast<std::int64_t>(gradients))) +
               tensors * takes(CollectiveKind::all_reduce, Bytes(8));
  if (const ParameterServer* servers = std::get_if<ParameterServer>(&options.scheme))
    seconds += ServerCosts(job, *servers).seconds_at_most(gradients) + tensors * kSecondsPerTensor;
  for (const Bucket& bucket : buckets_for(job, 0))
    seconds += takes(CollectiveKind::all_reduce, bucket.bytes);
  if (options.ddp().comm_hook == CommHook::post_local_sgd)
    seconds += takes(CollectiveKind::all_reduce, flat_parameters(workload).bytes);
  for (const std::size_t layer : synced_layers(job)) {
    const Parameter& weight = workload.parameters[layer];
    // No process group is larger than all ranks.
    const Bytes gathered = gathered_statistics(weight, job.cluster().ranks());
    seconds += options.accumulate * (takes(CollectiveKind::all_gather, gathered) +
                                     takes(CollectiveKind::all_reduce, reduced_statistics(weight)));
  }
  return seconds;
}

/// An upper bound, in double arithmetic, of any sum in the step. It only serves to refuse what
/// integer picoseconds cannot hold. `gradients` are the bytes of all gradients.
double seconds_at_most(const Job& job, double gradients) {
  constexpr double kWidestBand = 16;  // of uncertainty.cpp
  constexpr double kSlowestBytesPerSecond = 1e9;
  const SimulationOptions& options = job.options();
  const Passes passes = passes_at_most(job, gradients);
  const double recorded = longest_recording(job.workload()) / slowest_share(job);
  return (recorded + passes.tensors * kSecondsPerTensor) * options.accumulate +
         passes.bytes / kSlowestBytesPerSecond +
         kWidestBand * transfers_at_most(job, gradients, passes.tensors) +
         options.variation.stagger.seconds();
}

/// Says why the step would take minutes to simulate.
std::optional<std::string> beyond_limits(const Job& job) {
  const SimulationOptions& options = job.options();
  const auto parameters = static_cast<std::int64_t>(job.workload().parameters.size());
  const std::int64_t micro_batches = options.accumulate;
  const std::int64_t ranks = options.variation.jitter > 0 ? job.cluster().ranks() : 1;
  if (parameters * micro_batches > kMostGradientsOfAStep / ranks)
    return fmt::format(
        "a step computes {} parameters x {} micro-batches{} = {} gradients, and the limit is {}",
        parameters, micro_batches, ranks > 1 ? fmt::format(" x {} ranks (--jitter)", ranks) : "",
        parameters * micro_batches * ranks, kMostGradientsOfAStep);
  if (!uses_reducer(options.scheme) || job.workload().parameters.size() <= kMostSimulatedBuckets)
    return std::nullopt;
  if (const std::size_t buckets = buckets_of(job).size(); buckets > kMostSimulatedBuckets)
    return fmt::format("a step has {} buckets, and the limit is {}; raise --bucket-cap-mb", buckets,
                       kMostSimulatedBuckets);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> cannot_simulate(const Job& job) {
  const Workload& workload = job.workload();
  const SimulationOptions& options = job.options();
  if (std::optional<std::string> problem = cannot_assign(workload)) return problem;
  std::int64_t total = 0;
  bool any = false;
  for (const Parameter& parameter : workload.parameters) {
    any = any || is_reduced(parameter);
    total += gradient_bytes(parameter).value_or(Bytes()).count();
  }
  if (!any) return "the workload has no parameters under DDP";
  DdpOptions asked = options.ddp();
  asked.find_unused_parameters =
      asked.find_unused_parameters || facts_of(options.scheme).allows_unused;
  if (auto problem = cannot_replay(workload, asked)) return problem;
  if (auto problem = cannot_schedule(job)) return problem;
  if (auto problem = cannot_synchronise(job)) return problem;
  if (auto problem = cannot_compress(job)) return problem;
  if (auto problem = cannot_average(job)) return problem;
  if (options.ddp().optimizer_in_backward && !workload.optimizer)
    return "the workload has no time of the optimizer, which _apply_optimizer_in_backward would "
           "run in backward. Record a step with it, or leave out --apply-optimizer-in-backward";
  const bool carries_ranks =
      !options.variation.empty() || (!workload.ranks.empty() && options.iterations > 0);
  if (carries_ranks && job.cluster().ranks() > kMostDifferentRanks)
    return fmt::format("ranks that differ are simulated one by one: at most {}, not {}",
                       kMostDifferentRanks, job.cluster().ranks());
  std::int64_t buffers = 0;
  for (const BufferGroup& group : workload.buffers)
    if (__builtin_add_overflow(buffers, group.bytes.count(), &buffers)) buffers = kMostBytes + 1;
  if (total > kMostBytes || buffers > kMostBytes)
    return fmt::format("gradients or buffers of more than {} TiB cannot be simulated",
                       kMostBytes >> 40);
  if (seconds_at_most(job, static_cast<double>(total)) > kLongestStepSeconds)
    return fmt::format(
        "a step would take longer than {:.0f} days; check the units of times and rates",
        kLongestStepSeconds / 86400);
  return beyond_limits(job);
}

}  // namespace ddpsim
