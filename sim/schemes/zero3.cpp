// DeepSpeed's ZeRO, stage 3 (deepspeed/runtime/zero/stage3.py, partition_parameters.py, 0.19).
// Parameters, gradients and optimizer are sharded, each parameter by itself. zero3_modules.hpp says
// when parameters are gathered and freed.
//
// The compute stream runs each module's forward when it is gathered, backward, the norm, the
// optimizer on the rank's shard, and the cast back.
//
// An all-gather collects several parameters. Shards are copied together before it, and whole
// parameters are copied apart after it. With overlap_comm (the default here) it runs on a side
// stream, otherwise on compute's.
//
// Gradients are copied into the bucket as they are written. The gradient that no longer fits
// triggers the reduction. The bucket is copied shard by shard, divided, reduce-scattered, and
// copied or added to what the optimizer reads. With overlap_comm this runs on a side stream,
// otherwise on compute's.
//
// The host runs a hook per gradient, one before each module and one after it. If more than two
// all-gathers that it waited for, or more than two reductions, are unfinished, it waits for the
// oldest. It waits for all reductions at the end of backward, and reads the norm before the
// optimizer.
//
// Every gradient is reduce-scattered in each micro-batch, including those of persistent parameters.
// Persistent parameters, including frozen ones, are gathered one by one after the optimizer.
// All-gathers and reduce-scatters share a communicator, in the order issued.
//
// With offload_param, a parameter's part is copied from the host before it is gathered, and the
// host waits for that.
//
// With offload_optimizer, reduced parts go to the host. They come back to be added to and to be
// cast. In the last micro-batch they go there in fp32, and the host unscales, steps and casts. The
// result is copied to the GPU if parameters are there.
//
// ZeRO++: with zero_hpz_partition_size, backward gathers within the group. Quantised weights are
// gathered with 8 bits an element. Quantised gradients are sent with 4 bits, in an all-to-all of as
// many bytes. Scales are not counted.
//
// Recorded with DeepSpeed 0.19.8 on 2 and 4 ranks, except ZeRO++.

#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "schedules.hpp"
#include "zero3_modules.hpp"
#include "zero3_plan.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kMostOngoing = 2;  ///< events the host leaves unfinished

class Zero3Writer {
 public:
  Zero3Writer(const Job& job, const Zero3Plan& plan, StepCollectives& collectives,
              const StepKind& kind, const RankClass& rank_class, const Recording& recording)
      : job_(job),
        plan_(plan),
        host_(host_times(job, plan.scheme, plan.owned.tensors)),
        offload_(job, plan.scheme.offload),
        writer_(job, collectives, kind, rank_class, recording),
        streams_(writer_.streams()),
        gathers_(writer_, plan.overlaps),
        reductions_(writer_, plan.overlaps),
        complete_(complete_after(plan.buckets, recording)),
        in_forward_(forward_hooks(plan.modules, spans_of(plan.modules, recording))),
        in_backward_(backward_hooks(plan.modules, spans_of(plan.modules, recording))),
        coordinator_(job.workload(), plan.scheme, plan.modules, entered(in_forward_),
                     entered(in_backward_)),
        gathered_by_(job.workload().parameters.size()) {}

  RankStep write() {
    gathers_.wait_for(writer_.begun());  // parameters were stepped before that
    for (batch_ = 0; batch_ < writer_.micro_batches(); ++batch_) {
      writer_.begin_batch(false);  // gradients are added when reduced
      coordinator_.begin();
      forward();
      backward();
    }
    step();
    return writer_.finish();
  }

 private:
  using Launched = SchemeWriter::Launched;

  static std::vector<std::size_t> entered(const std::vector<UnitHook>& hooks) {
    std::vector<std::size_t> modules;
    for (const UnitHook& hook : hooks)
      if (hook.when == UnitHook::When::before) modules.push_back(hook.unit);
    return modules;
  }

  void forward() {
    phase_ = StepPhase::forward;
    writer_.call_hook(host_.pass);
    for (const UnitHook& hook : in_forward_) {
      writer_.forward_to(hook.forward);
      called(hook);
    }
    writer_.forward_to(1);
  }

  void backward() {
    phase_ = StepPhase::backward;
    writer_.call_hook(host_.pass);
    for (const UnitHook& hook : in_backward_) {
      const bool written = hook.share >= 1;
      gradients_until(written ? hook.gradient + 1 : hook.gradient);
      if (!written) writer_.backward_to(hook);
      called(hook);
    }
    gradients_until(writer_.recording().gradients());
    writer_.end_backward();
    while (next_bucket_ < complete_.size()) reduce(next_bucket_++);
    written_ = 0;
    next_bucket_ = 0;
    writer_.wait_for_all(reduced_);
    if (shard_is_there_)
      streams_.hold_compute(OperationKind::pack, *std::exchange(shard_is_there_, std::nullopt),
                            Duration());
    reducing_.clear();
    writer_.read_on_host();
  }

  void called(const UnitHook& hook) {
    const bool is_forward = phase_ == StepPhase::forward;
    // Half of it before the module, half of it after.
    writer_.call_hook((is_forward ? host_.module_forward : host_.module_backward).scaled(0.5));
    if (hook.when == UnitHook::When::after) {
      writer_.call_hook(host_.freed * coordinator_.release(hook.unit));
      return;
    }
    if (is_forward)
      writer_.call_hook(host_.used *
                        static_cast<std::int64_t>(plan_.modules[hook.unit].parameters.size()));
    coordinator_.fetch(
        hook.unit,
        [&](const std::vector<std::size_t>& parameters) { gather(hook.unit, parameters); },
        [&](std::size_t parameter) { wait_for(parameter); });
  }

  /// Runs backward until that many gradients exist.
  void gradients_until(std::size_t end) {
    for (; written_ < end; ++written_) {
      writer_.backward_to(written_);
      const std::size_t parameter = writer_.recording().gradient(written_).parameter;
      if (job_.workload().parameters[parameter].ignored) continue;
      writer_.call_hook(host_.written);
      while (next_bucket_ < complete_.size() && complete_[next_bucket_] <= written_)
        reduce(next_bucket_++);
      reductions_.wait_for(streams_.record_on_compute(OperationKind::backward));
      reductions_.run(writer_.kernels().copy(plan_.sizes.gradient(parameter)));
    }
  }

  struct Gather {
    Launched launched;
    Bytes computed;
    Bytes gathered;
    bool is_apart = false;  ///< copied, or a single parameter
    bool is_waited_for = false;
    std::optional<EventId> apart;
  };

  void gather(std::size_t module, const std::vector<std::size_t>& parameters) {
    Gather gather{.launched = {}, .computed = {}, .gathered = {}, .apart = {}};
    for (const std::size_t parameter : parameters) {
      gather.computed += plan_.sizes.computed(parameter);
      gather.gathered += plan_.sizes.gathered(parameter);
      gathered_by_[parameter] = gathers_in_flight_.size();
    }
    const bool again = phase_ == StepPhase::backward && plan_.scheme.zero_hpz_partition_size;
    const ProcessGroups& group = again ? plan_.secondary : plan_.all;
    const bool quantised = plan_.scheme.zero_quantized_weights;
    gather.is_apart = parameters.size() == 1 && !quantised;
    writer_.call_hook(host_.gather + host_.gathered * static_cast<std::int64_t>(parameters.size()));
    gathers_.wait_for_host();
    const auto shard = [&](Bytes of) { return Bytes(of.count() / group.ranks()); };
    if (plan_.scheme.offload.parameters && !again) {
      writer_.launch_copies(parameters.size());
      gathers_.copy(
          offload_.copies(static_cast<std::int64_t>(parameters.size()), shard(gather.computed)));
      writer_.hold_host(gathers_.record());
      writer_.hold_for_host();
    }
    if (!gather.is_apart)
      gathers_.run(writer_.kernels().cast(shard(gather.computed), shard(gather.gathered)));
    gather.launched = writer_.launch(
        {},
        named(group.within(CollectiveKind::all_gather, gather.gathered), name_of(module), phase_),
        {gathers_.record()});
    gathers_in_flight_.push_back(gather);
  }
  std::string name_of(std::size_t module) const { return plan_.modules[module].name(); }

  void wait_for(std::size_t parameter) {
    if (plan_.overlaps) hold_host_for_the_oldest(fetched_);
    Gather& gather = gathers_in_flight_[gathered_by_[parameter]];
    if (!std::exchange(gather.is_waited_for, true)) {
      gathers_.wait_for(gather.launched.done);
      writer_.wait_for(gather.launched);
      if (!gather.is_apart) gathers_.run(writer_.kernels().cast(gather.gathered, gather.computed));
      if (plan_.overlaps && !gather.is_apart)
        streams_.hold_compute(OperationKind::pack, gathers_.record(), Duration());
    }
    if (plan_.overlaps) fetched_.push_back(gathers_.record());
  }

  void hold_host_for_the_oldest(std::deque<EventId>& events) {
    if (events.size() <= kMostOngoing) return;
    streams_.hold_host(OperationKind::launch, events.front());
    events.pop_front();
  }

  void reduce(std::size_t bucket) {
    const Zero3Bucket& planned = plan_.planned[bucket];
    const KernelCosts& kernels = writer_.kernels();
    if (plan_.overlaps) hold_host_for_the_oldest(reducing_);
    writer_.call_hook(host_.scatter);
    reductions_.wait_for_host();
    const Bytes sent = planned.reduce.scheduled.size;
    reductions_.run(kernels.cast(planned.computed, sent));
    reductions_.run(kernels.copy(sent));  // divide
    const EventId ready = reductions_.record();
    reductions_.go_on_behind(writer_.launch({}, planned.reduce, {ready}), reduced_);
    const Bytes shard = plan_.sizes.shard(planned.computed);
    const Duration put = kernels.cast(plan_.sizes.shard(sent), shard);
    if (plan_.scheme.offload.optimizer)
      copy_to_host(bucket, shard, put);
    else
      reductions_.run(batch_ > 0 ? kernels.accumulate(shard) : put);
    if (!plan_.overlaps) return;
    shard_is_there_ = reductions_.record();
    reducing_.push_back(*shard_is_there_);
  }

  void copy_to_host(std::size_t bucket, Bytes shard, Duration put) {
    const auto tensors = static_cast<std::int64_t>(plan_.buckets[bucket].size());
    const bool is_last = batch_ + 1 == writer_.micro_batches();
    writer_.launch_copies(plan_.buckets[bucket].size());
    if (batch_ > 0) {
      reductions_.copy(offload_.copies(tensors, shard));  // sum of earlier micro-batches
      reductions_.run(writer_.kernels().accumulate(shard));
      reductions_.copy(offload_.copies(tensors, shard));
    } else {
      reductions_.run(put);
      reductions_.copy(offload_.copies(tensors, shard));
      reductions_.copy(offload_.copies(tensors, shard));  // back, to be read on the GPU
    }
    if (!is_last) return;
    const Bytes single = plan_.planned[bucket].single;
    reductions_.run(writer_.kernels().copy(shard));  // read for its norm
    reductions_.run(writer_.kernels().cast(shard, single));
    reductions_.copy(offload_.copies(tensors, single));
  }

  void step() {
    const CpuOffload& offload = plan_.scheme.offload;
    if (!offload.optimizer) read_norm_of_owned(plan_.owned, writer_);
    writer_.launch_and_wait(plan_.norm, OperationKind::backward);
    writer_.read_on_host();
    writer_.call_hook(host_.shard_step + host_.shard_stepped * plan_.owned.tensors);
    step_owned(plan_.owned, offload.optimizer, offload.optimizer != offload.parameters, offload_,
               writer_);
    for (const StepCollective& parameter : plan_.persistent)
      writer_.launch_and_wait(parameter, OperationKind::optimizer);
  }

  const Job& job_;
  const Zero3Plan& plan_;
  const ZeroHost host_;
  const OffloadCosts offload_;
  SchemeWriter writer_;
  RankStreams& streams_;
  ZeroStream gathers_;
  ZeroStream reductions_;
  const std::vector<std::size_t> complete_;  ///< by bucket
  const std::vector<UnitHook> in_forward_;
  const std::vector<UnitHook> in_backward_;
  Zero3Coordinator coordinator_;
  std::vector<Gather> gathers_in_flight_;
  std::vector<std::size_t> gathered_by_;  ///< by parameter: index into gathers_in_flight_
  std::deque<EventId> fetched_;           ///< the host has not seen them end
  std::deque<EventId> reducing_;          ///< the host has not seen them end
  std::vector<Launched> reduced_;         ///< not yet waited for
  std::optional<EventId> shard_is_there_;
  std::size_t written_ = 0;  ///< gradients, in this micro-batch
  std::size_t next_bucket_ = 0;
  int batch_ = 0;
  StepPhase phase_ = StepPhase::forward;
};

}  // namespace

PlannedStep schedule_zero3(const StepToPlan& step, const Zero& scheme) {
  const Zero3Plan plan = plan_zero3(step.job, scheme);
  PlannedStep planned = write_classes<Zero3Writer>(step, plan);
  planned.host_reads = true;
  return planned;
}

}  // namespace ddpsim
