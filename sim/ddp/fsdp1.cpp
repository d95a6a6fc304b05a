// FullyShardedDataParallel (torch/distributed/fsdp/_runtime_utils.py, 2.13).
//
//   compute   | forward of a unit, when it is gathered | … | backward of it, when it is gathered again | … | optimizer, on
//             the shard
//   communicator, in the order the host issues
//             root, unit 0, … in front of each one's forward; in backward each one's all-gather in front of that of the
//             unit before it (BACKWARD_PRE) or behind it (BACKWARD_POST), its reduce-scatter behind it
//   host      takes, before it issues an all-gather, the oldest of what was freed, if there are two, and waits until it is
//             (limit_all_gathers). What a step leaves the next one takes: by then it is free. A unit that is gathered
//             takes one all the same: in backward the root
//
// Casts of a shard and of a gradient, and divisions, run on streams of their own; between groups of a hybrid strategy a
// communicator of its own all-reduces shards. The root is gathered once: it is freed after backward alone.
//
// Frozen parameters are gathered as all others. A unit that is frozen is gathered again where backward passes it, on its way
// to something that trains, and freed behind it (_register_post_backward_reshard_only_hook), and has nothing to reduce. Of one that
// is frozen in part (use_orig_params alone) the whole flat gradient is reduced, and computed: its parameters are views of what asks
// for a gradient. Compute stays as recorded or estimated, where frozen ones had none.

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "process_groups.hpp"
#include "scheme_writer.hpp"
#include "schemes.hpp"
#include "unit_sizes.hpp"
#include "units.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kMostInFlight = 2;  ///< all-gathers whose memory is not free yet

struct PlannedUnit {
  UnitSizes sizes;
  StepCollective gather;
  StepCollective reduce;
  std::optional<StepCollective> between;  ///< groups
  bool has_gradient;                      ///< some of its own parameters do
};

struct Fsdp1Plan {
  Fsdp1 scheme;  ///< as it is in force
  std::vector<Unit> units;
  std::vector<PlannedUnit> planned;
  int ranks;       ///< that shard together
  double stepped;  ///< share of the parameters a rank steps

  bool frees_after_forward(std::size_t unit) const {
    const bool frees = scheme.strategy == ShardingStrategy::full_shard ||
                       scheme.strategy == ShardingStrategy::hybrid_shard;
    return frees && !units[unit].module.empty();
  }
  bool shards() const { return scheme.strategy != ShardingStrategy::no_shard; }
  bool frees_in_backward(bool sync) const {
    const bool keeps = scheme.strategy == ShardingStrategy::shard_grad_op ||
                       scheme.strategy == ShardingStrategy::hybrid_shard_zero2;
    return shards() && (sync || !keeps);
  }
};

Fsdp1Plan plan_fsdp1(const Job& job, Fsdp1 scheme) {
  scheme.strategy = strategy_in_force(scheme, job.cluster().ranks());
  const bool hybrid = is_hybrid(scheme.strategy);
  const int all = job.cluster().ranks();
  const ProcessGroups group(job, hybrid ? scheme.group.value_or(job.cluster().gpus_per_node) : all);
  Fsdp1Plan plan{.scheme = scheme,
                 .units = units_called(job.workload(), scheme.wrap),
                 .planned = {},
                 .ranks = scheme.strategy == ShardingStrategy::no_shard ? 1 : group.ranks(),
                 .stepped = 0};
  const std::vector<bool> written = gradients_written(job.workload());
  Bytes whole;
  Bytes stored;
  for (const Unit& unit : plan.units) {
    const UnitSizes sizes = flat_unit(
        job.workload(), unit,
        {.shards = plan.ranks, .group = group.ranks(), .use_orig_params = scheme.use_orig_params},
        scheme.param_dtype, scheme.reduce_dtype);
    const FlatLayout of_shards = {.shards = plan.ranks, .group = plan.ranks};
    const UnitSizes steps = flat_unit(job.workload(), trained_of(job.workload(), unit), of_shards,
                                      scheme.param_dtype, scheme.reduce_dtype);
    const bool all_train = steps.whole == sizes.whole;
    whole += steps.whole;
    stored += all_train ? sizes.stored : steps.stored;
    const auto of_unit = [&](StepCollective collective, StepPhase phase) {
      return named(std::move(collective), unit.name(), phase);
    };
    PlannedUnit planned{.sizes = sizes,
                        .gather = {},
                        .reduce = {},
                        .between = {},
                        .has_gradient = std::ranges::any_of(
                            unit.parameters, [&](std::size_t p) { return written[p]; })};
    planned.gather =
        of_unit(group.within(CollectiveKind::all_gather, sizes.gathered), StepPhase::forward);
    planned.reduce = of_unit(
        group.within(plan.shards() ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce,
                     sizes.reduced),
        StepPhase::backward);
    if (hybrid && group.replicas() > 1)
      planned.between = of_unit(group.all_reduce_between(sizes.reduced_shard(group.ranks())),
                                StepPhase::backward);
    plan.planned.push_back(std::move(planned));
  }
  plan.stepped = share_of(stored, whole);
  return plan;
}

/// In forward a unit's parameters are views of its flat parameter: of one that trains in part all of them ask for a gradient, and
/// backward comes to whatever lies behind the first of those. By that recording or estimate it did not, so it takes no time.
std::vector<UnitSpan> reached_through_views(const Workload& workload,
                                            const std::vector<Unit>& units,
                                            std::vector<UnitSpan> spans,
                                            std::size_t last_gradient) {
  std::size_t first = workload.parameters.size();  // parameter of a flat one that trains
  for (const Unit& unit : units)
    if (!unit.parameters.empty() && !trained_of(workload, unit).parameters.empty())
      first = std::min(first, unit.parameters.front());
  std::vector<std::size_t> late;
  for (std::size_t u = 0; u < units.size(); ++u)
    if (!spans[u].reached && units[u].parameters.front() > first) late.push_back(u);
  std::ranges::stable_sort(late, {}, [&](std::size_t u) { return -spans[u].forward_begin; });
  double order = 1;
  for (const std::size_t u : late) {
    spans[u].reached = true;
    spans[u].first = spans[u].last = last_gradient;
    spans[u].first_share = ++order;
    spans[u].last_share = ++order;
  }
  for (std::size_t u = 0; u < units.size(); ++u)
    if (!late.empty() && units[u].module.empty()) spans[u].last_share = ++order;
  return spans;
}

class Fsdp1Writer {
 public:
  Fsdp1Writer(const Job& job, const Fsdp1Plan& plan, StepCollectives& collectives,
              const StepKind& kind, const RankClass& alike, const Recording& recording,
              std::size_t freed_before)
      : plan_(plan),
        scheme_(plan.scheme),
        writer_(job, collectives, kind, alike, recording),
        streams_(writer_.streams()),
        casts_(streams_.open()),
        reductions_(streams_.open()),
        between_(streams_.open()),
        hook_(job.options().costs.host_unit_hook),
        spans_(reached_through_views(job.workload(), plan.units, spans_of(plan.units, recording),
                                     recording.gradients() - 1)),
        gathered_(plan.units.size()),
        freed_(freed_before) {
    for (const UnitHook& hook : forward_hooks(plan.units, spans_))
      (hook.when == UnitHook::When::before ? entered_ : left_).push_back(hook.unit);
  }

  RankStep write() {
    bool adds = false;
    for (int batch = 0; batch < writer_.micro_batches(); ++batch) {
      const bool sync = !scheme_.no_sync || batch + 1 == writer_.micro_batches();
      writer_.begin_batch(adds);
      forward();
      backward(sync);
      adds = !sync;
    }
    writer_.optimizer(plan_.stepped);
    return writer_.finish();
  }
  /// So many the next step may take.
  std::size_t freed() const { return freed_.size(); }

 private:
  using Launched = SchemeWriter::Launched;

  void forward() {
    phase_ = StepPhase::forward;
    // The root's hook: what is gathered was stepped by then.
    from_ = streams_.record_on_compute(OperationKind::forward);
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
    std::optional<std::size_t> late;  // under forward_prefetch
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
      writer_.call_hook(hook_);
      // Views made a unit ahead in forward come one later in backward: autograd runs what was made last first. A frozen
      // unit's hook is on its inputs.
      if (late) after_backward(*std::exchange(late, std::nullopt), sync);
      if (scheme_.forward_prefetch && plan_.planned[hook.unit].has_gradient)
        late = hook.unit;
      else
        after_backward(hook.unit, sync);
    }
    if (late) after_backward(*late, sync);
    writer_.end_backward();
    for (std::size_t unit = 0; unit < gathered_.size(); ++unit) {
      if (spans_[unit].reached || !plan_.shards()) continue;
      gathered_[unit].is_asked_for = false;
      reshard(unit);
    }
    for (const Launched& reduced : std::exchange(reduced_, {})) writer_.wait_for(reduced);
    if (shard_is_there_)
      streams_.hold_compute(OperationKind::pack, *std::exchange(shard_is_there_, std::nullopt),
                            Duration());
  }

  /// The flat parameter's hook: autograd comes to its views behind all that forward computed since they were made.
  void after_backward(std::size_t unit, bool sync) {
    gathered_[unit].is_asked_for = false;
    if (plan_.frees_in_backward(sync)) reshard(unit);
    if (scheme_.backward_prefetch == BackwardPrefetch::post) prefetch_before(unit);
    if (sync) reduce(unit);
  }

  /// The one that forward left before it, unless backward has come to that already.
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
    if (!plan_.shards() || std::exchange(gathered_[unit].is_asked_for, true)) return;
    if (scheme_.limit_all_gathers && freed_.size() >= kMostInFlight) {
      if (freed_.front()) streams_.hold_host(OperationKind::launch, *freed_.front());
      freed_.pop_front();
    }
    if (std::exchange(gathered_[unit].is_there, true)) return;
    const PlannedUnit& planned = plan_.planned[unit];
    EventId ready = from_;
    if (scheme_.param_dtype) {
      streams_.hold_on(casts_, OperationKind::pack, from_);
      streams_.hold_on(casts_, OperationKind::pack, streams_.record_on_host(OperationKind::launch));
      streams_.work_on(
          casts_, OperationKind::pack,
          writer_.kernels().cast(planned.sizes.stored, planned.sizes.gathered_shard(plan_.ranks)));
      ready = streams_.record_on(casts_, OperationKind::pack);
    }
    StepCollective gather = planned.gather;
    gather.phase = phase_;
    gathered_[unit].launched = writer_.launch({}, gather, {ready});
  }
  void wait_for(std::size_t unit) {
    if (auto& launched = gathered_[unit].launched)
      writer_.wait_for(*std::exchange(launched, std::nullopt));
  }
  void reshard(std::size_t unit) {
    if (!gathered_[unit].is_there) return;
    gathered_[unit].is_there = false;
    freed_.push_back(streams_.record_on_compute(OperationKind::forward));
  }

  /// Autograd puts the flat gradient together on the compute stream.
  void reduce(std::size_t unit) {
    const PlannedUnit& planned = plan_.planned[unit];
    if (!planned.has_gradient) return;
    const KernelCosts& kernels = writer_.kernels();
    writer_.pack(kernels.copy(planned.sizes.gradient));
    const EventId written = streams_.record_on_compute(OperationKind::backward);
    streams_.hold_on(reductions_, OperationKind::pack, written);
    if (scheme_.reduce_dtype && scheme_.reduce_dtype != scheme_.param_dtype)
      streams_.work_on(reductions_, OperationKind::pack,
                       kernels.cast(planned.sizes.gradient, planned.sizes.reduced));
    streams_.work_on(reductions_, OperationKind::pack,
                     kernels.copy(planned.sizes.reduced));  // divided
    const Launched reduced =
        writer_.launch({}, planned.reduce, {streams_.record_on(reductions_, OperationKind::pack)});
    reduced_.push_back(reduced);
    Launched last = reduced;
    if (planned.between) {
      last = writer_.launch(between_, *planned.between, {reduced.done});
      reduced_.push_back(last);
    }
    if (!plan_.shards() || (!scheme_.reduce_dtype && !scheme_.param_dtype)) return;
    streams_.hold_on(reductions_, OperationKind::pack,
                     last.done);  // back to the type that is stored
    streams_.work_on(reductions_, OperationKind::pack,
                     kernels.cast(planned.sizes.reduced_shard(plan_.ranks), planned.sizes.stored));
    shard_is_there_ = streams_.record_on(reductions_, OperationKind::pack);
  }

  struct Gathered {
    bool is_due = false;        ///< backward is to come to it
    bool is_asked_for = false;  ///< in this pass
    bool is_there = false;      ///< or on its way
    std::optional<Launched> launched;
  };

  const Fsdp1Plan& plan_;
  const Fsdp1& scheme_;
  SchemeWriter writer_;
  RankStreams& streams_;
  const RankStreams::Beside casts_;
  const RankStreams::Beside reductions_;
  const RankStreams::Beside between_;
  const Duration hook_;
  const std::vector<UnitSpan> spans_;
  std::vector<std::size_t> entered_;          ///< units in the order forward enters them …
  std::vector<std::size_t> left_;             ///< … and leaves them
  std::vector<Gathered> gathered_;            ///< by unit
  std::deque<std::optional<EventId>> freed_;  ///< not yet taken; in an earlier step: absent
  std::vector<Launched> reduced_;
  std::optional<EventId> shard_is_there_;
  EventId from_ = 0;
  StepPhase phase_ = StepPhase::forward;
};

/// As many as a step leaves that began with them.
std::size_t freed_in_steps_before(const Job& job, const Fsdp1Plan& plan) {
  if (!plan.scheme.limit_all_gathers || !plan.shards()) return 0;
  const Recording recording(job, job.workload());
  std::size_t freed = 0;
  constexpr int kMostSteps = 4;  // two or three do
  for (int step = 1; step <= kMostSteps; ++step) {
    StepCollectives collectives;
    Fsdp1Writer writer(job, plan, collectives, {.detail = Detail::none}, {}, recording, freed);
    writer.write();
    if (std::exchange(freed, writer.freed()) == writer.freed()) break;
  }
  return freed;
}

}  // namespace

PlannedStep schedule_fsdp1(const Job& job, const Fsdp1& scheme, const StepKind& kind,
                           const std::vector<RankState>& states) {
  const Fsdp1Plan plan = plan_fsdp1(job, scheme);
  const std::size_t freed = freed_in_steps_before(job, plan);
  StepCollectives collectives;
  return planned_step(
      job, states, collectives, [&](const RankClass& alike, const Recording& recording) {
        return Fsdp1Writer(job, plan, collectives, kind, alike, recording, freed).write();
      });
}

}  // namespace ddpsim
