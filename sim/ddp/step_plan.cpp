#include "step_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "local_sgd.hpp"
#include "sync_batch_norm.hpp"
#include "zero_redundancy.hpp"

namespace ddpsim {
namespace {

/// Adds a collective. `among` is the job or a process group within it.
std::uint32_t add(StepPlan& step, const Job& among, CollectiveKind kind, Bytes bytes,
                  std::size_t index, StepPhase phase, std::string unit) {
  return step.collectives.add(
      named(planned_collective(among, kind, bytes, index), std::move(unit), phase));
}

/// Adds an all-gather and an all-reduce for each layer, micro-batch by micro-batch. No recording
/// contains them.
void add_statistics(StepPlan& step) {
  step.statistics = step.collectives.count();
  const std::size_t unrecorded = step.buckets.size() + 1;
  const Job among = batch_norm_job(step.job);
  for (int batch = 0; batch < step.job.options().accumulate; ++batch)
    for (const std::size_t layer : step.layers) {
      const Parameter& weight = step.job.workload().parameters[layer];
      add(step, among, CollectiveKind::all_gather,
          gathered_statistics(weight, among.cluster().ranks()), unrecorded, StepPhase::forward,
          weight.name);
      add(step, among, CollectiveKind::all_reduce, reduced_statistics(weight), unrecorded,
          StepPhase::backward, weight.name);
    }
}

/// Adds Join's collectives. Each carries one float, except the rank whose buffers are broadcast. No
/// recording contains them.
void add_join(StepPlan& step) {
  const auto& inputs = step.job.options().uneven_inputs;
  if (!inputs) return;
  const auto notice = [&](Bytes bytes, const char* unit) {
    return add(step, step.job, CollectiveKind::all_reduce, bytes, kUnrecorded, StepPhase::forward,
               unit);
  };
  for (int batch = 0; batch < step.job.options().accumulate; ++batch) {
    StepPlan::JoinNotices notices{.not_joined = notice(Bytes(4), "ranks not joined")};
    if (inputs->throw_on_early_termination)
      notices.early_termination = notice(Bytes(4), "early termination");
    if (batch == 0 && step.broadcasts_buffers())
      notices.common_rank = notice(Bytes(8), "common rank");
    notices.backward_reduces = notice(Bytes(4), "backward reduces");
    step.join.push_back(notices);
  }
}

/// Adds a bucket's all-reduces. A hook's empty all-reduces are left out. Recorded ones exist only
/// for whole buckets.
void add_all_reduces(StepPlan& step, CollectivePlanner& planner, std::size_t bucket) {
  BucketHook hook = hook_of(step.job, step.kernels, step.buckets[bucket]);
  const bool as_recorded =
      hook.stages.size() == 1 && step.ddp().comm_hook != CommHook::post_local_sgd;
  const std::size_t recorded = as_recorded ? bucket : step.buckets.size() + 1;
  for (HookStage& stage : hook.stages)
    if (as_recorded || stage.bytes > Bytes())
      stage.collective = step.collectives.add(
          named(planner.plan(CollectiveKind::all_reduce, stage.bytes, recorded),
                fmt::format("bucket {}", bucket), StepPhase::backward));
  step.hooks.push_back(std::move(hook));
}

void add_collectives(StepPlan& step, const StepKind& kind) {
  const Workload& workload = step.job.workload();
  const std::size_t buckets = step.buckets.size();
  const std::int64_t ddp_parameters =
      std::ranges::count_if(step.bucket_of, [](std::int32_t bucket) { return bucket >= 0; });
  std::size_t broadcasts = 0;
  if (kind.rebuild)
    for (const std::int64_t entries : {ddp_parameters + 1, static_cast<std::int64_t>(buckets)})
      step.rebuild.push_back(add(step, step.job, CollectiveKind::broadcast, Bytes(4) * entries,
                                 broadcasts++, StepPhase::forward, "rebuilt buckets"));
  if (step.broadcasts_buffers() && !recorded_by(workload, 0).recorded_with.buffer_broadcast)
    for (const BufferGroup& group : workload.buffers)
      step.buffers.push_back(add(step, step.job, CollectiveKind::broadcast, group.bytes,
                                 broadcasts++, StepPhase::forward, "buffers"));
  const Job among = reduced_among(step.job);
  CollectivePlanner planner(among);
  for (std::size_t b = 0; b < buckets; ++b) add_all_reduces(step, planner, b);
  if (step.searches_unused() || kind.delay_launch)
    step.local_used_map = add(step, step.job, CollectiveKind::all_reduce, Bytes(4) * ddp_parameters,
                              buckets, StepPhase::backward, "used parameters");
  add_statistics(step);
}

void note_used(StepPlan& step, const Recorded& recorded) {
  for (const ReadyEvent& event : recorded.backward->ready) step.used[event.parameter] = true;
}

}  // namespace

StepPlan plan_step(const Job& job, const std::vector<Bucket>& buckets, const StepKind& kind) {
  const Workload& workload = job.workload();
  const std::size_t parameters = workload.parameters.size();
  StepPlan step{.job = job,
                .buckets = buckets,
                .kernels = KernelCosts(job),
                .layers = synced_layers(job),
                .hooks = {},
                .bucket_of = std::vector<std::int32_t>(parameters, -1),
                .layer_of = std::vector<std::int32_t>(parameters, -1),
                .used = std::vector<bool>(parameters)};
  for (std::size_t b = 0; b < buckets.size(); ++b)
    for (const std::size_t parameter : buckets[b].parameters)
      step.bucket_of[parameter] = static_cast<std::int32_t>(b);
  for (std::size_t k = 0; k < step.layers.size(); ++k)
    step.layer_of[step.layers[k]] = static_cast<std::int32_t>(k);
  note_used(step, workload);
  for (const RankRecording& rank : workload.ranks) note_used(step, rank);
  step.copies.reserve(parameters);
  for (const Bytes gradient : job.gradients()) {
    step.gradients += gradient;
    step.copies.push_back(step.kernels.copy(gradient));
  }
  for (const Bucket& bucket : buckets)
    if (bucket.closed_by != ClosedBy::sparse)
      for (const std::size_t parameter : bucket.parameters)
        if (step.used[parameter]) step.copies_out += step.copies[parameter];
  add_collectives(step, kind);
  add_parameter_broadcasts(step);
  add_join(step);
  step.averaging = model_averaging(job, step.kernels);
  return step;
}

}  // namespace ddpsim
