// Rules of DeepSpeed's ZeRO (schedules: zero12.cpp, zero3.cpp): what a rank keeps, what changes and
// what is refused.

#include <fmt/format.h>

#include <algorithm>

#include "cannot_wrap.hpp"
#include "process_groups.hpp"
#include "schedules.hpp"
#include "schemes.hpp"

namespace ddpsim {
namespace {

/// What a rank keeps.
///
/// Stages 1 and 2:
/// - whole parameters, in the type of computation
/// - fp32 copies and optimizer state of its own part
/// - gradients: whole in stage 1, those of its own part in stage 2
/// - buckets of reduce_bucket_size elements for any model size, two with overlap_comm
///
/// Stage 3:
/// - its own part of everything
/// - persistent and live parameters, whole: at most stage3_max_live_parameters, and at most the
///   model. A model below stage3_max_reuse_distance elements is never freed.
/// - one bucket
MixedPrecision kept_by_zero(const Job& job, const Zero& scheme) {
  const std::int64_t ranks = job.cluster().ranks();
  const bool third = scheme.stage == 3;
  const MixedSizes model =
      mixed_sizes(job, scheme.param_dtype, third ? scheme.stage3_param_persistence_threshold : 0);
  const std::int64_t owned = (model.trained + ranks - 1) / ranks;
  MixedPrecision kept{.parameters = model.computed(model.elements),
                      .element_size = model.size,
                      .keeps_gradients = scheme.stage == 1};
  if (third) {
    const std::int64_t sharded = model.elements - model.persistent;
    const std::int64_t live = std::min(sharded, scheme.stage3_max_live_parameters);
    const std::int64_t own = scheme.offload.parameters ? 0 : (sharded + ranks - 1) / ranks;
    kept.parameters = model.computed(own + model.persistent + live);
  }
  if (scheme.offload.optimizer) {  // fp32 parameters, gradients and state
    kept.host = MixedSizes::single(owned) * (model.states + 2);
    // The sum of the largest gradient comes back from the host to be added to.
    if (!third) kept.temporaries = model.computed(model.largest);
  } else {
    kept.optimizer = MixedSizes::single(owned) * (model.states + 1);
    kept.stepped = MixedSizes::single(owned);
    if (scheme.stage > 1) kept.gradients = model.computed(owned);
  }
  if (scheme.offload.parameters) kept.host += model.computed((model.elements + ranks - 1) / ranks);
  const bool overlaps = scheme.overlap_comm.value_or(false);
  if (scheme.stage > 1 || overlaps)
    kept.buckets = model.computed(scheme.reduce_bucket_size) * (!third && overlaps ? 2 : 1);
  return kept;
}

std::string numerics_of_zero(const Job& job, const Zero& scheme) {
  if (scheme.zero_quantized_gradients) return "gradients travel with 4 bits";
  if (scheme.zero_quantized_weights) return "parameters travel with 8 bits";
  return narrowed_gradients(job, scheme.sent_in());
}

std::optional<std::string> cannot_shard(const Job& job, const Zero& scheme) {
  if (auto problem = cannot_offload(job)) return problem;
  for (const int ranks : scheme.groups(job.cluster().gpus_per_host()))
    if (auto problem = cannot_group(
            job, ranks, fmt::format("--scheme {}: zero_hpz_partition_size", scheme.name())))
      return problem;
  return scheme.stage == 3 ? cannot_wrap(job, scheme.wrap) : std::nullopt;
}

}  // namespace

SchemeRules rules_of(const Zero& scheme) {
  return {.schedule =
              [&scheme](const StepToPlan& step) {
                return scheme.stage == 3 ? schedule_zero3(step, scheme)
                                         : schedule_zero12(step, scheme);
              },
          .kept_in_memory = [&scheme](const Job& job) -> KeptInMemory {
            return kept_by_zero(job, scheme);
          },
          .changed_numerics = [&scheme](const Job& job) -> std::string {
            return numerics_of_zero(job, scheme);
          },
          .cannot_simulate = [&scheme](const Job& job) -> std::optional<std::string> {
            return cannot_shard(job, scheme);
          },
          .rests_on = gathers_rest_on_all_reduce_logs};
}

}  // namespace ddpsim
