// DDP around a compiled model: the usual reducer fed by a compiled backward, or the Python reducer.
// The effect of compiling on the order of gradients is part of the recording (compiled.hpp).

#include "compiled.hpp"
#include "reducer.hpp"
#include "reducer_schemes.hpp"
#include "schedules.hpp"

namespace ddpsim {
namespace {

/// Size of the fused tensors, which are kept from the all-reduce until they are copied back.
Bytes fused_gradients(const Job& job) {
  Bytes all;
  for (const ReadyEvent& event : job.workload().backward->ready)
    if (!job.workload().parameters[event.parameter].ignored)
      all += job.gradients()[event.parameter];
  return all;
}

constexpr const char* kPieces =
    "within a compiled piece, autograd runs DDP's hooks in an unpredictable order. ddpsim uses the "
    "recorded order. That order decides the members and sizes of buckets, but not when a piece "
    "ends";
constexpr const char* kInductor =
    "python_reducer: Inductor orders its kernels itself. ddpsim assumes that gradients are "
    "written, and all-reduces "
    "fused, in the recorded order";

std::vector<std::string> compiled_grounds(const char* of_the_reducer) {
  return {
      "what torch.compile changes in compute is not predicted: forward, backward and optimizer "
      "take as long as recorded",
      of_the_reducer};
}

}  // namespace

SchemeRules rules_of(const Compiled& scheme) {
  if (scheme.in_pieces())
    return {.schedule = schedule_reducer,
            .kept_in_memory = [](const Job& /*job*/) -> KeptInMemory { return ReducerBuckets(); },
            .changed_numerics = changed_by_hook,
            .cannot_simulate =
                [](const Job& job) {
                  auto problem = cannot_step_in_backward(job);
                  return problem ? problem : cannot_compile(job);
                },
            .rests_on = [](const Job& /*job*/) { return compiled_grounds(kPieces); }};
  return {.schedule = schedule_python_reducer,
          .kept_in_memory = [](const Job& job) -> KeptInMemory {
            return WholeTensors{.gradients = fused_gradients(job)};
          },
          .changed_numerics = same_numerics,
          .cannot_simulate = cannot_compile,
          .rests_on = [](const Job& /*job*/) { return compiled_grounds(kInductor); }};
}

}  // namespace ddpsim
