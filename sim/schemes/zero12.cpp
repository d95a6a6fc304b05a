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

#include <optional>
#include <utility>
#include <vector>

#include "schedules.hpp"
#include "unit_sizes.hpp"
#include "zero12_plan.hpp"

namespace ddpsim {
namespace {

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
        reductions_(writer_, plan.overlaps),
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
      reductions_.wait_for(streams_.record_on_compute(OperationKind::backward));
      reductions_.wait_for_host();
    }
    reductions_.run(kernels.copy(planned.gradients()));  // divided
    for (const PlannedReduction& reduction : planned.reductions) {
      const Bytes sent = reduction.all_reduce.scheduled.size;
      reductions_.run(kernels.cast(reduction.gradients, sent));  // put together
      const EventId ready = reductions_.record();
      reductions_.go_on_behind(writer_.launch({}, reduction.all_reduce, {ready}), reducing_);
      reductions_.run(kernels.cast(owned(sent), owned(reduction.gradients)));
    }
    if (scheme_.offload.optimizer)
      copy_to_host(bucket);
    else
      reductions_.run(kernels.copy(owned(planned.gradients())));  // to where the optimizer reads it
    if (plan_.overlaps) owned_is_there_ = reductions_.record();
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
        reductions_.run(kernels.accumulate(gradients));
      }
      copy(own, gradients);
    }
    if (!is_last_) return;
    reductions_.run(kernels.copy(gradients));  // read for its norm, and for what is no number
    const DdpCosts& costs = job_.options().costs;
    const EventId there = reductions_.record();
    writer_.hold_host(there, (costs.event_latency + costs.launch_latency) * (own - 1));
    writer_.hold_for_host();
    const Bytes single = owned(plan_.planned[bucket].single);
    reductions_.run(kernels.cast(gradients, single));
    copy(own, single);
  }

  void copy(std::int64_t tensors, Bytes bytes) {
    reductions_.copy(offload_.copies(tensors, bytes));
  }
  void wait_for_the_last() {
    writer_.wait_for_all(reducing_);
    if (owned_is_there_)
      streams_.hold_compute(OperationKind::pack, *std::exchange(owned_is_there_, std::nullopt),
                            Duration());
  }

  void step() {
    for (const StepCollective* read : {plan_.overflow ? &*plan_.overflow : nullptr, &plan_.norm}) {
      if (read == nullptr) continue;
      writer_.launch_and_wait(*read, OperationKind::backward);
      writer_.read_on_host();
    }
    const bool on_host = scheme_.offload.optimizer;
    step_owned(plan_.owned, on_host, on_host, offload_, writer_);
    writer_.launch_and_wait(plan_.gather, OperationKind::optimizer);
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
  ZeroStream reductions_;
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
