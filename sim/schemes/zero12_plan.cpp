#include "zero12_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "unit_sizes.hpp"

namespace ddpsim {
namespace {

/// Partitions begin at addresses that NCCL reads fastest: nccl_start_alignment_factor.
constexpr std::int64_t kAlignment = 2;

StepCollective collective_of(const Job& job, CollectiveKind kind, Bytes bytes, std::string unit,
                             StepPhase phase) {
  return named(planned_collective(job, kind, bytes, kUnrecorded), std::move(unit), phase);
}

/// All parameters laid end to end, in elements.
struct EndToEnd {
  std::vector<std::int64_t> offsets;  ///< by parameter
  std::int64_t all = 0;
  std::int64_t padded = 0;
  std::int64_t part = 0;  ///< of `padded`, owned by each rank
};
EndToEnd laid_end_to_end(const Workload& workload, std::int64_t ranks) {
  EndToEnd laid{.offsets = std::vector<std::int64_t>(workload.parameters.size())};
  for (const std::size_t parameter : parameters_as_defined(workload)) {
    const std::int64_t elements = elements_of(workload.parameters[parameter]);
    laid.offsets[parameter] = std::exchange(laid.all, laid.all + elements);
  }
  laid.padded = padded_to(kAlignment * ranks, std::max<std::int64_t>(laid.all, 1));
  laid.part = laid.padded / ranks;
  return laid;
}

/// Pieces, in elements, of a gradient larger than the bucket that begins at `offset` among all
/// parameters. It is cut at owners' borders, and pieces are joined until they are larger than the
/// bucket.
std::vector<std::int64_t> pieces_of(std::int64_t offset, std::int64_t elements, std::int64_t part,
                                    std::int64_t bucket) {
  std::vector<std::int64_t> pieces;
  std::int64_t piece = 0;
  for (std::int64_t at = offset; at < offset + elements;) {
    const std::int64_t next = std::min((at / part + 1) * part, offset + elements);
    piece += next - at;
    at = next;
    if (piece > bucket) pieces.push_back(std::exchange(piece, 0));
  }
  if (piece > 0) pieces.push_back(piece);
  return pieces;
}

Dtype computed_type(const Zero& scheme, const Parameter& parameter) {
  return scheme.param_dtype.value_or(parameter.dtype);
}
/// Bytes of an element in the type of computation.
std::int64_t computed_size(const Zero& scheme, const Parameter& parameter) {
  return element_size(computed_type(scheme, parameter));
}
/// Bytes of an element as sent.
std::int64_t sent_size(const Zero& scheme, const Parameter& parameter) {
  return scheme.communication_data_type ? element_size(*scheme.communication_data_type)
                                        : computed_size(scheme, parameter);
}

/// Whether ranks look for infinities in their gradients before the norm (check_grad_overflow).
bool searches_for_overflow(const Zero& scheme, Dtype computed) {
  return computed == Dtype::float16 || (computed == Dtype::bfloat16 && scheme.searches_bfloat16());
}

/// Plans the k-th bucket, which holds these parameters.
PlannedBucket plan_bucket(const Job& job, const Zero& scheme, const EndToEnd& laid, std::size_t k,
                          const std::vector<std::size_t>& parameters) {
  const std::vector<Parameter>& all = job.workload().parameters;
  PlannedBucket planned;
  for (const std::size_t parameter : parameters)
    planned.single += Bytes(elements_of(all[parameter]) * element_size(Dtype::float32));
  const auto add = [&](Bytes gradients, Bytes reduced) {
    planned.reductions.push_back(
        {gradients, collective_of(job, CollectiveKind::all_reduce, reduced,
                                  fmt::format("bucket {}", k), StepPhase::backward)});
  };
  const Parameter& first = all[parameters.front()];
  const std::int64_t elements = elements_of(first);
  if (elements > scheme.reduce_bucket_size) {
    for (const std::int64_t piece : pieces_of(laid.offsets[parameters.front()], elements, laid.part,
                                              scheme.reduce_bucket_size))
      add(Bytes(piece * computed_size(scheme, first)), Bytes(piece * sent_size(scheme, first)));
    return planned;
  }
  Bytes gradients;
  Bytes reduced;
  for (const std::size_t parameter : parameters) {
    gradients += Bytes(elements_of(all[parameter]) * computed_size(scheme, all[parameter]));
    reduced += Bytes(elements_of(all[parameter]) * sent_size(scheme, all[parameter]));
  }
  add(gradients, reduced);
  return planned;
}

}  // namespace

Zero12Plan plan_zero12(const Job& job, const Zero& scheme) {
  const Workload& workload = job.workload();
  const bool overlaps = scheme.overlap_comm.value_or(false);
  const bool as_defined = scheme.stage == 1 && !overlaps;
  Zero12Plan plan{.scheme = scheme,
                  .overlaps = overlaps,
                  .buckets = buckets_up_to(scheme.reduce_bucket_size, workload,
                                           as_defined ? parameters_as_defined(workload)
                                                      : parameters_as_written(workload)),
                  .planned = {},
                  .norm = collective_of(job, CollectiveKind::all_reduce, Bytes(4), "gradient norm",
                                        StepPhase::optimizer),
                  .overflow = {},
                  .gather = {}};
  const EndToEnd laid = laid_end_to_end(workload, job.cluster().ranks());
  for (const std::vector<std::size_t>& bucket : plan.buckets)
    plan.planned.push_back(plan_bucket(job, scheme, laid, plan.planned.size(), bucket));
  // DeepSpeed casts a model to one type, and padding has that type too.
  const std::size_t any = plan.buckets.empty() ? 0 : plan.buckets.front().front();
  const std::int64_t size = computed_size(scheme, workload.parameters[any]);
  plan.gather = collective_of(job, CollectiveKind::all_gather, Bytes(laid.padded * size),
                              "parameters", StepPhase::optimizer);
  if (searches_for_overflow(scheme, computed_type(scheme, workload.parameters[any])))
    plan.overflow =
        collective_of(job, CollectiveKind::all_reduce, Bytes(1), "overflow", StepPhase::optimizer);
  const std::int64_t stepped = std::min(laid.part, laid.all);
  for (const std::vector<std::size_t>& bucket : plan.buckets)
    plan.tensors += static_cast<std::int64_t>(bucket.size());
  const std::int64_t ranks = job.cluster().ranks();
  plan.owned = {.single = Bytes(stepped * element_size(Dtype::float32)),
                .computed = Bytes(stepped * size),
                .tensors = (plan.tensors + ranks - 1) / ranks,
                .share = share_of(Bytes(stepped), Bytes(laid.all))};
  return plan;
}

}  // namespace ddpsim
