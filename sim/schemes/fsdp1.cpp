// FullyShardedDataParallel (torch/distributed/fsdp/_runtime_utils.py, 2.13).
//
// The compute stream runs each unit's forward when the unit is gathered, each unit's backward when
// it is gathered again, and the optimizer on the rank's shard.
//
// The communicator runs collectives in the order the host issues them:
// - in forward, the all-gathers of the root and of each unit, before the unit's forward
// - in backward, each unit's all-gather before that of the unit before it (BACKWARD_PRE), or after
//   it (BACKWARD_POST)
// - in backward, each unit's reduce-scatter after its backward
//
// Before the host issues an all-gather, it takes the oldest unit off the list of freed units, if
// two are on it. It waits until that unit's memory is free (limit_all_gathers). The next step takes
// what a step leaves on the list. If launches are counted, the host is therefore no further ahead
// than the end of backward. A unit that is already gathered takes one too; in backward this is the
// root.
//
// Casts of a shard or a gradient, and divisions, run on streams of their own. The groups of a
// hybrid strategy all-reduce shards over a communicator of their own. The root is gathered once,
// because it is only freed after backward.
//
// With CPUOffload, a unit is copied from the host on the stream of the casts whenever it is
// requested, even if it is already gathered (pre_unshard). Its reduced gradient is copied to the
// host after the reduction (_offload_grad). After backward, the host waits for all of this and
// steps. With NO_SHARD, the copies to the host hold up the host.
//
// Frozen parameters are gathered like all others. A frozen unit is gathered again if backward
// passes it on its way to something that trains. It is freed after that
// (_register_post_backward_reshard_only_hook) and reduces nothing.
//
// In a unit that is frozen in part (only with use_orig_params), the whole flat gradient is computed
// and reduced, because it belongs to one tensor that requires a gradient. Compute time stays as
// recorded or estimated, where frozen parameters had no gradient.

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "fsdp1_plan.hpp"
#include "offload_costs.hpp"
#include "schedules.hpp"
#include "scheme_writer.hpp"
#include "shared_communicator.hpp"

namespace ddpsim {
namespace {

/// All-gathers whose memory is not free yet.
constexpr std::size_t kMostInFlight = 2;

class Fsdp1Writer {
 public:
  Fsdp1Writer(const Job& job, const Fsdp1Plan& plan, StepCollectives& collectives,
              const StepKind& kind, const RankClass& rank_class, const Recording& recording,
              std::size_t freed_before)
      : plan_(plan),
        scheme_(plan.scheme),
        offload_(job, plan.scheme.offload),
        writer_(job, collectives, kind, rank_class, recording),
        streams_(writer_.streams()),
        casts_(streams_.open()),
        reductions_(streams_.open()),
        between_(streams_.open()),
        unshards_(streams_.open()),
        hook_(job.options().costs.host_unit_hook),
        spans_(reached_through_views(job.workload(), plan.units, spans_of(plan.units, recording),
                                     recording.gradients() - 1)),
        gathered_(plan.units.size()),
        freed_(freed_before) {
    for (std::size_t i = 0; kind.freed_before && i < freed_before; ++i)
      freed_[i].before = (*kind.freed_before)[i];
    for (const UnitHook& hook : forward_hooks(plan.units, spans_))
      (hook.when == UnitHook::When::before ? entered_ : left_).push_back(hook.unit);
  }

  RankStep write() {
    for (int batch = 0; batch < writer_.micro_batches(); ++batch) {
      const bool sync = !scheme_.no_sync || batch + 1 == writer_.micro_batches();
      writer_.begin_batch(false);
      forward();
      backward(sync);
    }
    if (scheme_.offload.optimizer)
      writer_.optimizer_on_host(offload_.step(plan_.steps));
    else
      writer_.optimizer(plan_.stepped);
    RankStep step = writer_.finish();
    for (const OnceFree& free : freed_)
      step.freed.push_back({.operation = free.operation, .at = free.before.value_or(Duration())});
    return step;
  }
  /// Number of freed units that the next step may take.
  std::size_t freed() const { return freed_.size(); }

 private:
  using Launched = SchemeWriter::Launched;
  using From = SharedCommunicator::From;

  void forward() {
    phase_ = StepPhase::forward;
    // The root's hook: parameters were stepped before it.
    from_ = streams_.record_on_compute(OperationKind::forward);
    streams_.hold_on(unshards_, OperationKind::pack, from_);
    for (const UnitHook& hook : forward_hooks(plan_.units, spans_)) {
      writer_.forward_to(hook.forward);
      if (hook.when == UnitHook::When::before) {
        writer_.call_hook(hook_);
        unshard(hook.unit);
        wait_for(hook.unit);
        if (scheme_.forward_prefetch) unshard_if(next_in(entered_, hook.unit));
      } else {
        gathered_[hook.unit].is_asked_for = false;
        gathered_[hook.unit].is_due = spans_[hook.unit].reached;
        if (plan_.frees_after_forward(hook.unit)) reshard(hook.unit);
      }
    }
    writer_.forward_to(1);
  }

  void backward(bool sync) {
    phase_ = StepPhase::backward;
    std::optional<std::size_t> late;  // only under forward_prefetch
    for (const UnitHook& hook : backward_hooks(plan_.units, spans_)) {
      if (hook.when == UnitHook::When::before) {
        writer_.backward_to(hook);
        writer_.call_hook(hook_);
        unshard(hook.unit);
        wait_for(hook.unit);
        gathered_[hook.unit].is_due = false;
        if (scheme_.backward_prefetch == BackwardPrefetch::pre) prefetch_before(hook.unit);
        continue;
      }
      writer_.backward_to(hook);
      // If forward makes the views of a unit one unit early, backward comes to them one unit late,
      // because autograd runs the latest first. A frozen unit's hook is on its inputs.
      if (late) after_backward(*std::exchange(late, std::nullopt), sync);
      if (scheme_.forward_prefetch && plan_.planned[hook.unit].has_gradient)
        late = hook.unit;
      else
        after_backward(hook.unit, sync);
    }
    if (late) after_backward(*late, sync);
    writer_.end_backward();
    for (std::size_t unit = 0; unit < gathered_.size(); ++unit) {
      if (spans_[unit].reached) continue;
      gathered_[unit].is_asked_for = false;
      if (plan_.shards()) reshard(unit);
    }
    writer_.wait_for_all(reduced_);
    if (shard_is_there_)
      streams_.hold_compute(OperationKind::pack, *std::exchange(shard_is_there_, std::nullopt));
  }

  /// The flat parameter's hook. Autograd reaches a unit's views after everything that forward
  /// computed since they were made.
  void after_backward(std::size_t unit, bool sync) {
    put_together(unit);
    writer_.call_hook(hook_);
    gathered_[unit].is_asked_for = false;
    if (plan_.frees_in_backward(sync)) reshard(unit);
    if (scheme_.backward_prefetch == BackwardPrefetch::post) prefetch_before(unit);
    if (sync) reduce(unit);
  }

  /// Autograd builds the flat gradient on the compute stream, and adds it to an existing one.
  void put_together(std::size_t unit) {
    const Fsdp1Unit& planned = plan_.planned[unit];
    if (!planned.has_gradient) return;
    writer_.pack(writer_.kernels().copy(planned.sizes.gradient));
    if (std::exchange(gathered_[unit].has_gradient, true))
      writer_.accumulate(planned.sizes.gradient);
  }

  /// Prefetches the unit that forward left before this one, unless backward has already reached it.
  void prefetch_before(std::size_t unit) {
    const auto at = std::ranges::find(left_, unit);
    if (at != left_.begin() && gathered_[*(at - 1)].is_due) unshard(*(at - 1));
  }
  static std::optional<std::size_t> next_in(const std::vector<std::size_t>& order,
                                            std::size_t unit) {
    const auto at = std::ranges::find(order, unit);
    return at + 1 == order.end() ? std::nullopt : std::optional(*(at + 1));
  }
  void unshard_if(std::optional<std::size_t> unit) {
    if (unit) unshard(*unit);
  }

  void unshard(std::size_t unit) {
    if (!plan_.shards() && !scheme_.offload.parameters) return;
    if (std::exchange(gathered_[unit].is_asked_for, true)) return;
    const bool was_there = std::exchange(gathered_[unit].is_there, true);
    const EventId ready = prepare(unit, was_there);
    if (!plan_.shards()) return;
    if (scheme_.limit_all_gathers && freed_.size() >= kMostInFlight) {
      const OnceFree& oldest = freed_.front();
      if (oldest.event) streams_.hold_host(OperationKind::launch, *oldest.event);
      if (oldest.before) streams_.hold_host_for(*oldest.before);
      freed_.pop_front();
    }
    if (was_there) return;
    StepCollective gather = plan_.planned[unit].gather;
    gather.phase = phase_;
    shared_.enter(streams_, {}, From::gathers);
    gathered_[unit].launched = writer_.launch({}, gather, {ready});
    shared_.left(*gathered_[unit].launched, From::gathers);
  }
  /// Prepares the shard to be gathered, in the type of computation, before the host waits. Returns
  /// the event after which it can be gathered.
  EventId prepare(std::size_t unit, bool was_there) {
    const Fsdp1Unit& planned = plan_.planned[unit];
    const bool copies = scheme_.offload.parameters;
    const bool casts =
        plan_.shards() && planned.computed != planned.stored && (copies || !was_there);
    if (!copies && !casts) return from_;
    streams_.hold_on(casts_, OperationKind::pack, from_);
    if (copies) writer_.copy_on(casts_, 1, offload_.copies(1, planned.sizes.stored));
    if (casts)
      writer_.run_on(
          casts_, OperationKind::pack,
          writer_.kernels().cast(planned.sizes.stored, planned.sizes.gathered_shard(plan_.ranks)));
    const EventId ready = streams_.record_on(casts_, OperationKind::pack);
    if (copies) gathered_[unit].copied = ready;
    return ready;
  }
  /// Makes compute wait for the unit by an event that the host records now. If launches are
  /// counted, compute also waits for that event's launch, even if nothing is queued on the stream
  /// of all-gathers.
  void wait_for(std::size_t unit) {
    const std::optional<Launched> launched = std::exchange(gathered_[unit].launched, std::nullopt);
    const auto copied = std::exchange(gathered_[unit].copied, std::nullopt);
    if (launched) {
      writer_.wait_for(*launched);
    } else if (copied) {
      // The stream of all-gathers waits for the copy, and compute waits for that stream.
      streams_.hold_on(unshards_, OperationKind::host_copy, *copied);
      streams_.hold_compute(OperationKind::host_copy,
                            streams_.record_on(unshards_, OperationKind::host_copy));
    }
    if (!streams_.waits_for_launches()) return;
    streams_.hold_for_launch(unshards_, OperationKind::pack);
    streams_.hold_compute(
        phase_ == StepPhase::forward ? OperationKind::forward : OperationKind::backward,
        streams_.record_on(unshards_, OperationKind::pack));
  }
  void reshard(std::size_t unit) {
    if (!gathered_[unit].is_there) return;
    gathered_[unit].is_there = false;
    const EventId event = streams_.record_on_compute(OperationKind::forward);
    freed_.push_back({.event = event, .operation = streams_.last_on_compute(), .before = {}});
  }

  /// Reduces on a stream of its own after backward, so that work on a shard does not hold up the
  /// communicator.
  void reduce(std::size_t unit) {
    const Fsdp1Unit& planned = plan_.planned[unit];
    if (!planned.has_gradient) return;
    const KernelCosts& kernels = writer_.kernels();
    const Bytes reduced = planned.sizes.reduced;
    if (plan_.shards()) gathered_[unit].has_gradient = false;  // it is freed
    streams_.hold_on(reductions_, OperationKind::pack,
                     streams_.record_on_compute(OperationKind::backward));
    Duration work;
    if (planned.reduced != planned.computed)
      work += kernels.cast(planned.sizes.gradient, planned.sizes.unpadded);
    if (reduced > planned.sizes.unpadded && plan_.shards())
      work += kernels.zero_fill(reduced) + kernels.copy(planned.sizes.unpadded);
    if (plan_.division.before) work += kernels.copy(reduced);
    if (work > Duration()) writer_.run_on(reductions_, OperationKind::pack, work);
    const EventId ready = streams_.record_on(reductions_, OperationKind::pack);
    shared_.enter(streams_, {}, From::reductions);
    const Launched all =
        writer_.launch({}, planned.reduce, {ready}, RankStreams::Behind::own_stream);
    shared_.left(all, From::reductions);
    reduced_.push_back(all);
    streams_.follow_on(reductions_, OperationKind::pack, all.done);
    if (planned.between) reduced_.push_back(writer_.launch(between_, *planned.between, {all.done}));
    finish_shard(planned.between ? between_ : reductions_, unit);
  }

  /// Divides the shard, casts it to the stored type, and adds it to an existing one.
  void finish_shard(RankStreams::SideStream stream, std::size_t unit) {
    const Fsdp1Unit& planned = plan_.planned[unit];
    const KernelCosts& kernels = writer_.kernels();
    const Bytes shard =
        plan_.shards() ? planned.sizes.reduced_shard(plan_.ranks) : planned.sizes.reduced;
    Duration work;
    if (plan_.division.after) work += kernels.copy(shard);
    if (planned.reduced != planned.stored) work += kernels.cast(shard, planned.sizes.stored);
    if (plan_.shards() && std::exchange(gathered_[unit].has_shard, true))
      work += kernels.accumulate(planned.sizes.stored);
    if (work > Duration()) writer_.run_on(stream, OperationKind::pack, work);
    if (scheme_.offload.optimizer) {
      writer_.copy_on(stream, 1, offload_.copies(1, planned.sizes.stored));
      if (!plan_.shards()) {
        writer_.hold_host(streams_.record_on(stream, OperationKind::host_copy));
        writer_.hold_for_host();
      }
    }
    if (work > Duration() || scheme_.offload.optimizer)
      shard_is_there_ = streams_.record_on(stream, OperationKind::pack);
  }

  /// When a unit's memory becomes free. If nothing is set, it is free before anybody waits for it.
  struct OnceFree {
    std::optional<EventId> event;
    std::optional<std::size_t> operation;
    std::optional<Duration> before;  ///< in an earlier step
  };

  struct Gathered {
    bool is_due = false;        ///< backward has yet to reach it
    bool is_asked_for = false;  ///< in this pass
    bool is_there = false;      ///< or on its way
    bool has_gradient = false;  ///< whole, from an earlier micro-batch
    bool has_shard = false;     ///< reduced in an earlier micro-batch
    std::optional<Launched> launched;
    std::optional<EventId> copied;  ///< from the host
  };

  const Fsdp1Plan& plan_;
  const Fsdp1& scheme_;
  const OffloadCosts offload_;
  SchemeWriter writer_;
  RankStreams& streams_;
  const RankStreams::SideStream casts_;
  const RankStreams::SideStream reductions_;
  const RankStreams::SideStream between_;
  const RankStreams::SideStream unshards_;  ///< without its all-gathers
  const Duration hook_;
  const std::vector<UnitSpan> spans_;
  std::vector<std::size_t> entered_;  ///< units as forward enters them
  std::vector<std::size_t> left_;     ///< units as forward leaves them
  std::vector<Gathered> gathered_;    ///< by unit
  std::deque<OnceFree> freed_;        ///< not yet taken
  std::vector<Launched> reduced_;
  std::optional<EventId> shard_is_there_;
  EventId from_ = 0;
  SharedCommunicator shared_;
  StepPhase phase_ = StepPhase::forward;
};

/// Number of freed units that a step begins with in the steady state: a step leaves as many as it
/// began with.
std::size_t freed_in_steps_before(const Job& job, const Fsdp1Plan& plan) {
  if (!plan.scheme.limit_all_gathers || !plan.shards()) return 0;
  const Recording recording(job, job.workload());
  std::size_t freed = 0;
  constexpr int kMostSteps = 4;  // two or three are enough
  for (int step = 1; step <= kMostSteps; ++step) {
    StepCollectives collectives;
    Fsdp1Writer writer(job, plan, collectives, {.detail = Detail::none}, {}, recording, freed);
    writer.write();
    if (std::exchange(freed, writer.freed()) == writer.freed()) break;
  }
  return freed;
}

}  // namespace

PlannedStep schedule_fsdp1(const StepToPlan& step, const Fsdp1& scheme) {
  const Fsdp1Plan plan = plan_fsdp1(step.job, scheme);
  const std::size_t freed = freed_in_steps_before(step.job, plan);
  StepCollectives collectives;
  PlannedStep planned = planned_step(step.job, step.states, collectives,
                                     [&](const RankClass& rank_class, const Recording& recording) {
                                       return Fsdp1Writer(step.job, plan, collectives, step.kind,
                                                          rank_class, recording, freed)
                                           .write();
                                     });
  // The host never gets further ahead than the last unit that was freed.
  planned.host_reads = freed > 0 || scheme.offload.optimizer;
  return planned;
}

}  // namespace ddpsim
