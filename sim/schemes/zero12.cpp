// DeepSpeed's ZeRO, stages 1 and 2 (deepspeed/runtime/zero/stage_1_and_2.py, 0.19). Parameters are
// whole on every rank. All parameters are laid end to end and each rank owns a part. The
// optimizer's state of that part, and in stage 2 its gradients, exist only on the owner.
//
// The compute stream runs:
// - forward
// - backward, with each gradient copied into the bucket
// - with 16 bits, a search for infinities in the rank's gradients, then their norm in 64 bits
// - the rank's gradients laid end to end, and their cast to fp32
// - the optimizer on the rank's part, and the cast back
//
// Reductions run on compute's stream, or with overlap_comm on a side stream: division, copy,
// all-reduce, and copying out the rank's part. Two buckets take turns: compute fills the next one
// after the one before has been reduced.
//
// The host runs a hook per gradient. It reads the norm before the optimizer, and whether 16 bits
// overflowed. With overlap_comm it waits for the GPU at the end of backward.
//
// The gradient that no longer fits triggers a bucket's reduction; the last bucket is reduced after
// backward. Owners' parts begin anywhere in a bucket. So gradients are all-reduced to all owners at
// once (use_multi_rank_bucket_allreduce, the default) and not reduce-scattered: as many bytes as in
// DDP. A gradient larger than the bucket is reduced in place. It is cut where its owner changes,
// once the piece is larger than the bucket.
//
// Stage 1 without overlap_comm reduces nothing in its hooks: it begins after backward, in the order
// of definition.
// Stage 1 reduces in the last micro-batch, stage 2 in each.
//
// With offload_optimizer, the rank's part of a bucket goes to the host after its reduction. In the
// last micro-batch it goes in fp32. The host first reads whether each gradient overflowed and then
// copies it, so nothing overlaps the reduction. Other micro-batches copy the host's sum to the GPU,
// add to it and copy it back. The host unscales, steps and casts. The rank's part is copied to the
// GPU before the all-gather.
//
// After the optimizer, one all-gather collects all parameters, padded to twice the ranks.
// allgather_bucket_size counts only if PyTorch has no all_gather_into_tensor. Recorded with
// DeepSpeed 0.19.8 on 2 and 4 ranks.

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
        host_(host_times(job, plan.scheme, plan.tensors)),
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
      backward(reduces && (every || plan_.overlaps));
      if (reduces && !every && !plan_.overlaps) reduce_all();
      if (every && batch > 0 && !scheme_.offload.optimizer)
        writer_.pack(writer_.kernels().accumulate(owned(all_gradients())));
    }
    step();
    return writer_.finish();
  }

 private:
  using Launched = SchemeWriter::Launched;

  void backward(bool reduces) {
    std::size_t next = 0;
    for (std::size_t k = 0; k < writer_.recording().gradients(); ++k) {
      writer_.backward_to(k);
      const std::size_t parameter = writer_.recording().gradient(k).parameter;
      if (job_.workload().parameters[parameter].ignored) continue;
      writer_.call_hook(host_.hook);
      if (!reduces) continue;
      while (next < complete_.size() && complete_[next] <= k) reduce(next++);
      copy_in(parameter);
    }
    writer_.end_backward();
    if (!reduces) return;
    while (next < complete_.size()) reduce(next++);
    if (!plan_.overlaps) return;
    wait_for_the_last();
    writer_.read_on_host();
  }

  void reduce_all() {
    for (std::size_t bucket = 0; bucket < plan_.buckets.size(); ++bucket) {
      for (const std::size_t parameter : plan_.buckets[bucket]) copy_in(parameter);
      reduce(bucket);
    }
  }

  void copy_in(std::size_t parameter) {
    const Parameter& of = job_.workload().parameters[parameter];
    writer_.call_hook(host_.gradient);
    if (scheme_.stage == 2) writer_.call_hook(host_.partitioned);
    if (elements_of(of) > scheme_.reduce_bucket_size) return;
    writer_.pack(writer_.kernels().copy(
        Bytes(elements_of(of) * element_size(scheme_.param_dtype.value_or(of.dtype)))));
  }

  void reduce(std::size_t bucket) {
    const PlannedBucket& planned = plan_.planned[bucket];
    const KernelCosts& kernels = writer_.kernels();
    writer_.call_hook(host_.bucket);
    if (plan_.overlaps) {
      wait_for_the_last();
      reductions_.wait_for(streams_.record_on_compute(OperationKind::backward));
      reductions_.wait_for_host();
    }
    reductions_.run(kernels.copy(planned.gradients()));  // divide
    for (const PlannedReduction& reduction : planned.reductions) {
      const Bytes sent = reduction.all_reduce.scheduled.size;
      reductions_.run(kernels.cast(reduction.gradients, sent));  // copy together
      const EventId ready = reductions_.record();
      reductions_.go_on_behind(writer_.launch({}, reduction.all_reduce, {ready}), reducing_);
      reductions_.run(kernels.cast(owned(sent), owned(reduction.gradients)));
    }
    if (scheme_.offload.optimizer)
      copy_to_host(bucket);
    else
      reductions_.run(kernels.copy(owned(planned.gradients())));  // for the optimizer
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
        copy(own, gradients);  // sum of earlier micro-batches
        reductions_.run(kernels.accumulate(gradients));
      }
      copy(own, gradients);
    }
    if (!is_last_) return;
    // Read for its norm, and for infinities and NaNs.
    reductions_.run(kernels.copy(gradients));
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
    const bool on_host = scheme_.offload.optimizer;
    if (plan_.overflow) {
      if (!on_host) check_owned(plan_.owned, host_.own_checked, writer_);
      agree_on(*plan_.overflow);
    }
    if (!on_host) read_norm_of_owned(plan_.owned, writer_);
    agree_on(plan_.norm);
    writer_.call_hook(host_.step + host_.own_stepped * plan_.owned.tensors +
                      host_.stepped * plan_.tensors);
    step_owned(plan_.owned, on_host, on_host, offload_, writer_);
    writer_.launch_and_wait(plan_.gather, OperationKind::optimizer);
  }

  void agree_on(const StepCollective& number) {
    writer_.launch_and_wait(number, OperationKind::backward);
    writer_.read_on_host();
  }

  Bytes all_gradients() const {
    Bytes all;
    for (const PlannedBucket& bucket : plan_.planned) all += bucket.gradients();
    return all;
  }
  /// Part owned by a rank, on average.
  Bytes owned(Bytes of) const { return Bytes(of.count() / ranks_); }

  const Job& job_;
  const Zero12Plan& plan_;
  const Zero& scheme_;
  const ZeroHost host_;
  const OffloadCosts offload_;
  SchemeWriter writer_;
  RankStreams& streams_;
  ZeroStream reductions_;
  const std::int64_t ranks_;
  const std::vector<std::size_t> complete_;  ///< by bucket
  bool is_first_ = true;                     ///< micro-batch
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
