// DeepSpeed's ZeRO, stage 3 (deepspeed/runtime/zero/stage3.py, partition_parameters.py, 0.19): parameters, gradients and
// optimizer are sharded, each parameter by itself. When what is gathered and freed: zero3_modules.hpp.
//
//   compute     forward of a module, when it is gathered | … | backward | norm | optimizer, on the shard, cast back
//   all-gathers of several parameters: shards copied together in front, whole parameters copied apart behind; with
//               overlap_comm (here the default) on a stream beside compute, else on compute's
//   reduction   gradients copied into the bucket as they are written; the one that no longer fits has it reduced: copied
//               shard by shard, divided, reduce-scattered, copied or added to what the optimizer reads; on a stream beside
//               compute with overlap_comm, else on compute's
//   host        a hook per gradient, one in front of each module and one behind it; waits for the oldest of more than two
//               all-gathers, or reductions, that it has waited for or sent; for all reductions at the end of backward; and
//               reads the norm before the optimizer
//
// Every gradient is reduce-scattered, in each micro-batch, those of parameters that persist, too; what persists is gathered
// behind the optimizer, parameter by parameter, frozen ones among them. All-gathers and reduce-scatters share a communicator, in the order issued.
// With offload_param a parameter's part is copied from the host before it is gathered, and the host waits for that. With
// offload_optimizer reduced parts go to the host, and back to be added to and to be cast; in the last micro-batch they go there in
// fp32, where the host unscales and steps. What it stepped is cast there, and copied to the GPU where parameters are.
// ZeRO++: with zero_hpz_partition_size backward gathers within the group; quantised weights are gathered as 8 bits an element,
// quantised gradients sent as 4 bits (in an all-to-all of as many bytes), scales not counted.
// Recorded with DeepSpeed 0.19.8 on 2 and 4 ranks, but for ZeRO++.

#include <fmt/format.h>

#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "gradient_buckets.hpp"
#include "offload_costs.hpp"
#include "process_groups.hpp"
#include "schedules.hpp"
#include "scheme_writer.hpp"
#include "unit_sizes.hpp"
#include "zero3_modules.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kMostOngoing = 2;  ///< events the host lets be on their way

/// What is gathered, and reduced, of a parameter: padded to a multiple of the ranks.
class Zero3Sizes {
 public:
  Zero3Sizes(const Job& job, const Zero& scheme)
      : workload_(job.workload()), scheme_(scheme), ranks_(job.cluster().ranks()) {}

  std::int64_t ranks() const { return ranks_; }
  std::int64_t padded(std::size_t parameter) const {
    return padded_to(ranks_, elements_of(workload_.parameters[parameter]));
  }
  Bytes computed(std::size_t parameter) const {
    return Bytes(padded(parameter) * element_size(dtype(parameter)));
  }
  Bytes gathered(std::size_t parameter) const {
    return scheme_.zero_quantized_weights ? Bytes(padded(parameter)) : computed(parameter);
  }
  Bytes reduced(std::size_t parameter) const {
    if (scheme_.zero_quantized_gradients) return Bytes((padded(parameter) + 1) / 2);
    return Bytes(padded(parameter) *
                 element_size(scheme_.communication_data_type.value_or(dtype(parameter))));
  }
  Bytes gradient(std::size_t parameter) const {
    return Bytes(elements_of(workload_.parameters[parameter]) * element_size(dtype(parameter)));
  }
  Bytes shard(Bytes of) const { return Bytes(of.count() / ranks_); }

 private:
  Dtype dtype(std::size_t parameter) const {
    return scheme_.param_dtype.value_or(workload_.parameters[parameter].dtype);
  }

  const Workload& workload_;
  const Zero& scheme_;
  const std::int64_t ranks_;
};

struct Zero3Bucket {
  Bytes computed;
  Bytes single;  ///< of a rank's parts, in fp32
  StepCollective reduce;
};

struct Zero3Plan {
  const Zero& scheme;
  Zero3Sizes sizes;
  bool overlaps;
  ProcessGroups all;
  ProcessGroups secondary;  ///< of hpZ
  std::vector<Unit> modules;
  GradientBuckets buckets;
  std::vector<Zero3Bucket> planned;
  StepCollective norm;
  std::vector<StepCollective> persistent;
  Bytes stepped;
  Bytes stepped_cast;
  double stepped_share = 1;
};

Zero3Plan plan_zero3(const Job& job, const Zero& scheme) {
  const Workload& workload = job.workload();
  const int ranks = job.cluster().ranks();
  Zero3Plan plan{
      .scheme = scheme,
      .sizes = Zero3Sizes(job, scheme),
      .overlaps = scheme.overlap_comm.value_or(true),
      .all = ProcessGroups(job, ranks),
      .secondary = ProcessGroups(job, scheme.zero_hpz_partition_size.value_or(ranks)),
      .modules = zero3_modules(workload, scheme.wrap),
      .buckets = buckets_up_to(scheme.reduce_bucket_size, workload, zero3_order(workload)),
      .planned = {},
      .norm = {},
      .persistent = {}};
  for (const std::vector<std::size_t>& bucket : plan.buckets) {
    Zero3Bucket& planned = plan.planned.emplace_back();
    Bytes reduced;
    for (const std::size_t parameter : bucket) {
      planned.computed += plan.sizes.computed(parameter);
      planned.single += Bytes(plan.sizes.padded(parameter) / ranks * element_size(Dtype::float32));
      reduced += plan.sizes.reduced(parameter);
    }
    planned.reduce = named(plan.all.within(CollectiveKind::reduce_scatter, reduced),
                           fmt::format("bucket {}", plan.planned.size() - 1), StepPhase::backward);
  }
  plan.norm = named(plan.all.within(CollectiveKind::all_reduce, Bytes(8)), "gradient norm",
                    StepPhase::optimizer);
  std::int64_t elements = 0;
  std::int64_t stepped = 0;
  for (const std::size_t parameter : parameters_as_defined(workload)) {
    elements += elements_of(workload.parameters[parameter]);
    stepped += plan.sizes.padded(parameter) / ranks;
    plan.stepped_cast += plan.sizes.shard(plan.sizes.computed(parameter));
  }
  const std::vector<bool> written = gradients_written(workload);
  for (std::size_t p = 0; p < workload.parameters.size(); ++p) {
    const Parameter& of = workload.parameters[p];
    if (of.ignored || !(written[p] || of.frozen) || !persists(of, scheme)) continue;
    plan.persistent.push_back(
        named(plan.all.within(CollectiveKind::all_gather, plan.sizes.computed(p)), of.name,
              StepPhase::optimizer));
  }
  plan.stepped = Bytes(stepped * element_size(Dtype::float32));
  plan.stepped_share = share_of(Bytes(stepped), Bytes(elements));
  return plan;
}

class Zero3Writer {
 public:
  Zero3Writer(const Job& job, const Zero3Plan& plan, StepCollectives& collectives,
              const StepKind& kind, const RankClass& rank_class, const Recording& recording)
      : job_(job),
        plan_(plan),
        offload_(job, plan.scheme.offload),
        writer_(job, collectives, kind, rank_class, recording),
        streams_(writer_.streams()),
        gathers_(streams_.open()),
        reductions_(streams_.open()),
        complete_(complete_after(plan.buckets, recording)),
        in_forward_(forward_hooks(plan.modules, spans_of(plan.modules, recording))),
        in_backward_(backward_hooks(plan.modules, spans_of(plan.modules, recording))),
        coordinator_(job.workload(), plan.scheme, plan.modules, entered(in_forward_),
                     entered(in_backward_)),
        gathered_by_(job.workload().parameters.size()) {}

  RankStep write() {
    if (plan_.overlaps)  // what was stepped is there
      streams_.hold_on(gathers_, OperationKind::pack, writer_.begun());
    for (batch_ = 0; batch_ < writer_.micro_batches(); ++batch_) {
      writer_.begin_batch(false);  // gradients are added where they are reduced to
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
    for (const UnitHook& hook : in_forward_) {
      writer_.forward_to(hook.forward);
      called(hook);
    }
    writer_.forward_to(1);
  }

  void backward() {
    phase_ = StepPhase::backward;
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
    for (const Launched& reduced : std::exchange(reduced_, {})) writer_.wait_for(reduced);
    if (shard_is_there_)
      streams_.hold_compute(OperationKind::pack, *std::exchange(shard_is_there_, std::nullopt),
                            Duration());
    reducing_.clear();
    writer_.read_on_host();
  }

  void called(const UnitHook& hook) {
    writer_.call_hook(job_.options().costs.host_module_hook);
    if (hook.when == UnitHook::When::after) return coordinator_.release(hook.unit);
    coordinator_.fetch(
        hook.unit,
        [&](const std::vector<std::size_t>& parameters) { gather(hook.unit, parameters); },
        [&](std::size_t parameter) { wait_for(parameter); });
  }

  /// Backward goes on until so many gradients are there.
  void gradients_until(std::size_t end) {
    for (; written_ < end; ++written_) {
      writer_.backward_to(written_);
      const std::size_t parameter = writer_.recording().gradient(written_).parameter;
      if (job_.workload().parameters[parameter].ignored) continue;
      writer_.call_hook(job_.options().costs.host_python_hook);
      while (next_bucket_ < complete_.size() && complete_[next_bucket_] <= written_)
        reduce(next_bucket_++);
      const EventId written = streams_.record_on_compute(OperationKind::backward);
      if (plan_.overlaps) streams_.hold_on(reductions_, OperationKind::pack, written);
      run(reductions_, writer_.kernels().copy(plan_.sizes.gradient(parameter)));
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
    if (plan_.overlaps)
      streams_.hold_on(gathers_, OperationKind::pack,
                       streams_.record_on_host(OperationKind::launch));
    const auto shard = [&](Bytes of) { return Bytes(of.count() / group.ranks()); };
    if (plan_.scheme.offload.parameters && !again) {
      writer_.launch_copies(parameters.size());
      copy(gathers_, static_cast<std::int64_t>(parameters.size()), shard(gather.computed));
      writer_.hold_host(recorded_on(gathers_));
      writer_.hold_for_host();
    }
    if (!gather.is_apart)
      run(gathers_, writer_.kernels().cast(shard(gather.computed), shard(gather.gathered)));
    gather.launched = writer_.launch(
        {},
        named(group.within(CollectiveKind::all_gather, gather.gathered), name_of(module), phase_),
        {recorded_on(gathers_)});
    gathers_in_flight_.push_back(gather);
  }
  std::string name_of(std::size_t module) const { return plan_.modules[module].name(); }

  void wait_for(std::size_t parameter) {
    if (plan_.overlaps) hold_host_for_the_oldest(fetched_);
    Gather& gather = gathers_in_flight_[gathered_by_[parameter]];
    if (!std::exchange(gather.is_waited_for, true)) {
      if (plan_.overlaps) streams_.hold_on(gathers_, OperationKind::pack, gather.launched.done);
      writer_.wait_for(gather.launched);
      if (!gather.is_apart) run(gathers_, writer_.kernels().cast(gather.gathered, gather.computed));
      if (plan_.overlaps && !gather.is_apart)
        streams_.hold_compute(OperationKind::pack,
                              streams_.record_on(gathers_, OperationKind::pack), Duration());
    }
    if (plan_.overlaps) fetched_.push_back(streams_.record_on(gathers_, OperationKind::pack));
  }

  void hold_host_for_the_oldest(std::deque<EventId>& events) {
    if (events.size() <= kMostOngoing) return;
    streams_.hold_host(OperationKind::launch, events.front());
    events.pop_front();
  }

  void reduce(std::size_t bucket) {
    const Zero3Bucket& planned = plan_.planned[bucket];
    const KernelCosts& kernels = writer_.kernels();
    if (plan_.overlaps) {
      hold_host_for_the_oldest(reducing_);
      streams_.hold_on(reductions_, OperationKind::pack,
                       streams_.record_on_host(OperationKind::launch));
    }
    const Bytes sent = planned.reduce.scheduled.size;
    run(reductions_, kernels.cast(planned.computed, sent));
    run(reductions_, kernels.copy(sent));  // divided
    const Launched launched = writer_.launch({}, planned.reduce, {recorded_on(reductions_)});
    if (plan_.overlaps) {
      streams_.hold_on(reductions_, OperationKind::pack, launched.done);
      reduced_.push_back(launched);
    } else {
      writer_.wait_for(launched);
    }
    const Bytes shard = plan_.sizes.shard(planned.computed);
    const Duration put = kernels.cast(plan_.sizes.shard(sent), shard);
    if (plan_.scheme.offload.optimizer)
      copy_to_host(bucket, shard, put);
    else
      run(reductions_, batch_ > 0 ? kernels.accumulate(shard) : put);
    if (!plan_.overlaps) return;
    shard_is_there_ = streams_.record_on(reductions_, OperationKind::pack);
    reducing_.push_back(*shard_is_there_);
  }

  void copy_to_host(std::size_t bucket, Bytes shard, Duration put) {
    const auto tensors = static_cast<std::int64_t>(plan_.buckets[bucket].size());
    const bool is_last = batch_ + 1 == writer_.micro_batches();
    writer_.launch_copies(plan_.buckets[bucket].size());
    if (batch_ > 0) {
      copy(reductions_, tensors, shard);  // what the micro-batches before left
      run(reductions_, writer_.kernels().accumulate(shard));
      copy(reductions_, tensors, shard);
    } else {
      run(reductions_, put);
      copy(reductions_, tensors, shard);
      copy(reductions_, tensors, shard);  // and back, to be read on the GPU
    }
    if (!is_last) return;
    const Bytes single = plan_.planned[bucket].single;
    run(reductions_, writer_.kernels().copy(shard));  // read for its norm
    run(reductions_, writer_.kernels().cast(shard, single));
    copy(reductions_, tensors, single);
  }

  void copy(RankStreams::Beside stream, std::int64_t tensors, Bytes bytes) {
    const Duration copies = offload_.copies(tensors, bytes);
    if (plan_.overlaps)
      streams_.work_on(stream, OperationKind::host_copy, copies);
    else
      streams_.compute(OperationKind::host_copy, copies);
  }

  void run(RankStreams::Beside stream, Duration kernel) {
    if (plan_.overlaps)
      streams_.work_on(stream, OperationKind::pack, kernel);
    else
      writer_.pack(kernel);
  }
  EventId recorded_on(RankStreams::Beside stream) {
    return plan_.overlaps ? streams_.record_on(stream, OperationKind::pack)
                          : streams_.record_on_compute(OperationKind::pack);
  }

  void step() {
    const auto launch_and_wait = [&](const StepCollective& collective, OperationKind behind) {
      writer_.wait_for(writer_.launch({}, collective, {streams_.record_on_compute(behind)}));
    };
    launch_and_wait(plan_.norm, OperationKind::backward);
    writer_.read_on_host();
    if (plan_.scheme.offload.optimizer) {  // unscaled, stepped, cast
      writer_.optimizer_on_host(offload_.moves(2 * plan_.stepped) + offload_.step(plan_.stepped) +
                                offload_.moves(plan_.stepped + plan_.stepped_cast));
      if (!plan_.scheme.offload.parameters)
        streams_.compute(OperationKind::host_copy, offload_.copies(1, plan_.stepped_cast));
    } else {
      writer_.optimizer(plan_.stepped_share);
      writer_.pack(writer_.kernels().cast(plan_.stepped, plan_.stepped_cast));
      if (plan_.scheme.offload.parameters)
        streams_.compute(OperationKind::host_copy, offload_.copies(1, plan_.stepped_cast));
    }
    for (const StepCollective& parameter : plan_.persistent)
      launch_and_wait(parameter, OperationKind::optimizer);
  }

  const Job& job_;
  const Zero3Plan& plan_;
  const OffloadCosts offload_;
  SchemeWriter writer_;
  RankStreams& streams_;
  const RankStreams::Beside gathers_;
  const RankStreams::Beside reductions_;
  const std::vector<std::size_t> complete_;  ///< by bucket
  const std::vector<UnitHook> in_forward_;
  const std::vector<UnitHook> in_backward_;
  Zero3Coordinator coordinator_;
  std::vector<Gather> gathers_in_flight_;
  std::vector<std::size_t> gathered_by_;  ///< by parameter: into those
  std::deque<EventId> fetched_;           ///< the host has not seen them over
  std::deque<EventId> reducing_;          ///< nor these
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
