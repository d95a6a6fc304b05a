#include "ddpsim/sim/step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <variant>

#include "cannot_schedule.hpp"
#include "comm_hook.hpp"
#include "data_feed.hpp"
#include "ddpsim/sim/assert.hpp"
#include "ddpsim/sim/limits.hpp"
#include "flow_planner.hpp"
#include "iteration_statistics.hpp"
#include "local_sgd.hpp"
#include "optimizer_in_backward.hpp"
#include "planned_step.hpp"
#include "power_sgd.hpp"
#include "process_groups.hpp"
#include "rank_states.hpp"
#include "rank_waits.hpp"
#include "rates.hpp"
#include "server_costs.hpp"
#include "staleness.hpp"
#include "summary.hpp"
#include "sync_batch_norm.hpp"

namespace ddpsim {
namespace {

/// Far beyond any memory, and four times it still fits into 63 bits.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;

/// Given only where a transfer takes longer at one time than at another.
TransferTime transfers_beside_background(const Job& job, const PlannedStep& planned) {
  if (job.network() == nullptr || !job.network()->has_background()) return {};
  std::vector<std::optional<CollectiveChoice>> choices;
  for (const StepCollective& collective : planned.collectives) choices.push_back(collective.choice);
  const auto run = std::make_shared<SharedNetworkRun>(*job.network(), planned.schedule.collectives,
                                                      choices, nccl_of(job.model())->factors);
  return [run](std::uint32_t collective, TimePoint last_arrival) {
    return run->transfer(collective, last_arrival);
  };
}

struct SimulatedStep {
  StepKind kind;
  PlannedStep planned;
  Execution execution;
  StepResult result;
};

SimulatedStep run_once(const Job& job, const std::vector<Bucket>& buckets, const StepKind& kind,
                       const std::vector<RankState>& states) {
  SimulatedStep step;
  step.kind = kind;
  step.planned = schedule_step(job, buckets, kind, states);
  step.execution =
      execute(step.planned.schedule, rates_of(job), transfers_beside_background(job, step.planned));
  step.result.times = uses_reducer(job.options().scheme)
                          ? attribute_times(step.planned, step.execution, job)
                          : attribute_scheme_times(step.planned, step.execution, job);
  step.result.events = step.execution.events;
  return step;
}

/// Where an optimizer that steps in backward does so depends on when its bucket has been reduced.
SimulatedStep run_step(const Job& job, const std::vector<Bucket>& buckets, const StepKind& kind,
                       const std::vector<RankState>& states) {
  if (!job.options().ddp.optimizer_in_backward || kind.delay_launch)
    return run_once(job, buckets, kind, states);
  StepKind stepping = kind;
  stepping.detail = Detail::every_gradient;
  const SimulatedStep step = run_once(job, buckets, stepping, states);
  stepping.detail = kind.detail;
  stepping.steps_before = steps_before(step.planned, step.execution);
  return run_once(job, buckets, stepping, states);
}

/// Where ranks differ the steady step is the one in which every rank begins as far from rank 0 as it ends: found by
/// running step after step, as a training run does.
SimulatedStep run_steady_ranks(const Job& job, const std::vector<Bucket>& buckets,
                               const StepKind& kind) {
  if (job.options().variation.empty()) return run_step(job, buckets, kind, {});
  RankStates ranks(job);
  constexpr int kMostSteps = 16;  // a start depends on the step before alone: two or three do
  for (int step = 1;; ++step) {
    SimulatedStep run = run_step(job, buckets, kind, ranks.steady());
    if (!ranks.advance(run.planned, run.execution) || step == kMostSteps) return run;
  }
}

/// A host that waits for the GPU to end a step that lies some steps back; absent: nothing in the script makes it wait.
std::optional<Duration> most_ahead(const Job& job, const SimulatedStep& step) {
  const auto& launches = job.workload().launches;
  if (!launches || !launches->steps_ahead) return std::nullopt;
  return step.result.times.iteration * *launches->steps_ahead;
}

/// How far ahead of its compute stream a rank's host is when the next step begins.
Duration lead_after(const Job& job, const SimulatedStep& step) {
  const std::vector<OperationTime>& host = step.execution.ranks.front().host;
  if (host.empty()) return Duration();
  const Duration lead =
      std::max(step.result.times.iteration - host.back().end.since_start(), Duration());
  return std::min(lead, most_ahead(job, step).value_or(lead));
}

/// When that which the next step's host may wait for is there, since the next step began.
std::vector<Duration> freed_in(const SimulatedStep& step) {
  std::vector<Duration> times;
  const std::vector<OperationTime>& compute = step.execution.ranks.front().compute;
  for (const Freed& freed : step.planned.freed) {
    const Duration at = freed.operation ? compute[*freed.operation].end.since_start() : freed.at;
    times.push_back(at - step.result.times.iteration);
  }
  return times;
}

bool host_sets_pace(const SimulatedStep& step) {
  const bool never_far_ahead = step.planned.hook_waits || step.planned.host_reads;
  return step.planned.host &&
         (never_far_ahead || step.planned.host->step > step.result.times.iteration);
}

/// A host that takes less than the step gets ahead, step by step, until no kernel waits for it or as far as its script
/// lets it (nothing else in the step makes it wait for the GPU, but a communication hook, SyncBatchNorm or the map of used
/// parameters). One that takes longer sets the pace: it begins a step when it has launched the one before, and in the
/// steady step is as far ahead in the end as it was in the beginning.
SimulatedStep run_with_host(const Job& job, const std::vector<Bucket>& buckets, Duration host_step,
                            Duration first_lead, Detail detail) {
  const Duration exact = host_step.scaled(1e-5);
  constexpr int kMostSteps = 16;
  StepKind kind{.host_lead = first_lead, .detail = detail};
  for (int step = 1;; ++step) {
    SimulatedStep run = run_steady_ranks(job, buckets, kind);
    const Duration lead = lead_after(job, run);
    std::vector<Duration> freed = freed_in(run);
    Duration moved = std::max(lead - *kind.host_lead, *kind.host_lead - lead);
    const std::vector<Duration>& before = kind.freed_before ? *kind.freed_before : freed;
    for (std::size_t i = 0; i < freed.size(); ++i)
      moved = std::max({moved, freed[i] - before[i], before[i] - freed[i]});
    const bool is_first = !kind.freed_before && !freed.empty();
    if ((moved <= exact && !is_first) || step == kMostSteps) return run;
    kind.host_lead = lead;
    if (!freed.empty()) kind.freed_before = std::move(freed);
  }
}

/// A recorded host did more than launch: where that took longer, it is as recorded.
SimulatedStep run_steady_step(const Job& job, const std::vector<Bucket>& buckets, Detail detail) {
  SimulatedStep run = run_steady_ranks(job, buckets, StepKind{.detail = detail});
  const std::optional<Duration> most = most_ahead(job, run);
  const bool paced = host_sets_pace(run);
  if (!paced && !most) return run;
  SimulatedStep with_host =
      run_with_host(job, buckets, run.planned.host->step, paced ? Duration() : *most, detail);
  // A step that no reducer schedules holds nothing of the recorded host, but where it says when it was where.
  if (!uses_reducer(job.options().scheme) && job.workload().host_ready.empty()) {
    if (paced || !host_sets_pace(with_host)) return with_host;
    // Its lead would go down step by step: it begins where it ends.
    return run_with_host(job, buckets, run.planned.host->step, Duration(), detail);
  }
  return with_host.result.times.iteration < run.result.times.iteration ? std::move(run)
                                                                       : std::move(with_host);
}

/// Iteration 0 is the steady one.
std::vector<Bucket> buckets_for(const Job& job, int iteration) {
  const SimulationOptions& options = job.options();
  if (!uses_reducer(options.scheme)) return {};
  if (options.buckets) return *options.buckets;
  return iteration == 0 ? steady_buckets(job.workload(), options.ddp)
                        : buckets_of_iteration(job.workload(), options.ddp, iteration);
}

/// Before the first iteration nothing has been launched; but a host that was recorded goes on as it was where it keeps up.
bool begins_with_host(const Job& job) {
  const Workload& workload = job.workload();
  if (!workload.launches) return false;
  return workload.host_ready.empty() ||
         run_steady_step(job, buckets_for(job, 0), Detail::none).kind.host_lead.has_value();
}

/// Where all ranks are simulated as the slowest GPU, a usual one is drawn beside it: it computes sooner, and waits.
Timeline draw(const Job& job, const std::vector<Bucket>& buckets, const SimulatedStep& step) {
  const SlowdownShares shares = shares_beyond_recording(
      job.options().rank_slowdown, job.workload(), job.cluster(), job.options().ddp.accumulate);
  const int ranks = std::min(job.cluster().ranks(), kMostDifferentRanks);
  if (!step.planned.program_of_rank.empty() || ranks == 1 || shares.slowest_gpu <= 0)
    return draw_timeline(step.planned, step.execution, job.workload(), buckets, false);
  std::vector<RankState> states(static_cast<std::size_t>(ranks));
  for (std::size_t r = 1; r < states.size(); ++r)
    states[r].slowdown = (1 + shares.unexplained) / shares.slowdown();
  const SimulatedStep beside = run_once(job, buckets, step.kind, states);
  return draw_timeline(beside.planned, beside.execution, job.workload(), buckets, true);
}

/// Parameters without a gradient are nothing to ask for: what has none is not reduced.
bool allows_unused(const Scheme& scheme) {
  return std::holds_alternative<NaiveAllReduce>(scheme) || std::holds_alternative<Fsdp1>(scheme) ||
         std::holds_alternative<Fsdp2>(scheme);
}

double recorded_seconds(const Recorded& recorded) {
  return recorded.backward->duration.seconds() + recorded.forward.value_or(Duration()).seconds() +
         recorded.optimizer.value_or(Duration()).seconds() +
         std::abs(stall(recorded).value_or(Duration()).seconds());
}

/// `whose` names its rank where there are several.
std::optional<std::string> cannot_replay(const Recorded& recorded, const Workload& workload,
                                         const DdpOptions& ddp, const std::string& whose) {
  if (!recorded.backward || recorded.backward->ready.empty())
    return fmt::format(
        "the workload has no backward timing{} (backward.ready). Record one, or import a profiler "
        "trace: ddpsim import TRACE -o WORKLOAD",
        whose);
  if (!recorded.forward && recorded.backward->duration == Duration())
    return fmt::format(
        "the workload holds the order of gradients{} but no times. Record a step, or import a "
        "profiler trace: ddpsim import TRACE -o WORKLOAD",
        whose);
  if (ddp.find_unused_parameters || ddp.static_graph) return std::nullopt;
  std::vector<bool> used(workload.parameters.size(), false);
  for (const ReadyEvent& event : recorded.backward->ready) used[event.parameter] = true;
  for (std::size_t i = 0; i < used.size(); ++i)
    if (!used[i] && is_reduced(workload.parameters[i]))
      return fmt::format(
          "parameter \"{}\" gets no gradient in this backward{}: DDP would stop with an error at "
          "the next forward. Pass --find-unused-parameters as the script does, or mark it "
          "\"ignored\"; where its requires_grad is False mark it \"frozen\", or name it by frozen= "
          "in "
          "an estimate",
          workload.parameters[i].name, whose);
  return std::nullopt;
}

/// More than any sum of the step can come to, in double arithmetic: only to refuse what integer
/// picoseconds could not hold. `bytes` are those of all gradients.
double seconds_at_most(const Job& job, double bytes) {
  const Workload& workload = job.workload();
  const Cluster& cluster = job.cluster();
  const SimulationOptions& options = job.options();
  double slowest = options.compute_scale;
  if (options.compute_scale_range) slowest = std::min(slowest, options.compute_scale_range->first);
  slowest /= slowdown_shares(options.rank_slowdown_range ? options.rank_slowdown_range->second
                                                         : options.rank_slowdown,
                             cluster)
                 .slowdown();
  double slowest_rank = slowest;
  for (const Straggler& straggler : options.variation.stragglers)
    slowest_rank = std::min(slowest_rank, slowest / straggler.slowdown);
  slowest_rank /= 1 + 10 * options.variation.jitter;
  double recorded = recorded_seconds(workload);
  for (const RankRecording& rank : workload.ranks)
    recorded = std::max(recorded, recorded_seconds(rank) + std::abs(rank.offset.seconds()));

  // Copies in, out, a hook's kernels and adding into gradients: at most twenty passes over memory.
  double passes = 20 * bytes;
  double tensors = static_cast<double>(workload.parameters.size());
  if (options.ddp.comm_hook == CommHook::power_sgd) {
    const auto rank = static_cast<double>(options.ddp.power_sgd.matrix_approximation_rank);
    tensors *= 1 + rank;
    passes *= 1 + rank;
  }
  constexpr double kSecondsPerTensor = 1e-3;
  const Job quiet = job.with(AnalyticModel{});
  double transfers = 0;
  for (const BufferGroup& group : workload.buffers) {
    passes += 8 * static_cast<double>(group.bytes.count());
    tensors += static_cast<double>(group.tensors);
    transfers += plan(quiet, CollectiveKind::broadcast, group.bytes).transfer.seconds();
  }
  if (!uses_reducer(options.scheme))  // gathered twice and reduced, or one by one
    transfers +=
        4 * options.ddp.accumulate *
            plan(quiet, CollectiveKind::all_reduce, Bytes(static_cast<std::int64_t>(bytes)))
                .transfer.seconds() +
        tensors * plan(quiet, CollectiveKind::all_reduce, Bytes(8)).transfer.seconds();
  if (const ParameterServer* servers = std::get_if<ParameterServer>(&options.scheme))
    transfers += ServerCosts(job, *servers).seconds_at_most(bytes) + tensors * kSecondsPerTensor;
  for (const Bucket& bucket : buckets_for(job, 0))
    transfers += plan(quiet, CollectiveKind::all_reduce, bucket.bytes).transfer.seconds();
  if (options.ddp.comm_hook == CommHook::post_local_sgd)
    transfers +=
        plan(quiet, CollectiveKind::all_reduce, flat_parameters(workload).bytes).transfer.seconds();
  for (const std::size_t layer : synced_layers(job)) {
    const Parameter& weight = workload.parameters[layer];
    const Bytes gathered =
        gathered_statistics(weight, job.cluster().ranks());  // no group is larger
    transfers +=
        options.ddp.accumulate *
        (plan(quiet, CollectiveKind::all_gather, gathered).transfer.seconds() +
         plan(quiet, CollectiveKind::all_reduce, reduced_statistics(weight)).transfer.seconds());
  }
  constexpr double kWidestBand = 16;  // of uncertainty.cpp
  constexpr double kSlowestBytesPerSecond = 1e9;
  return (recorded / slowest_rank + tensors * kSecondsPerTensor) * options.ddp.accumulate +
         passes / kSlowestBytesPerSecond + kWidestBand * transfers +
         options.variation.stagger.seconds();
}

}  // namespace

double compute_speed(const Job& job) {
  return job.options().compute_scale / shares_beyond_recording(job.options().rank_slowdown,
                                                               job.workload(), job.cluster(),
                                                               job.options().ddp.accumulate)
                                           .slowdown();
}

std::vector<Bucket> buckets_of(const Job& job) {
  return buckets_for(job, 0);
}

std::vector<Bytes> all_reduce_sizes(const Job& job) {
  std::vector<Bytes> sizes;
  const KernelCosts kernels(job);
  for (const Bucket& bucket : buckets_of(job))
    for (const HookStage& stage : hook_of(job, kernels, bucket).stages)
      sizes.push_back(stage.bytes);
  if (const auto averaging = model_averaging(job, kernels)) sizes.push_back(averaging->bytes);
  return sizes;
}

std::optional<std::string> cannot_replay(const Workload& workload, const DdpOptions& ddp) {
  if (auto problem = cannot_replay(workload, workload, ddp, "")) return problem;
  for (const RankRecording& rank : workload.ranks)
    if (auto problem = cannot_replay(rank, workload, ddp, fmt::format(" on rank {}", rank.rank)))
      return problem;
  return std::nullopt;
}

namespace {

/// A step that would take minutes to simulate.
std::optional<std::string> beyond_limits(const Job& job) {
  const SimulationOptions& options = job.options();
  const auto parameters = static_cast<std::int64_t>(job.workload().parameters.size());
  const std::int64_t micro_batches = options.ddp.accumulate;
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
  DdpOptions asked = options.ddp;
  asked.find_unused_parameters = asked.find_unused_parameters || allows_unused(options.scheme);
  if (auto problem = cannot_replay(workload, asked)) return problem;
  if (auto problem = cannot_schedule(job)) return problem;
  if (auto problem = cannot_synchronise(job)) return problem;
  if (auto problem = cannot_compress(job)) return problem;
  if (auto problem = cannot_average(job)) return problem;
  if (options.ddp.optimizer_in_backward && !workload.optimizer)
    return "the workload has no time of the optimizer, which _apply_optimizer_in_backward would "
           "run in backward: record a step with it, or leave out --apply-optimizer-in-backward";
  if (options.ddp.optimizer_in_backward && !std::holds_alternative<Ddp>(options.scheme))
    return fmt::format(
        "{} steps its parameters when backward is over: leave out "
        "--apply-optimizer-in-backward",
        name_of(options.scheme));
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

SimulationResult simulate(const Job& job, Progress* progress, WithTimeline with_timeline) {
  const SimulationOptions& options = job.options();
  const BucketLimits limits = bucket_limits(options.ddp);
  SimulationResult result;
  RankWaits waits;
  RankStates ranks(job);
  DataFeed feed(job);
  Duration host_lead;
  const bool with_host = options.iterations > 0 && begins_with_host(job);
  int iteration = options.iterations > 0 ? 1 : 0;
  for (bool last = false; !last; ++iteration) {
    const std::vector<Bucket> buckets = buckets_for(job, iteration);
    last = iteration == options.iterations;
    StepKind kind{.rebuild = iteration > 0 && limits.rebuilt_from == iteration,
                  .delay_launch = iteration == 1 && options.ddp.static_graph,
                  .host_lead = std::nullopt,
                  .detail = last ? Detail::every_gradient : Detail::those_of_rank_0};
    if (with_host) kind.host_lead = host_lead;
    const std::vector<RankState> states = ranks.of_iteration(iteration);
    SimulatedStep step = iteration == 0 ? run_steady_step(job, buckets, kind.detail)
                                        : run_step(job, buckets, kind, states);
    if (!last && progress != nullptr &&
        !progress->go_on(static_cast<std::size_t>(iteration),
                         static_cast<std::size_t>(options.iterations))) {
      last = true;
      kind.detail = Detail::every_gradient;
      step = run_step(job, buckets, kind, states);
    }
    ranks.advance(step.planned, step.execution);
    host_lead = lead_after(job, step);
    waits.add(step.planned, step.execution);
    step.result.iteration = iteration;
    step.result.buckets = describe_buckets(step.planned, step.execution, buckets);
    step.result.collectives = describe_collectives(step.planned, step.execution);
    step.result.averaging = step.planned.averaging;
    StepTimes& times = step.result.times;
    if (last) step.result.data = data_supply(job, times.iteration, times.host);
    add_stall(job,
              iteration == 0 ? supply_stall(job, times.iteration, times.host)
                             : feed.next(times.iteration, times.host),
              times);
    if (last) {
      step.result.epoch = epoch_of(job, times.iteration, times.host, step.result.data);
      step.result.joined = joined_epoch_of(job, buckets, times.iteration);
    }
    if (last) step.result.staleness = staleness_of(job, step.result.times);
    note_optimizer(step.planned, step.execution, step.result);
    if (last && with_timeline == WithTimeline::yes) result.timeline = draw(job, buckets, step);
    if (last) draw_supply(step.result, result.timeline);
    if (iteration > 0) result.iterations.push_back(step.result);
    result.step = std::move(step.result);
  }
  result.statistics = statistics_of(result.iterations, limits.rebuilt_from.value_or(1) + 1);
  result.ranks = std::move(waits).finish();
  return result;
}

StepTimes simulate_times(const Job& job) {
  StepTimes times = run_steady_step(job, buckets_for(job, 0), Detail::none).result.times;
  add_stall(job, supply_stall(job, times.iteration, times.host), times);
  return times;
}

}  // namespace ddpsim
