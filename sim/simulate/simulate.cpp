#include "ddpsim/sim/simulate/simulate.hpp"

#include <algorithm>

#include "data_feed.hpp"
#include "ddpsim/sim/step/compute_speed.hpp"
#include "ddpsim/sim/step/job_buckets.hpp"
#include "ddpsim/sim/values/assert.hpp"
#include "ddpsim/sim/values/limits.hpp"
#include "epoch_of.hpp"
#include "flow_planner.hpp"
#include "iteration_statistics.hpp"
#include "optimizer_in_backward.hpp"
#include "planned_step.hpp"
#include "process_groups.hpp"
#include "rank_states.hpp"
#include "rank_waits.hpp"
#include "rates.hpp"
#include "schedule_step.hpp"
#include "shared_network_run.hpp"
#include "staleness.hpp"
#include "summary.hpp"

namespace ddpsim {
namespace {

/// Set only if the time of a transfer depends on when it starts.
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
  step.result.times = attribute_step(step.planned, step.execution, job);
  step.result.events = step.execution.events;
  return step;
}

/// Simulates a step. If the optimizer runs in backward, the step is simulated twice: first to find
/// when each bucket is reduced, then with the optimizer's work at those times.
SimulatedStep run_step(const Job& job, const std::vector<Bucket>& buckets, const StepKind& kind,
                       const std::vector<RankState>& states) {
  if (!job.options().ddp().optimizer_in_backward || kind.delay_launch)
    return run_once(job, buckets, kind, states);
  StepKind stepping = kind;
  stepping.detail = Detail::every_gradient;
  const SimulatedStep step = run_once(job, buckets, stepping, states);
  stepping.detail = kind.detail;
  stepping.steps_before = steps_before(step.planned, step.execution);
  return run_once(job, buckets, stepping, states);
}

/// Runs steps one after the other, as in training, until the steady step is found. If ranks differ,
/// it is the step that every rank ends as far from rank 0 as it began.
SimulatedStep run_steady_ranks(const Job& job, const std::vector<Bucket>& buckets,
                               const StepKind& kind) {
  if (job.options().variation.empty()) return run_step(job, buckets, kind, {});
  RankStates ranks(job);
  // A start depends only on the step before, so two or three are enough.
  constexpr int kMostSteps = 16;
  for (int step = 1;; ++step) {
    SimulatedStep run = run_step(job, buckets, kind, ranks.steady());
    if (!ranks.advance(run.planned, run.execution) || step == kMostSteps) return run;
  }
}

/// How far ahead the host can get if it waits for the GPU to end a step some steps back. Absent if
/// nothing in the script makes it wait.
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

/// Times, relative to the next step's start, at which memory is freed for which the next step's
/// host may wait.
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

/// Finds the steady lead of the host. A host that needs less time than the step gets further ahead
/// with each step. It stops when no kernel waits for it, or when its script makes it wait. Within a
/// step, only a communication hook, SyncBatchNorm or the map of used parameters makes it wait for
/// the GPU. A host that needs more time sets the pace: it begins a step when it has launched the
/// one before. In the steady step it ends as far ahead as it began.
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

/// A recorded host did more than launch. If it took longer than the modelled host, the recorded
/// times are used.
SimulatedStep run_steady_step(const Job& job, const std::vector<Bucket>& buckets, Detail detail) {
  SimulatedStep run = run_steady_ranks(job, buckets, StepKind{.detail = detail});
  const std::optional<Duration> most = most_ahead(job, run);
  const bool paced = host_sets_pace(run);
  if (!paced && !most) return run;
  SimulatedStep with_host =
      run_with_host(job, buckets, run.planned.host->step, paced ? Duration() : *most, detail);
  // A step without the reducer uses nothing of the recorded host unless the host's times were
  // recorded.
  if (!uses_reducer(job.options().scheme) && job.workload().host_ready.empty()) {
    if (paced || !host_sets_pace(with_host)) return with_host;
    // The host's lead over the GPU would shrink step by step, so it begins where it ends.
    return run_with_host(job, buckets, run.planned.host->step, Duration(), detail);
  }
  return with_host.result.times.iteration < run.result.times.iteration ? std::move(run)
                                                                       : std::move(with_host);
}

/// Before the first iteration nothing has been launched. A recorded host that keeps up continues as
/// recorded.
bool begins_with_host(const Job& job) {
  const Workload& workload = job.workload();
  if (!workload.launches) return false;
  return workload.host_ready.empty() ||
         run_steady_step(job, buckets_for(job, 0), Detail::none).kind.host_lead.has_value();
}

/// Adds the stall between this step and the next, as a part of the step and as a loss.
void add_stall(const Job& job, const SupplyStall& stall, StepTimes& times) {
  const Duration both = stall.both();
  times.input_alone = supply_stall(job, times.alone(), times.host, SharedWith::nobody).both();
  times.stall += both;
  times.input += both;
  times.iteration += both;
  times.loss[LossCause::input] += both;
}

/// If all ranks are simulated as the slowest GPU, a usual GPU is drawn too: it computes faster, and
/// waits.
Timeline draw(const Job& job, const std::vector<Bucket>& buckets, const SimulatedStep& step) {
  const SlowdownShares shares = slowdown_shares(job);
  const int ranks = std::min(job.cluster().ranks(), kMostDifferentRanks);
  if (!step.planned.program_of_rank.empty() || ranks == 1 || shares.slowest_gpu <= 0)
    return draw_timeline(step.planned, step.execution, job.workload(), buckets, false);
  std::vector<RankState> states(static_cast<std::size_t>(ranks));
  for (std::size_t r = 1; r < states.size(); ++r)
    states[r].slowdown = (1 + shares.unexplained) / shares.slowdown();
  const SimulatedStep beside = run_once(job, buckets, step.kind, states);
  return draw_timeline(beside.planned, beside.execution, job.workload(), buckets, true);
}

}  // namespace

SimulationResult simulate(const Job& job, Progress* progress, WithTimeline with_timeline) {
  const SimulationOptions& options = job.options();
  const BucketLimits limits = bucket_limits(options.ddp(), options.torch);
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
                  .delay_launch = iteration == 1 && options.ddp().static_graph,
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
