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

constexpr const char* kPieces =
    "gradients that come out of a compiled piece together reach DDP's hooks in an order that "
    "is an accident of autograd; the recorded one is taken, on which the members and sizes of "
    "buckets hang, not when a piece ends";
constexpr const char* kInductor =
    "python_reducer: Inductor orders its kernels itself; gradients are taken to be written, "
    "and all-reduces to be fused, in the recorded order";

std::vector<std::string> compiled_grounds(const char* of_the_reducer) {
  return {
      "what torch.compile makes of compute is not predicted: forward, backward and optimizer take "
      "what was recorded",
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
