// fully_shard (torch/distributed/fsdp/_fully_shard, 2.13): _fsdp_param_group.py,
// _fsdp_collectives.py.
//
// The compute stream runs:
// - for each group in forward: copy out of the all-gather's buffer, forward
// - for each group in backward: copy out, backward, copy in for the reduce-scatter after the one
//   before has ended
// - the optimizer, on the rank's shard
//
// Each all-gather follows a copy in (with its cast) on a stream of its own. In forward it is issued
// after the compute of the previous group, and its buffer is free when that group has been copied
// out. In backward it is issued one group ahead.
//
// Reduce-scatters, and all-reduces between the groups of a 2-D mesh, run on streams of their own.
//
// One communicator runs the all-gathers and reduce-scatters of all ranks in the order issued, from
// any stream. Collectives of other process groups, or all of them with separate_groups, share the
// links. The root too is gathered only once, unless it is resharded. It is reduced after backward.
// A group that only the step's input reaches is reduced after it.
//
// With CPUOffloadPolicy, a shard is copied from the host before its copy in, on the same stream.
// Its reduced gradient is copied to the host after the reduction. If there already is a gradient,
// the host waits for the copy and adds it. Otherwise the host waits for all copies after backward,
// and steps.
//
// A rank that shards with nobody (replicate, or a group of one) gathers and scatters nothing. Compute
// copies each parameter, with its cast, before the module's forward. Gradients are copied in and
// copied once more on the stream of reductions, then all-reduced between the ranks.
//
// Frozen parameters are gathered with their group but not reduced. A frozen group that backward
// does not reach is still gathered again if it comes just ahead of a group that backward reaches:
// _backward_prefetch looks only at the order of forward. Compute waits for it after backward.

#include <algorithm>
#include <optional>
#include <utility>

#include "fsdp2_plan.hpp"
#include "offload_costs.hpp"
#include "schedules.hpp"
#include "scheme_writer.hpp"
#include "shared_communicator.hpp"

namespace ddpsim {
namespace {

class Fsdp2Writer {
 public:
  Fsdp2Writer(const Job& job, const Fsdp2Plan& plan, StepCollectives& collectives,
              const StepKind& kind, const RankClass& rank_class, const Recording& recording)
      : plan_(plan),
        scheme_(plan.scheme),
        offload_(job, plan.scheme.offload),
        writer_(job, collectives, kind, rank_class, recording),
        streams_(writer_.streams()),
        copies_in_(streams_.open()),
        gathers_(scheme_.separate_groups ? streams_.open() : RankStreams::SideStream()),
        gathers_again_(scheme_.reshard_to ? streams_.open() : gathers_),
        between_(streams_.open()),
        reductions_(streams_.open()),
        hook_(job.options().costs.host_unit_hook),
        spans_(spans_of(plan.units, recording)),
        gradients_(recording.gradients()),
        gathered_(plan.units.size()) {
    for (const UnitHook& hook : forward_hooks(plan.units, spans_))
      if (hook.when == UnitHook::When::after) left_.push_back(hook.unit);
  }

  RankStep write() {
    bool adds = false;
    for (int batch = 0; batch < writer_.micro_batches(); ++batch) {
      const bool sync = !scheme_.no_sync || batch + 1 == writer_.micro_batches();
      writer_.begin_batch(adds, scheme_.param_dtype);
      forward();
      backward(sync);
      adds = !sync;
      has_shards_ = has_shards_ || sync;
    }
    if (scheme_.offload.optimizer)
      writer_.optimizer_on_host(offload_.step(plan_.shards), offloaded_);
    else
      writer_.optimizer(plan_.stepped);
    return writer_.finish();
  }

 private:
  using Launched = SchemeWriter::Launched;
  using From = SharedCommunicator::From;

  void forward() {
    streams_.hold_on(copies_in_, OperationKind::pack,
                     streams_.record_on_compute(OperationKind::forward));
    for (const UnitHook& hook : forward_hooks(plan_.units, spans_)) {
      writer_.forward_to(hook.forward);
      if (hook.when == UnitHook::When::before) {
        writer_.call_hook(hook_);
        unshard(hook.unit);
        // The buffer of the previous group is free when that group has been copied out.
        if (copied_out_ && gathered_[hook.unit].launched)
          streams_.hold_on(copies_in_, OperationKind::pack,
                           *std::exchange(copied_out_, std::nullopt));
        if (const auto copied = wait_for(hook.unit)) copied_out_ = copied;
      } else if (plan_.planned[hook.unit].gather_again) {
        gathered_[hook.unit].is_there = false;
        if (plan_.keeps_parts()) keep_part(hook.unit);
      }
    }
    writer_.forward_to(1);
    if (copied_out_)
      streams_.hold_on(copies_in_, OperationKind::pack, *std::exchange(copied_out_, std::nullopt));
  }

  void backward(bool sync) {
    std::vector<std::size_t> at_the_end;
    for (const UnitHook& hook : backward_hooks(plan_.units, spans_)) {
      if (hook.when == UnitHook::When::before) {
        writer_.backward_to(hook);
        writer_.call_hook(hook_);
        unshard_again(hook.unit);
        if (const auto copied = wait_for(hook.unit))
          streams_.hold_on(copies_in_, OperationKind::pack, *copied);
        const auto at = std::ranges::find(left_, hook.unit);
        if (at != left_.begin()) unshard_again(*(at - 1));
        continue;
      }
      const bool is_root = plan_.units[hook.unit].module.empty();
      if (is_root || hook.gradient + 1 == gradients_) {
        at_the_end.insert(is_root ? at_the_end.begin() : at_the_end.end(), hook.unit);
        continue;
      }
      writer_.backward_to(hook);
      gathered_[hook.unit].is_there = false;
      if (sync) reduce(hook.unit);
    }
    writer_.end_backward();
    // The root's callback goes from module to module, and waits for each module's reductions before
    // the next.
    for (const std::size_t unit : at_the_end) {
      gathered_[unit].is_there = false;
      if (sync) reduce(unit);
      wait_for_shards();
    }
    for (std::size_t unit = 0; unit < gathered_.size(); ++unit) {
      if (spans_[unit].reached) continue;
      // A running all-gather serves the next forward, unless this is the last backward
      // (finalize_backward).
      if (!sync && gathered_[unit].launched) continue;
      gathered_[unit].is_there = false;
      if (auto& launched = gathered_[unit].launched)
        writer_.wait_for(*std::exchange(launched, std::nullopt));
    }
    wait_for_shards();
    reducing_.reset();
    copied_.reset();
  }

  /// Waits for reduced shards, on the host too if they go there.
  void wait_for_shards() {
    writer_.wait_for_all(reduced_);
    if (!shard_is_there_) return;
    if (scheme_.offload.optimizer) {
      offloaded_ = shard_is_there_;
      writer_.hold_host(*offloaded_);
    }
    streams_.hold_compute(OperationKind::pack, *std::exchange(shard_is_there_, std::nullopt));
  }

  /// Copies a part out of the gathered parameters, which are then freed.
  void keep_part(std::size_t unit) {
    const Bytes part = plan_.planned[unit].sizes.gathered_shard(plan_.again);
    writer_.pack(writer_.kernels().copy(part));
    gathered_[unit].kept = streams_.record_on_compute(OperationKind::pack);
  }

  void unshard(std::size_t unit) {
    if (std::exchange(gathered_[unit].is_there, true)) return;
    const Fsdp2Group& planned = plan_.planned[unit];
    if (plan_.shards_alone()) {
      gathered_[unit].own = true;
      return;
    }
    copy_from_host(unit);
    gather(unit, planned.gather, gathers_, copy_in(planned));
  }

  void copy_from_host(std::size_t unit) {
    if (!scheme_.offload.parameters) return;
    const std::size_t tensors = plan_.planned[unit].tensors;
    writer_.copy_on(
        copies_in_, tensors,
        offload_.copies(static_cast<std::int64_t>(tensors), plan_.planned[unit].sizes.stored));
  }

  /// If there is a cast, it makes a copy of its own (_get_param_all_gather_inputs).
  Duration copy_in(const Fsdp2Group& planned) const {
    const KernelCosts& kernels = writer_.kernels();
    const Bytes shard = planned.sizes.gathered_shard(plan_.ranks);
    const bool casts = planned.computed != planned.stored;
    if (casts && scheme_.offload.parameters)  // one kernel each
      return kernels.copy(shard) + kernels.kernels(static_cast<std::int64_t>(planned.tensors),
                                                   planned.sizes.stored + shard);
    return kernels.copy(shard) + (casts ? kernels.cast(planned.sizes.stored, shard) : Duration());
  }

  void unshard_again(std::size_t unit) {
    const Fsdp2Group& planned = plan_.planned[unit];
    if (!planned.gather_again || std::exchange(gathered_[unit].is_there, true)) return;
    if (plan_.shards_alone()) {
      gathered_[unit].own = true;
      return;
    }
    const auto kept = std::exchange(gathered_[unit].kept, std::nullopt);
    if (kept)
      streams_.hold_on(copies_in_, OperationKind::pack, *kept);
    else
      copy_from_host(unit);
    const UnitSizes& sizes = planned.sizes;
    const KernelCosts& kernels = writer_.kernels();
    gather(unit, *planned.gather_again, gathers_again_,
           kept ? kernels.copy(sizes.gathered_shard(plan_.again)) : copy_in(planned));
  }

  void gather(std::size_t unit, const StepCollective& gather, RankStreams::SideStream stream,
              Duration copy_in) {
    writer_.run_on(copies_in_, OperationKind::pack, copy_in);
    // If fewer ranks gather again, they use a communicator of their own.
    const bool of_fewer = scheme_.reshard_to && &gather != &plan_.planned[unit].gather;
    const bool shares = !scheme_.separate_groups && !of_fewer;
    if (shares) shared_.enter(streams_, stream, From::gathers);
    const Launched launched =
        writer_.launch(stream, gather, {streams_.record_on(copies_in_, OperationKind::pack)});
    if (shares) shared_.left(launched, From::gathers);
    gathered_[unit].launched = launched;
  }

  /// Waits for the group and copies it out, unless that was done. Returns the end of the copy.
  std::optional<EventId> wait_for(std::size_t unit) {
    if (std::exchange(gathered_[unit].own, false)) return copy_own(unit);
    auto& launched = gathered_[unit].launched;
    if (!launched) return std::nullopt;
    writer_.wait_for(*std::exchange(launched, std::nullopt));
    writer_.pack(writer_.kernels().copy(plan_.planned[unit].sizes.gathered));
    return streams_.record_on_compute(OperationKind::pack);
  }

  /// Two kernels for each parameter that is cast, else one (wait_for_unshard). Python launches them.
  /// What is on the host comes to the compute stream, so that nothing else runs there meanwhile.
  EventId copy_own(std::size_t unit) {
    const Fsdp2Group& planned = plan_.planned[unit];
    const UnitSizes& sizes = planned.sizes;
    if (scheme_.offload.parameters) {
      streams_.hold_on(copies_in_, OperationKind::host_copy,
                       streams_.record_on_compute(OperationKind::pack));
      copy_from_host(unit);
      streams_.hold_compute(OperationKind::host_copy,
                            streams_.record_on(copies_in_, OperationKind::host_copy));
    }
    const bool casts = planned.computed != planned.stored;
    const auto kernels = static_cast<std::int64_t>(planned.tensors) * (casts ? 2 : 1);
    const Bytes moved = 2 * sizes.gathered + (casts ? sizes.stored + sizes.gathered : Bytes());
    writer_.pack_each(kernels, writer_.kernels().kernels(kernels, moved));
    return streams_.record_on_compute(OperationKind::pack);
  }

  /// The compute stream waits until the input of the previous reduce-scatter is free. Work on a
  /// shard after its reduction does not hold up the communicator.
  void reduce(std::size_t unit) {
    const Fsdp2Group& planned = plan_.planned[unit];
    const KernelCosts& kernels = writer_.kernels();
    const Bytes reduced = planned.sizes.reduced;
    if (reduced == Bytes()) return;
    if (reducing_) writer_.wait_for(*reducing_);
    if (copied_) streams_.hold_compute(OperationKind::pack, *std::exchange(copied_, std::nullopt));
    writer_.pack(kernels.cast(planned.sizes.gradient, reduced));
    const EventId packed = streams_.record_on_compute(OperationKind::pack);
    const GradientDivision division = planned.reduced == Dtype::float16
                                          ? divided_in_two(plan_.all)
                                          : GradientDivision{.before = false, .after = false};
    streams_.hold_on(reductions_, OperationKind::pack, packed);
    if (division.before) writer_.run_on(reductions_, OperationKind::pack, kernels.copy(reduced));
    const EventId scattered =
        plan_.shards_alone()
            ? copy_reduced(reduced)
            : scatter(planned, streams_.record_on(reductions_, OperationKind::pack));
    RankStreams::SideStream stream = reductions_;
    if (planned.between) {
      reduced_.push_back(writer_.launch(between_, *planned.between, {scattered}));
      stream = between_;
    }
    finish_shard(stream, planned, division.after);
  }

  /// Returns the end of the reduce-scatter.
  EventId scatter(const Fsdp2Group& planned, EventId packed) {
    const RankStreams::SideStream communicator;
    if (!scheme_.separate_groups) shared_.enter(streams_, communicator, From::reductions);
    reducing_ =
        writer_.launch(communicator, planned.reduce, {packed}, RankStreams::Behind::own_stream);
    shared_.left(*reducing_, From::reductions);
    reduced_.push_back(*reducing_);
    streams_.follow_on(reductions_, OperationKind::pack, reducing_->done);
    return reducing_->done;
  }

  /// Returns the end of the copy, which stands in for a reduce-scatter within one rank.
  EventId copy_reduced(Bytes reduced) {
    writer_.run_on(reductions_, OperationKind::pack, writer_.kernels().copy(reduced));
    copied_ = streams_.record_on(reductions_, OperationKind::pack);
    if (plan_.all == 1) shard_is_there_ = copied_;
    return *copied_;
  }

  /// Divides the shard, casts it to the stored type, and adds it to an existing one.
  void finish_shard(RankStreams::SideStream stream, const Fsdp2Group& planned, bool divides) {
    const KernelCosts& kernels = writer_.kernels();
    const Bytes shard = planned.sizes.reduced_shard(plan_.ranks);
    Duration work;
    if (divides) work += kernels.copy(shard);
    if (planned.reduced != planned.stored) work += kernels.cast(shard, planned.sizes.stored);
    if (has_shards_ && !scheme_.offload.optimizer)
      for (const Bytes parameter : planned.shards) work += kernels.accumulate(parameter);
    if (work > Duration()) writer_.run_on(stream, OperationKind::pack, work);
    if (scheme_.offload.optimizer) copy_to_host(stream, planned);
    if (work > Duration() || scheme_.offload.optimizer)
      shard_is_there_ = streams_.record_on(stream, OperationKind::pack);
  }

  /// Copies parameter by parameter. If there already is a gradient, the host adds to it before the
  /// next copy.
  void copy_to_host(RankStreams::SideStream stream, const Fsdp2Group& planned) {
    for (const Bytes shard : planned.shards) {
      if (shard == Bytes()) continue;
      writer_.copy_on(stream, 1, offload_.copies(1, shard));
      if (has_shards_)
        writer_.hold_host(streams_.record_on(stream, OperationKind::host_copy),
                          offload_.moves(3 * shard));
    }
    if (has_shards_) writer_.hold_for_host();
  }

  struct Gathered {
    bool is_there = false;  ///< or on its way
    bool own = false;       ///< to be copied from this rank's parameters
    std::optional<Launched> launched;
    std::optional<EventId> kept;  ///< a part of it, after forward
  };

  const Fsdp2Plan& plan_;
  const Fsdp2& scheme_;
  const OffloadCosts offload_;
  SchemeWriter writer_;
  RankStreams& streams_;
  const RankStreams::SideStream copies_in_;
  const RankStreams::SideStream gathers_;
  const RankStreams::SideStream gathers_again_;  ///< within fewer ranks
  const RankStreams::SideStream between_;
  const RankStreams::SideStream reductions_;  ///< without their collectives
  const Duration hook_;
  const std::vector<UnitSpan> spans_;
  const std::size_t gradients_;
  std::vector<std::size_t> left_;      ///< units in the order forward leaves them
  std::vector<Gathered> gathered_;     ///< by unit
  std::optional<EventId> copied_out_;  ///< in forward, the previous group
  std::optional<Launched> reducing_;
  std::optional<EventId> copied_;  ///< instead, where ranks shard alone
  std::vector<Launched> reduced_;
  std::optional<EventId> shard_is_there_;
  std::optional<EventId> offloaded_;  ///< after the last copy to the host
  bool has_shards_ = false;           ///< reduced in an earlier micro-batch
  SharedCommunicator shared_;
};

}  // namespace

PlannedStep schedule_fsdp2(const StepToPlan& step, const Fsdp2& scheme) {
  const Fsdp2Plan plan = plan_fsdp2(step.job, scheme);
  PlannedStep planned = write_classes<Fsdp2Writer>(step, plan);
  planned.host_reads = scheme.offload.optimizer;
  return planned;
}

}  // namespace ddpsim
