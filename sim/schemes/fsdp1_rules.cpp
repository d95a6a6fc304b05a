// Rules of FullyShardedDataParallel (schedule: fsdp1.cpp): what a rank keeps, what changes and what
// is refused.

#include <fmt/format.h>

#include "cannot_wrap.hpp"
#include "process_groups.hpp"
#include "schedules.hpp"
#include "schemes.hpp"

namespace ddpsim {
namespace {

ShardedUnits sharded_units(const Job& job, Fsdp1 scheme) {
  scheme.strategy = strategy_in_force(scheme, job.cluster().ranks());
  const bool hybrid = is_hybrid(scheme.strategy);
  const bool frees = scheme.strategy == ShardingStrategy::full_shard ||
                     scheme.strategy == ShardingStrategy::hybrid_shard;
  const bool shards = scheme.strategy != ShardingStrategy::no_shard;
  const int group =
      hybrid ? scheme.group.value_or(job.cluster().gpus_per_host()) : job.cluster().ranks();
  ShardedUnits kept{.units = units_of(job.workload(), scheme.wrap),
                    .sizes = {},
                    .freed_after_forward = {},
                    .frees_in_backward = shards,
                    .prefetches = scheme.backward_prefetch != BackwardPrefetch::none,
                    .whole_gradients = scheme.no_sync && job.options().accumulate > 1,
                    .casts_beside = true,
                    .frees_late = frees,
                    .param_dtype = scheme.param_dtype,
                    .reduce_dtype = scheme.reduce_dtype,
                    .offloads = scheme.offload.any()};
  for (const Unit& unit : kept.units) {
    kept.sizes.push_back(flat_unit(
        job.workload(), unit,
        {.shards = shards ? group : 1, .group = group, .use_orig_params = scheme.use_orig_params},
        scheme.param_dtype, scheme.reduce_dtype));
    kept.freed_after_forward.push_back(frees && !unit.module.empty());
  }
  return kept;
}

/// A unit's parameters must fit into one flat tensor.
std::optional<std::string> cannot_flatten(const Job& job, const Fsdp1& scheme) {
  const std::vector<Parameter>& parameters = job.workload().parameters;
  for (const Unit& unit : units_of(job.workload(), scheme.wrap))
    for (const std::size_t parameter : unit.parameters) {
      const Parameter& first = parameters[unit.parameters.front()];
      if (parameters[parameter].frozen != first.frozen && !scheme.use_orig_params) {
        const bool first_is = first.frozen;
        return fmt::format(
            "{} is frozen and {} is not, but both are in one unit. FullyShardedDataParallel "
            "flattens them together only with use_orig_params=true. Add it, or wrap them "
            "separately",
            first_is ? first.name : parameters[parameter].name,
            first_is ? parameters[parameter].name : first.name);
      }
      if (parameters[parameter].dtype == first.dtype) continue;
      return fmt::format(
          "{} is {} and {} is {}, but both are in one unit. FullyShardedDataParallel flattens only "
          "parameters of one type. Wrap them separately, or use fsdp2",
          first.name, name_of(first.dtype), parameters[parameter].name,
          name_of(parameters[parameter].dtype));
    }
  return std::nullopt;
}

std::optional<std::string> cannot_shard(const Job& job, const Fsdp1& scheme) {
  if (auto problem = cannot_offload(job)) return problem;
  if (scheme.offload.any() && !scheme.no_sync && job.options().accumulate > 1)
    return "cpu_offload=true: FullyShardedDataParallel accumulates gradients on the host only "
           "under no_sync(). Leave out no_sync=false, or use fsdp2";
  for (const int ranks : scheme.groups(job.cluster().gpus_per_host()))
    if (auto problem = cannot_group(job, ranks, "--scheme fsdp1: group")) return problem;
  if (auto problem = cannot_wrap(job, scheme.wrap)) return problem;
  return cannot_flatten(job, scheme);
}

}  // namespace

SchemeRules rules_of(const Fsdp1& scheme) {
  return {.schedule = [&scheme](const StepToPlan& step) { return schedule_fsdp1(step, scheme); },
          .kept_in_memory = [&scheme](const Job& job) -> KeptInMemory {
            return sharded_units(job, scheme);
          },
          .changed_numerics = [&scheme](const Job& job) -> std::string {
            return narrowed_gradients(job, scheme.reduced_in());
          },
          .cannot_simulate = [&scheme](const Job& job) -> std::optional<std::string> {
            return cannot_shard(job, scheme);
          },
          .rests_on = gathers_rest_on_all_reduce_logs};
}

}  // namespace ddpsim
