// What the simulation must know about a scheme. Each scheme's own file says it in rules_of(): see
// schemes.hpp and reducer_schemes.hpp.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kept_in_memory.hpp"
#include "planned_step.hpp"

namespace ddpsim {

/// The step for which a schedule is requested.
struct StepToPlan {
  const Job& job;
  const std::vector<Bucket>& buckets;  ///< the reducer's; empty for other schemes
  const StepKind& kind;
  const std::vector<RankState>& states;
};

/// The scheme must outlive its rules. Jobs passed to them must run that scheme.
struct SchemeRules {
  /// Precondition: cannot_simulate(job) is absent.
  std::function<PlannedStep(const StepToPlan& step)> schedule;
  /// Precondition: cannot_simulate(job) is absent.
  std::function<KeptInMemory(const Job& job)> kept_in_memory;
  /// Says in a few words how the step's result differs from plain data-parallel training. Empty if
  /// it does not.
  std::function<std::string(const Job& job)> changed_numerics;
  /// Says why the scheme cannot be simulated on this cluster or with these options. Absent if it
  /// can.
  std::function<std::optional<std::string>(const Job& job)> cannot_simulate;
  /// Warnings about parts of the prediction that plain DDP does not need and that are not
  /// calibrated.
  std::function<std::vector<std::string>(const Job& job)> rests_on;
};

/// Returns an empty text, for schemes that compute the same as plain data-parallel training.
std::string same_numerics(const Job& job);
/// Returns nothing, for schemes that can be simulated for every job.
std::optional<std::string> nothing_hinders(const Job& job);
/// Returns nothing, for schemes whose prediction needs no more than DDP's.
std::vector<std::string> as_sure_as_ddp(const Job& job);
/// Warnings for schemes that broadcast and reduce.
std::vector<std::string> rests_on_all_reduce_logs(const Job& job);
/// Warnings for schemes that gather and scatter. They concern NCCL only, because gloo's collectives
/// were measured.
std::vector<std::string> gathers_rest_on_all_reduce_logs(const Job& job);

/// Returns "gradients travel with 16 bits" if some parameter's type is wider than `wire`. Empty if
/// none is, or if `wire` is absent.
std::string narrowed_gradients(const Job& job, const std::optional<Dtype>& wire);

}  // namespace ddpsim
