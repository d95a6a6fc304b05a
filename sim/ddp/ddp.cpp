// DistributedDataParallel itself: its reducer with any communication hook.

#include <fmt/format.h>

#include "ddpsim/sim/step/bucket_assignment.hpp"
#include "reducer.hpp"
#include "reducer_schemes.hpp"

namespace ddpsim {

std::string changed_by_hook(const Job& job) {
  const DdpOptions& ddp = job.options().ddp();
  switch (ddp.comm_hook) {
    case CommHook::none:
      return "";
    case CommHook::power_sgd:
      return fmt::format("gradients are approximated by matrices of rank {}",
                         ddp.power_sgd.matrix_approximation_rank);
    case CommHook::post_local_sgd:
      return kNodesApart;
    case CommHook::fp16_compress:
    case CommHook::bf16_compress:
      break;
  }
  return narrowed_gradients(job, wire_dtype(ddp, Dtype::float32));
}

std::optional<std::string> cannot_step_in_backward(const Job& job) {
  if (!job.options().ddp().optimizer_in_backward) return std::nullopt;
  return fmt::format(
      "{} steps its parameters after backward. Leave out --apply-optimizer-in-backward",
      name_of(job.options().scheme));
}

SchemeRules rules_of(const Ddp& /*scheme*/) {
  return {.schedule = schedule_reducer,
          .kept_in_memory = [](const Job& /*job*/) -> KeptInMemory { return ReducerBuckets(); },
          .changed_numerics = changed_by_hook,
          .cannot_simulate = nothing_hinders,
          .rests_on = as_sure_as_ddp};
}

}  // namespace ddpsim
