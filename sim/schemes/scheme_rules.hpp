// What the simulation must know of a scheme. Each scheme's own file says it, in its rules_of(): schemes.hpp, reducer_schemes.hpp.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kept_in_memory.hpp"
#include "planned_step.hpp"

namespace ddpsim {

/// What is asked of a schedule.
struct StepToPlan {
  const Job& job;
  const std::vector<Bucket>& buckets;  ///< of the reducer; other schemes have none
  const StepKind& kind;
  const std::vector<RankState>& states;
};

/// The scheme must outlive its rules. The jobs that they are asked about must run that scheme.
struct SchemeRules {
  /// Precondition: cannot_simulate(job) is absent.
  std::function<PlannedStep(const StepToPlan& step)> schedule;
  /// Precondition: the same.
  std::function<KeptInMemory(const Job& job)> kept_in_memory;
  /// What its step computes otherwise than plain data-parallel training does, in some words; empty where it does the same.
  std::function<std::string(const Job& job)> changed_numerics;
  /// Why the scheme cannot be simulated on this cluster, or with these options; absent where it can.
  std::function<std::optional<std::string>(const Job& job)> cannot_simulate;
  /// Warnings: what the prediction rests on that DDP's does not, and no measurement stands behind.
  std::function<std::vector<std::string>(const Job& job)> rests_on;
};

/// Returns an empty text: for schemes that compute what plain data-parallel training does.
std::string same_numerics(const Job& job);
/// Returns nothing: for schemes that can be simulated wherever a job can be.
std::optional<std::string> nothing_hinders(const Job& job);
/// Returns nothing: for schemes whose prediction rests on what DDP's rests on.
std::vector<std::string> as_sure_as_ddp(const Job& job);
/// For schemes that broadcast and reduce.
std::vector<std::string> rests_on_all_reduce_logs(const Job& job);
/// For schemes that gather and scatter: of NCCL alone, since gloo's have been measured.
std::vector<std::string> gathers_rest_on_all_reduce_logs(const Job& job);

/// "gradients travel with 16 bits", where some parameter has more than this type; empty where none has, or no type is given.
std::string narrowed_gradients(const Job& job, const std::optional<Dtype>& wire);

}  // namespace ddpsim
