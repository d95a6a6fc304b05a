// DDP around a compiled model: its reducer with what comes out of a compiled backward, or the Python reducer in its place.
// What compiling makes of the order of gradients is in the recording (compiled.hpp).

#include "compiled.hpp"
#include "reducer.hpp"
#include "reducer_schemes.hpp"
#include "schedules.hpp"

namespace ddpsim {
namespace {

/// Tensors that are all-reduced, until they are copied back.
Bytes fused_gradients(const Job& job) {
  Bytes all;
  for (const ReadyEvent& event : job.workload().backward->ready)
    if (!job.workload().parameters[event.parameter].ignored)
      all += job.gradients()[event.parameter];
  return all;
}

}  // namespace

SchemeRules rules_of(const Compiled& scheme) {
  if (scheme.in_pieces())
    return {.schedule = schedule_reducer,
            .kept_in_memory = [](const Job& /*job*/) -> KeptInMemory { return ReducerBuckets(); },
            .changed_numerics = changed_by_hook,
            .cannot_simulate = cannot_compile};
  return {.schedule = schedule_python_reducer,
          .kept_in_memory = [](const Job& job) -> KeptInMemory {
            return WholeTensors{.gradients = fused_gradients(job)};
          },
          .changed_numerics = same_numerics,
          .cannot_simulate = cannot_compile};
}

}  // namespace ddpsim
