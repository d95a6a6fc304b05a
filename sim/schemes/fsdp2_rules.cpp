// Rules of fully_shard and of replicate, which runs its code (schedule: fsdp2.cpp): what a rank keeps,
// what changes and what is refused.

#include <fmt/format.h>

#include <memory>
#include <string>

#include "cannot_wrap.hpp"
#include "process_groups.hpp"
#include "schedules.hpp"
#include "schemes.hpp"

namespace ddpsim {
namespace {

ShardedUnits sharded_units(const Job& job, const Fsdp2& scheme) {
  ShardedUnits kept{.units = units_of(job.workload(), scheme.wrap),
                    .sizes = {},
                    .freed_after_forward = {},
                    .prefetches_unreached = true,
                    .whole_gradients = scheme.no_sync && job.options().accumulate > 1,
                    .param_dtype = scheme.param_dtype,
                    .reduce_dtype = scheme.reduce_dtype,
                    .offloads = scheme.offload.any()};
  const bool frees = scheme.reshard_after_forward || scheme.reshard_to;
  for (const Unit& unit : kept.units) {
    const auto sizes_of = [&](const Unit& of) {
      return row_sharded_unit(job.workload(), of, scheme.group.value_or(job.cluster().ranks()),
                              scheme.param_dtype, scheme.reduce_dtype);
    };
    UnitSizes sizes = sizes_of(unit);
    const UnitSizes trained = sizes_of(trained_of(job.workload(), unit));
    sizes.gradient = trained.gradient;
    sizes.reduced = trained.reduced;
    kept.sizes.push_back(sizes);
    kept.freed_after_forward.push_back(unit.module.empty() ? scheme.reshard_root : frees);
  }
  return kept;
}

std::optional<std::string> cannot_shard(const Job& job, const Fsdp2& scheme) {
  if (auto problem = cannot_offload(job)) return problem;
  const int group = scheme.group.value_or(job.cluster().ranks());
  if (auto problem = cannot_group(job, group,
                                  fmt::format("--scheme {}: group", name_of(job.options().scheme))))
    return problem;
  if (scheme.reshard_to) {
    const std::string option = "--scheme fsdp2: reshard_after_forward";
    if (group % *scheme.reshard_to != 0)
      return fmt::format("{}={}: {} ranks shard together, so give a number that divides them",
                         option, *scheme.reshard_to, group);
    if (auto problem = cannot_group(job, *scheme.reshard_to, option)) return problem;
  }
  return cannot_wrap(job, scheme.wrap);
}

}  // namespace

SchemeRules rules_of(const Fsdp2& fully_shard) {
  const auto scheme = std::make_shared<const Fsdp2>(fully_shard);
  return {.schedule = [scheme](const StepToPlan& step) { return schedule_fsdp2(step, *scheme); },
          .kept_in_memory = [scheme](const Job& job) -> KeptInMemory {
            return sharded_units(job, *scheme);
          },
          .changed_numerics = [scheme](const Job& job) -> std::string {
            return narrowed_gradients(job, scheme->reduced_in());
          },
          .cannot_simulate = [scheme](const Job& job) -> std::optional<std::string> {
            return cannot_shard(job, *scheme);
          },
          .rests_on = gathers_rest_on_all_reduce_logs};
}

SchemeRules rules_of(const Replicate& replicate) {
  SchemeRules rules = rules_of(replicate.as_fully_shard());
  rules.rests_on = as_sure_as_ddp;
  return rules;
}

}  // namespace ddpsim
