// DeepSpeed's ZeRO, stages 1 and 2 (deepspeed/runtime/zero/stage_1_and_2.py, 0.19): parameters are whole on every rank,
// the optimizer's state, in stage 2 gradients too, belongs to the rank that owns that part of all parameters laid end to
// end.
//
//   compute    forward | gradient, copy into the bucket, gradient, copy, … | norm of all gradients | optimizer, on the part
//              owned, cast back
//   reduction  compute itself; with overlap_comm a stream beside it: division, copy, all-reduce, what is owned copied out.
//              Two buckets take turns: compute fills the next one when the one before has been reduced
//   host       a hook per gradient; reads the norm (and whether 16 bits overflowed) before the optimizer; with overlap_comm
//              waits for the GPU at the end of backward
//
// A bucket is reduced by the gradient that no longer fits, the last one when backward is over. Owners' parts begin anywhere
// in it, so that what reduces to all owners at once is an all-reduce (use_multi_rank_bucket_allreduce, the default), not
// a reduce-scatter: as many bytes as DDP. A gradient larger than the bucket is reduced from where it is, and cut where its
// owner changes once it holds more than the bucket. Stage 1 without overlap_comm has no hooks: it begins when backward is
// over, in the order of definition. Stage 1 reduces in the last micro-batch, stage 2 in each.
//
// With offload_optimizer what is owned of a bucket goes to the host where it was reduced: in the last micro-batch in fp32, and
// the host reads of every gradient whether it overflowed before it copies it, so that nothing overlaps with the reduction. Other
// micro-batches add what is on the host to what was reduced, on the GPU, and copy the sum back. The host unscales, steps and
// casts; what is owned is copied to the GPU in front of the all-gather.
//
// Behind the optimizer one all-gather of all parameters, padded to twice the ranks: allgather_bucket_size counts only where
// PyTorch has no all_gather_into_tensor. Recorded with DeepSpeed 0.19.8 on 2 and 4 ranks.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "gradient_buckets.hpp"
#include "offload_costs.hpp"
#include "schedules.hpp"
#include "scheme_writer.hpp"
#include "unit_sizes.hpp"

namespace ddpsim {
namespace {

/// Partitions begin where NCCL reads fastest: nccl_start_alignment_factor.
constexpr std::int64_t kAlignment = 2;

struct PlannedReduction {
  Bytes gradients;  ///< of the type computed in
  StepCollective all_reduce;
};

struct PlannedBucket {
  std::vector<PlannedReduction> reductions;
  Bytes single;  ///< all of them, of fp32
  Bytes gradients() const {
    Bytes all;
    for (const PlannedReduction& reduction : reductions) all += reduction.gradients;
    return all;
  }
};

struct Zero12Plan {
  const Zero& scheme;
  bool overlaps;
  GradientBuckets buckets;
  std::vector<PlannedBucket> planned;
  StepCollective norm;
  std::optional<StepCollective> overflow;
  StepCollective gather;
  Bytes stepped;       ///< rank 0's part, of fp32
  Bytes stepped_cast;  ///< … as computed in
  double stepped_share = 1;
};

StepCollective collective_of(const Job& job, CollectiveKind kind, Bytes bytes, std::string unit,
                             StepPhase phase) {
  return named(planned_collective(job, kind, bytes, kUnrecorded), std::move(unit), phase);
}

/// Elements of a gradient larger than the bucket, which begins at `offset` among all of them: cut at owners' borders, and
/// put together until they are more than the bucket.
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

Zero12Plan plan_zero12(const Job& job, const Zero& scheme) {
  const Workload& workload = job.workload();
  const std::int64_t ranks = job.cluster().ranks();
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
  std::vector<std::int64_t> offsets(workload.parameters.size());
  std::int64_t all = 0;
  Bytes gathered;
  for (const std::size_t parameter : parameters_as_defined(workload)) {
    const std::int64_t elements = elements_of(workload.parameters[parameter]);
    offsets[parameter] = std::exchange(all, all + elements);
  }
  const std::int64_t padded = padded_to(kAlignment * ranks, std::max<std::int64_t>(all, 1));
  const std::int64_t part = padded / ranks;
  const auto computed = [&](std::size_t parameter) {
    return element_size(scheme.param_dtype.value_or(workload.parameters[parameter].dtype));
  };
  const auto sent = [&](std::size_t parameter) {
    return scheme.communication_data_type ? element_size(*scheme.communication_data_type)
                                          : computed(parameter);
  };
  for (const std::vector<std::size_t>& bucket : plan.buckets) {
    PlannedBucket planned;
    for (const std::size_t parameter : bucket)
      planned.single +=
          Bytes(elements_of(workload.parameters[parameter]) * element_size(Dtype::float32));
    const auto add = [&](Bytes gradients, Bytes reduced) {
      planned.reductions.push_back(
          {gradients,
           collective_of(job, CollectiveKind::all_reduce, reduced,
                         fmt::format("bucket {}", plan.planned.size()), StepPhase::backward)});
    };
    const std::size_t first = bucket.front();
    const std::int64_t elements = elements_of(workload.parameters[first]);
    if (elements > scheme.reduce_bucket_size) {
      for (const std::int64_t piece :
           pieces_of(offsets[first], elements, part, scheme.reduce_bucket_size))
        add(Bytes(piece * computed(first)), Bytes(piece * sent(first)));
    } else {
      Bytes gradients;
      Bytes reduced;
      for (const std::size_t parameter : bucket) {
        gradients += Bytes(elements_of(workload.parameters[parameter]) * computed(parameter));
        reduced += Bytes(elements_of(workload.parameters[parameter]) * sent(parameter));
      }
      add(gradients, reduced);
    }
    plan.planned.push_back(std::move(planned));
  }
  // One type, as DeepSpeed casts a model to; padding is of it.
  const std::size_t any = plan.buckets.empty() ? 0 : plan.buckets.front().front();
  gathered = Bytes(padded * computed(any));
  plan.gather =
      collective_of(job, CollectiveKind::all_gather, gathered, "parameters", StepPhase::optimizer);
  if (computed(any) == element_size(Dtype::float16))
    plan.overflow =
        collective_of(job, CollectiveKind::all_reduce, Bytes(1), "overflow", StepPhase::optimizer);
  const std::int64_t stepped = std::min(part, all);
  plan.stepped = Bytes(stepped * element_size(Dtype::float32));
  plan.stepped_cast = Bytes(stepped * computed(any));
  plan.stepped_share = share_of(Bytes(stepped), Bytes(all));
  return plan;
}

class Zero12Writer {
 public:
  Zero12Writer(const Job& job, const Zero12Plan& plan, StepCollectives& collectives,
               const StepKind& kind, const RankClass& rank_class, const Recording& recording)
      : job_(job),
        plan_(plan),
        scheme_(plan.scheme),
        offload_(job, plan.scheme.offload),
        writer_(job, collectives, kind, rank_class, recording),
        streams_(writer_.streams()),
        reductions_(streams_.open()),
        ranks_(job.cluster().ranks()),
        complete_(complete_after(plan.buckets, recording)) {}

  RankStep write() {
    for (int batch = 0; batch < writer_.micro_batches(); ++batch) {
      const bool every = scheme_.stage == 2;
      is_first_ = batch == 0;
      is_last_ = batch + 1 == writer_.micro_batches();
      const bool reduces = every || is_last_;
      writer_.begin_batch(!every && batch > 0);
      writer_.forward_to(1);
      if (!reduces)
        writer_.end_backward();
      else if (every || plan_.overlaps)
        reduce_in_backward();
      else
        reduce_after_backward();
      if (every && batch > 0 && !scheme_.offload.optimizer)
        writer_.pack(writer_.kernels().accumulate(owned(all_gradients())));
    }
    step();
    return writer_.finish();
  }

 private:
  using Launched = SchemeWriter::Launched;

  void reduce_in_backward() {
    std::size_t next = 0;
    for (std::size_t k = 0; k < writer_.recording().gradients(); ++k) {
      writer_.backward_to(k);
      const std::size_t parameter = writer_.recording().gradient(k).parameter;
      if (job_.workload().parameters[parameter].ignored) continue;
      writer_.call_hook(job_.options().costs.host_python_hook);
      while (next < complete_.size() && complete_[next] <= k) reduce(next++);
      copy_in(parameter);
    }
    writer_.end_backward();
    while (next < complete_.size()) reduce(next++);
    if (!plan_.overlaps) return;
    wait_for_the_last();
    writer_.read_on_host();
  }

  void reduce_after_backward() {
    writer_.end_backward();
    for (std::size_t bucket = 0; bucket < plan_.buckets.size(); ++bucket) {
      for (const std::size_t parameter : plan_.buckets[bucket]) copy_in(parameter);
      reduce(bucket);
    }
  }

  void copy_in(std::size_t parameter) {
    const Parameter& of = job_.workload().parameters[parameter];
    if (elements_of(of) > scheme_.reduce_bucket_size) return;
    writer_.pack(writer_.kernels().copy(
        Bytes(elements_of(of) * element_size(scheme_.param_dtype.value_or(of.dtype)))));
  }

  void reduce(std::size_t bucket) {
    const PlannedBucket& planned = plan_.planned[bucket];
    const KernelCosts& kernels = writer_.kernels();
    if (plan_.overlaps) {
      wait_for_the_last();
      streams_.hold_on(reductions_, OperationKind::pack,
                       streams_.record_on_compute(OperationKind::backward));
      streams_.hold_on(reductions_, OperationKind::pack,
                       streams_.record_on_host(OperationKind::launch));
    }
    run(kernels.copy(planned.gradients()));  // divided
    for (const PlannedReduction& reduction : planned.reductions) {
      const Bytes sent = reduction.all_reduce.scheduled.size;
      run(kernels.cast(reduction.gradients, sent));  // put together
      const EventId ready = plan_.overlaps ? streams_.record_on(reductions_, OperationKind::pack)
                                           : streams_.record_on_compute(OperationKind::pack);
      const Launched launched = writer_.launch({}, reduction.all_reduce, {ready});
      if (plan_.overlaps) {
        streams_.hold_on(reductions_, OperationKind::pack, launched.done);
        reducing_.push_back(launched);
      } else {
        writer_.wait_for(launched);
      }
      run(kernels.cast(owned(sent), owned(reduction.gradients)));
    }
    if (scheme_.offload.optimizer)
      copy_to_host(bucket);
    else
      run(kernels.copy(owned(planned.gradients())));  // to where the optimizer reads it
    if (plan_.overlaps) owned_is_there_ = streams_.record_on(reductions_, OperationKind::pack);
  }

  void copy_to_host(std::size_t bucket) {
    const KernelCosts& kernels = writer_.kernels();
    const Bytes gradients = owned(plan_.planned[bucket].gradients());
    const auto tensors = static_cast<std::int64_t>(plan_.buckets[bucket].size());
    const std::int64_t own = (tensors + ranks_ - 1) / ranks_;
    writer_.launch_copies(static_cast<std::size_t>(own));
    if (!is_first_ || !is_last_) {
      if (!is_first_) {
        copy(own, gradients);  // what the micro-batches before left
        run(kernels.accumulate(gradients));
      }
      copy(own, gradients);
    }
    if (!is_last_) return;
    run(kernels.copy(gradients));  // read for its norm, and for what is no number
    const DdpCosts& costs = job_.options().costs;
    const EventId there = plan_.overlaps ? streams_.record_on(reductions_, OperationKind::pack)
                                         : streams_.record_on_compute(OperationKind::pack);
    writer_.hold_host(there, (costs.event_latency + costs.launch_latency) * (own - 1));
    writer_.hold_for_host();
    const Bytes single = owned(plan_.planned[bucket].single);
    run(kernels.cast(gradients, single));
    copy(own, single);
  }

  void copy(std::int64_t tensors, Bytes bytes) {
    const Duration copies = offload_.copies(tensors, bytes);
    if (plan_.overlaps)
      streams_.work_on(reductions_, OperationKind::host_copy, copies);
    else
      streams_.compute(OperationKind::host_copy, copies);
  }

  void run(Duration kernel) {
    if (plan_.overlaps)
      streams_.work_on(reductions_, OperationKind::pack, kernel);
    else
      writer_.pack(kernel);
  }

  void wait_for_the_last() {
    for (const Launched& launched : std::exchange(reducing_, {})) writer_.wait_for(launched);
    if (owned_is_there_)
      streams_.hold_compute(OperationKind::pack, *std::exchange(owned_is_there_, std::nullopt),
                            Duration());
  }

  void step() {
    for (const StepCollective* read : {plan_.overflow ? &*plan_.overflow : nullptr, &plan_.norm}) {
      if (read == nullptr) continue;
      writer_.wait_for(
          writer_.launch({}, *read, {streams_.record_on_compute(OperationKind::backward)}));
      writer_.read_on_host();
    }
    if (scheme_.offload.optimizer) {  // unscaled, stepped, cast
      writer_.optimizer_on_host(offload_.moves(2 * plan_.stepped) + offload_.step(plan_.stepped) +
                                offload_.moves(plan_.stepped + plan_.stepped_cast));
      streams_.compute(OperationKind::host_copy, offload_.copies(1, plan_.stepped_cast));
    } else {
      writer_.optimizer(plan_.stepped_share);
      writer_.pack(writer_.kernels().cast(plan_.stepped, plan_.stepped_cast));
    }
    writer_.wait_for(
        writer_.launch({}, plan_.gather, {streams_.record_on_compute(OperationKind::optimizer)}));
  }

  Bytes all_gradients() const {
    Bytes all;
    for (const PlannedBucket& bucket : plan_.planned) all += bucket.gradients();
    return all;
  }
  /// On average.
  Bytes owned(Bytes of) const { return Bytes(of.count() / ranks_); }

  const Job& job_;
  const Zero12Plan& plan_;
  const Zero& scheme_;
  const OffloadCosts offload_;
  SchemeWriter writer_;
  RankStreams& streams_;
  const RankStreams::Beside reductions_;
  const std::int64_t ranks_;
  const std::vector<std::size_t> complete_;  ///< by bucket
  bool is_first_ = true;                     ///< of the micro-batches
  bool is_last_ = true;
  std::vector<Launched> reducing_;  ///< not yet waited for
  std::optional<EventId> owned_is_there_;
};

}  // namespace

PlannedStep schedule_zero12(const StepToPlan& step, const Zero& scheme) {
  const Zero12Plan plan = plan_zero12(step.job, scheme);
  PlannedStep planned = write_classes<Zero12Writer>(step, plan);
  planned.host_reads = true;
  return planned;
}

}  // namespace ddpsim
