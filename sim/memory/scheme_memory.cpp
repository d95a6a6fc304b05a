#include "scheme_memory.hpp"

#include <algorithm>
#include <vector>

#include "local_sgd.hpp"
#include "memory_parts.hpp"
#include "process_groups.hpp"
#include "recording.hpp"
#include "unit_sizes.hpp"
#include "units.hpp"

namespace ddpsim {
namespace {

/// A step of a sharded model, unit by unit.
struct ShardedStep {
  std::vector<Unit> units;
  std::vector<UnitSizes> sizes;
  std::vector<bool> freed_after_forward;  ///< by unit
  bool frees_in_backward = true;
  bool prefetches = true;  ///< in backward …
  bool prefetches_unreached =
      false;  ///< … also what it does not come to, since all in front is frozen
  bool whole_gradients = false;      ///< of micro-batches that nobody reduced
  bool casts_beside = false;         ///< gradients, where their reduction runs
  bool frees_late = false;           ///< what is gathered, when the GPU has come as far
  std::optional<Dtype> param_dtype;  ///< computed in
  std::optional<Dtype> reduce_dtype;
  bool offloads = false;  ///< shards of all three stay on the host
};

ShardedStep sharded_step(const Job& job, Fsdp1 scheme) {
  scheme.strategy = strategy_in_force(scheme, job.cluster().ranks());
  const bool hybrid = is_hybrid(scheme.strategy);
  const bool frees = scheme.strategy == ShardingStrategy::full_shard ||
                     scheme.strategy == ShardingStrategy::hybrid_shard;
  const bool shards = scheme.strategy != ShardingStrategy::no_shard;
  const int group =
      hybrid ? scheme.group.value_or(job.cluster().gpus_per_host()) : job.cluster().ranks();
  ShardedStep step{.units = units_of(job.workload(), scheme.wrap),
                   .sizes = {},
                   .freed_after_forward = {},
                   .frees_in_backward = shards,
                   .prefetches = scheme.backward_prefetch != BackwardPrefetch::none,
                   .whole_gradients = scheme.no_sync && job.options().ddp.accumulate > 1,
                   .casts_beside = true,
                   .frees_late = frees,
                   .param_dtype = scheme.param_dtype,
                   .reduce_dtype = scheme.reduce_dtype,
                   .offloads = scheme.offload.any()};
  for (const Unit& unit : step.units) {
    step.sizes.push_back(flat_unit(
        job.workload(), unit,
        {.shards = shards ? group : 1, .group = group, .use_orig_params = scheme.use_orig_params},
        scheme.param_dtype, scheme.reduce_dtype));
    step.freed_after_forward.push_back(frees && !unit.module.empty());
  }
  return step;
}

ShardedStep sharded_step(const Job& job, const Fsdp2& scheme) {
  ShardedStep step{.units = units_of(job.workload(), scheme.wrap),
                   .sizes = {},
                   .freed_after_forward = {},
                   .prefetches_unreached = true,
                   .whole_gradients = scheme.no_sync && job.options().ddp.accumulate > 1,
                   .param_dtype = scheme.param_dtype,
                   .reduce_dtype = scheme.reduce_dtype,
                   .offloads = scheme.offload.any()};
  const bool frees = scheme.reshard_after_forward || scheme.reshard_to;
  for (const Unit& unit : step.units) {
    const auto sizes_of = [&](const Unit& of) {
      return row_sharded_unit(job.workload(), of, scheme.group.value_or(job.cluster().ranks()),
                              scheme.param_dtype, scheme.reduce_dtype);
    };
    UnitSizes sizes = sizes_of(unit);
    const UnitSizes trained = sizes_of(trained_of(job.workload(), unit));
    sizes.gradient = trained.gradient;
    sizes.reduced = trained.reduced;
    step.sizes.push_back(sizes);
    step.freed_after_forward.push_back(unit.module.empty() ? scheme.reshard_root : frees);
  }
  return step;
}

/// The highest of what a step holds from moment to moment. PyTorch's allocator lets a block go back to the stream it was
/// asked for on alone: `beside`, of `parts`, is what another stream than compute's holds, and at its highest it holds that
/// when compute's does not.
class Highest {
 public:
  void see(const MemoryParts& parts, PeakMoment at, Bytes beside = {}) {
    const Bytes known = parts.known();
    most_beside_ = std::max(most_beside_, beside);
    most_computing_ = std::max(most_computing_, known - beside);
    if (seen_ && known <= parts_.known()) return;
    seen_ = true;
    parts_ = parts;
    at_ = at;
  }
  PeakMemory take() const { return {.at = at_, .parts = parts_}; }
  /// More than the highest moment, since streams do not lend each other what they let go.
  Bytes apart() const { return most_computing_ + most_beside_ - parts_.known(); }

 private:
  bool seen_ = false;
  MemoryParts parts_;
  PeakMoment at_ = PeakMoment::backward;
  Bytes most_beside_;
  Bytes most_computing_;
};

constexpr std::size_t kGatheredAtOnce = 2;  ///< units: one that is computed, one that is prefetched

class ShardedMemory {
 public:
  ShardedMemory(const Job& job, const ShardedStep& step)
      : job_(job),
        step_(step),
        workload_(job.workload()),
        activations_(workload_),
        allocator_(on_host(job)) {
    for (const BufferGroup& group : workload_.buffers) always_.buffers += group.bytes;
    for (std::size_t u = 0; u < step_.units.size(); ++u) {
      const Bytes stored = step_.sizes[u].stored;
      const Dtype dtype = workload_.parameters[step_.units[u].parameters.front()].dtype;
      const Bytes trained = trained_shard(u);
      const OptimizerBytes optimizer = optimizer_bytes(job.options().optimizer, dtype, trained);
      shards_ += trained;
      if (step_.offloads) {
        host_ += stored + trained + optimizer.state;
      } else {
        always_.parameters += stored;
        always_.optimizer += optimizer.state;
        masters_ += optimizer.masters;
        allocator_.allocate(stored);
        allocator_.allocate(optimizer.state);
      }
      if (step_.whole_gradients && trains(u)) always_.gradients += step_.sizes[u].gradient;
    }
  }

  PeakMemory peak() {
    backward();
    if (!step_.offloads) optimizer();
    PeakMemory peak = highest_.take();
    peak.host = host_;
    peak.rounding = allocator_.rounding();
    peak.segments = allocator_.segments();
    if (!on_host(job_)) peak.segments += highest_.apart() + pending();
    return peak;
  }

 private:
  /// The host frees a unit ahead of the GPU, which still reads it (record_stream); of two such the rate limiter lets one wait
  /// on while the next is gathered (_FreeEventQueue). Without the limiter at least as much.
  Bytes pending() const {
    Bytes largest;
    std::size_t freed = 0;
    for (std::size_t u = 0; u < step_.units.size(); ++u) {
      if (!step_.frees_late || !step_.freed_after_forward[u]) continue;
      largest = std::max(largest, step_.sizes[u].gathered);
      ++freed;
    }
    return freed > kGatheredAtOnce ? largest : Bytes();
  }

  /// Of a unit's shard, as the parameters that train are of the unit.
  Bytes trained_shard(std::size_t unit) const {
    std::int64_t trained = 0;
    std::int64_t all = 0;
    for (const std::size_t p : step_.units[unit].parameters) {
      const std::int64_t elements = elements_of(workload_.parameters[p]);
      all += elements;
      if (!workload_.parameters[p].frozen) trained += elements;
    }
    const Bytes stored = step_.sizes[unit].stored;
    if (trained == all) return stored;
    return Bytes(static_cast<std::int64_t>(static_cast<double>(stored.count()) *
                                           static_cast<double>(trained) /
                                           static_cast<double>(all)));
  }
  bool trains(std::size_t unit) const {
    return std::ranges::any_of(step_.units[unit].parameters,
                               [&](std::size_t p) { return !workload_.parameters[p].frozen; });
  }

  void backward() {
    const Recording recording(job_, workload_);
    const std::vector<UnitSpan> spans = spans_of(step_.units, recording);
    const std::vector<UnitHook> hooks = backward_hooks(step_.units, spans);
    std::vector<std::size_t> left;  // in the order forward leaves them
    for (const UnitHook& hook : forward_hooks(step_.units, spans))
      if (hook.when == UnitHook::When::after) left.push_back(hook.unit);
    std::vector<bool> gathered(step_.units.size());
    MemoryParts now = always_;
    Bytes reducing;  // read by a reduce-scatter
    Bytes shards;    // of gradients: a reduce-scatter's stream asks for them
    const bool casts =
        step_.casts_beside && step_.reduce_dtype && step_.reduce_dtype != step_.param_dtype;
    const auto see = [&] {
      highest_.see(now, PeakMoment::backward, shards + (casts ? now.buckets : Bytes()));
    };
    const auto gather = [&](std::size_t unit) {
      if (gathered[unit] || !step_.frees_in_backward) return;
      gathered[unit] = true;
      now.parameters += step_.sizes[unit].gathered;
    };
    const auto free = [&](std::size_t unit) {
      if (!gathered[unit] || !step_.frees_in_backward) return;
      gathered[unit] = false;
      now.parameters = now.parameters - step_.sizes[unit].gathered;
    };
    for (std::size_t u = 0; u < step_.units.size(); ++u)
      if (!step_.freed_after_forward[u]) gather(u);
    std::size_t next = 0;
    for (std::size_t k = 0; k < workload_.backward->ready.size(); ++k) {
      for (; next < hooks.size() && hooks[next].gradient == k && hooks[next].share < 1; ++next) {
        if (hooks[next].when == UnitHook::When::after) {
          free(hooks[next].unit);  // frozen
          continue;
        }
        gather(hooks[next].unit);
        const auto at = std::ranges::find(left, hooks[next].unit);
        if (step_.prefetches && at != left.begin() &&
            (step_.prefetches_unreached || spans[*(at - 1)].reached))
          gather(*(at - 1));
      }
      const std::size_t parameter = workload_.backward->ready[k].parameter;
      if (!step_.whole_gradients) now.gradients += computed(parameter);
      now.activations = activations_.held(k);
      see();
      for (; next < hooks.size() && hooks[next].gradient == k; ++next) {
        const std::size_t unit = hooks[next].unit;
        const UnitSizes& sizes = step_.sizes[unit];
        if (!trains(unit)) {
          free(unit);
          continue;
        }
        // Put together, or copied in, while its parts are there.
        now.buckets += sizes.reduced;
        see();
        // A flat gradient that is all-reduced is the gradient from then on.
        now.buckets =
            now.buckets -
            (step_.frees_in_backward ? std::exchange(reducing, sizes.reduced) : sizes.reduced);
        if (!step_.whole_gradients) now.gradients = now.gradients - written(unit, k);
        if (!step_.offloads) {
          now.gradients += trained_shard(unit);
          if (step_.frees_in_backward) shards += trained_shard(unit);
        }
        free(unit);
      }
    }
  }

  void optimizer() {
    MemoryParts now = always_;
    now.activations = activations_.left();
    now.gradients += shards_;
    now.temporaries = shards_ + masters_;
    highest_.see(now, PeakMoment::optimizer, step_.frees_in_backward ? shards_ : Bytes());
  }

  /// Its gradient, of the type computed in.
  Bytes computed(std::size_t parameter) const {
    const Dtype stored = workload_.parameters[parameter].dtype;
    const std::int64_t elements = job_.gradients()[parameter].count() / element_size(stored);
    if (workload_.parameters[parameter].ignored) return Bytes();
    return Bytes(elements * element_size(step_.param_dtype.value_or(stored)));
  }
  /// Of a unit's parameters, by the time that many are.
  Bytes written(std::size_t unit, std::size_t last) const {
    Bytes sum;
    for (std::size_t k = 0; k <= last; ++k) {
      const std::size_t parameter = workload_.backward->ready[k].parameter;
      if (std::ranges::binary_search(step_.units[unit].parameters, parameter))
        sum += computed(parameter);
    }
    return sum;
  }

  const Job& job_;
  const ShardedStep& step_;
  const Workload& workload_;
  HeldActivations activations_;
  Allocator allocator_;
  MemoryParts always_;
  Bytes shards_;   ///< of all parameters, as stored
  Bytes masters_;  ///< of those
  Bytes host_;     ///< what stays there
  Highest highest_;
};

/// Beside gradients and optimizer.
struct FlatTensors {
  Bytes gradients{};  ///< put together when backward is over
  Bytes averaged{};   ///< parameters, when the optimizer has stepped …
  Bytes widened{};    ///< … with the largest of a narrower type
  Bytes kept{};       ///< from one average to the next
};

/// No buckets: gradients alone. `steps`: the rank has an optimizer.
PeakMemory unbucketed(const Job& job, const FlatTensors& flat, bool steps = true) {
  const Workload& workload = job.workload();
  const HeldActivations activations(workload);
  Allocator allocator(on_host(job));
  MemoryParts always;
  Bytes masters;
  Bytes trained;
  for (const BufferGroup& group : workload.buffers) always.buffers += group.bytes;
  for (std::size_t p = 0; p < workload.parameters.size(); ++p) {
    const Bytes bytes = job.gradients()[p];
    OptimizerBytes optimizer;
    const bool trains = !workload.parameters[p].frozen;
    if (trains) trained += bytes;
    if (steps && trains)
      optimizer = optimizer_bytes(job.options().optimizer, workload.parameters[p].dtype, bytes);
    always.parameters += bytes;
    always.optimizer += optimizer.state;
    masters += optimizer.masters;
    allocator.allocate(bytes);
    allocator.allocate(optimizer.state);
  }
  always.optimizer += flat.kept;
  allocator.allocate(flat.kept);
  Highest highest;
  MemoryParts now = always;
  for (std::size_t k = 0; k < workload.backward->ready.size(); ++k) {
    now.gradients += job.gradients()[workload.backward->ready[k].parameter];
    now.activations = activations.held(k);
    highest.see(now, PeakMoment::backward);
  }
  now.activations = activations.left();
  now.buckets = flat.gradients;
  highest.see(now, PeakMoment::backward);
  now.buckets = Bytes();
  if (steps) {
    now.temporaries = trained + masters;
    highest.see(now, PeakMoment::optimizer);
  }
  now.hook = flat.averaged;
  now.temporaries = flat.widened;
  if (flat.averaged > Bytes()) highest.see(now, PeakMoment::averaging);
  PeakMemory peak = highest.take();
  peak.rounding = allocator.rounding();
  peak.segments = allocator.segments();
  return peak;
}

/// What DeepSpeed and Megatron-Core keep beside activations: parameters and gradients in one type, what is stepped in fp32.
struct Mixed {
  std::int64_t elements = 0;    ///< of parameters …
  std::int64_t trained = 0;     ///< … and of those that are not frozen
  std::int64_t persistent = 0;  ///< of those, never sharded by stage 3
  std::int64_t largest = 0;     ///< of one parameter
  std::int64_t size = 0;        ///< bytes of one, as computed in
  int states = 0;               ///< of the optimizer

  Bytes computed(std::int64_t count) const { return Bytes(count * size); }
  static Bytes single(std::int64_t count) { return Bytes(count * element_size(Dtype::float32)); }
};

Mixed mixed(const Job& job, std::optional<Dtype> param_dtype, std::int64_t persistent_up_to) {
  Mixed found;
  for (const Parameter& parameter : job.workload().parameters) {
    if (parameter.ignored) continue;
    const std::int64_t elements = elements_of(parameter);
    found.elements += elements;
    found.largest = std::max(found.largest, elements);
    if (!parameter.frozen) found.trained += elements;
    if (elements <= persistent_up_to) found.persistent += elements;
    found.size = std::max(found.size, element_size(param_dtype.value_or(parameter.dtype)));
  }
  const Bytes one(element_size(Dtype::float32));
  const OptimizerBytes optimizer = optimizer_bytes(job.options().optimizer, Dtype::float32, one);
  found.states = static_cast<int>(optimizer.state.count() / one.count());
  return found;
}

/// Moments of a step whose gradients go through buffers that are there from its start, or (`written`) stay as they come.
PeakMemory with_buffers(const Job& job, MemoryParts always, const Mixed& model, bool written,
                        Bytes stepped_gradients) {
  const Workload& workload = job.workload();
  const HeldActivations activations(workload);
  for (const BufferGroup& group : workload.buffers) always.buffers += group.bytes;
  Highest highest;
  MemoryParts now = always;
  for (std::size_t k = 0; k < workload.backward->ready.size(); ++k) {
    const Parameter& parameter = workload.parameters[workload.backward->ready[k].parameter];
    const Bytes gradient = model.computed(parameter.ignored ? 0 : elements_of(parameter));
    now.activations = activations.held(k);
    if (written)
      now.gradients += gradient;
    else
      now.temporaries = activations.known() ? Bytes() : gradient;
    highest.see(now, PeakMoment::backward);
  }
  now.activations = activations.left();
  now.temporaries = stepped_gradients;
  now.buckets = written ? Bytes() : now.buckets;
  highest.see(now, PeakMoment::optimizer);
  return highest.take();
}

PeakMemory zero_memory(const Job& job, const Zero& scheme) {
  const std::int64_t ranks = job.cluster().ranks();
  const bool third = scheme.stage == 3;
  const Mixed model =
      mixed(job, scheme.param_dtype, third ? scheme.stage3_param_persistence_threshold : 0);
  const std::int64_t owned = (model.trained + ranks - 1) / ranks;
  MemoryParts always;
  always.parameters = model.computed(model.elements);
  if (third) {
    const std::int64_t sharded = model.elements - model.persistent;
    const std::int64_t live = std::min(sharded, scheme.stage3_max_live_parameters);
    const std::int64_t kept = scheme.offload.parameters ? 0 : (sharded + ranks - 1) / ranks;
    always.parameters = model.computed(kept + model.persistent + live);
  }
  Bytes host;
  if (scheme.offload.optimizer) {  // fp32 parameters, gradients and state
    host = Mixed::single(owned) * (model.states + 2);
    // Of the largest gradient, what comes back from the host to be added to.
    if (!third) always.temporaries = model.computed(model.largest);
  } else {
    always.optimizer = Mixed::single(owned) * (model.states + 1);
    if (scheme.stage > 1) always.gradients = model.computed(owned);
  }
  if (scheme.offload.parameters) host += model.computed((model.elements + ranks - 1) / ranks);
  const bool two = !third && scheme.overlap_comm.value_or(false);
  if (scheme.stage > 1 || scheme.overlap_comm.value_or(false))
    always.buckets = model.computed(scheme.reduce_bucket_size) * (two ? 2 : 1);
  PeakMemory peak = with_buffers(job, always, model, scheme.stage == 1,
                                 scheme.offload.optimizer ? Bytes() : Mixed::single(owned));
  peak.host = host;
  return peak;
}

PeakMemory megatron_memory(const Job& job, const MegatronOptimizer& scheme) {
  const std::int64_t ranks = job.cluster().ranks();
  const Mixed model = mixed(job, scheme.param_dtype, 0);
  const std::int64_t owned = (model.trained + ranks - 1) / ranks;
  const bool single = model.size >= element_size(Dtype::float32);
  MemoryParts always;
  always.parameters = model.computed(model.elements);
  always.gradients =
      scheme.grad_reduce_in_fp32 ? Mixed::single(model.trained) : model.computed(model.trained);
  always.optimizer = Mixed::single(owned) * (model.states + (single ? 0 : 1));
  return with_buffers(job, always, model, false,
                      scheme.grad_reduce_in_fp32 || single ? Bytes() : Mixed::single(owned));
}

struct Count {
  const Job& job;

  PeakMemory operator()(const Fsdp1& scheme) const {
    const ShardedStep step = sharded_step(job, scheme);
    return ShardedMemory(job, step).peak();
  }
  PeakMemory operator()(const Fsdp2& scheme) const {
    const ShardedStep step = sharded_step(job, scheme);
    return ShardedMemory(job, step).peak();
  }
  PeakMemory operator()(const NaiveAllReduce& scheme) const {
    Bytes all;
    for (const Bytes gradient : job.gradients()) all += gradient;
    return unbucketed(job, {.gradients = scheme.flat ? all : Bytes()});
  }
  /// Tensors that are all-reduced, until they are copied back.
  PeakMemory operator()(const Compiled& /*scheme*/) const {
    Bytes all;
    for (const ReadyEvent& event : job.workload().backward->ready)
      if (!job.workload().parameters[event.parameter].ignored)
        all += job.gradients()[event.parameter];
    return unbucketed(job, {.gradients = all});
  }
  PeakMemory operator()(const PeriodicAveraging& /*scheme*/) const {
    const FlatParameters flat = flat_parameters(job.workload());
    return unbucketed(job, {.averaged = flat.bytes, .widened = flat.largest_other});
  }
  /// Momentum and the parameters it is counted from, of the shard of a rank that holds one.
  PeakMemory operator()(const SlowMo& scheme) const {
    const Bytes all = flat_parameters(job.workload()).bytes;
    const int shards = scheme.slowmo_memory_efficient
                           ? std::min(scheme.slowmo_num_shards, job.cluster().ranks())
                           : 1;
    const Bytes shard((all.count() + shards - 1) / shards);
    const bool reduces = job.cluster().gpus_per_node > 1;
    return unbucketed(job, {.gradients = reduces ? all : Bytes(),
                            .averaged = job.cluster().nodes > 1 ? all : shard,
                            .kept = 2 * shard});
  }
  PeakMemory operator()(const Zero& scheme) const { return zero_memory(job, scheme); }
  PeakMemory operator()(const MegatronOptimizer& scheme) const {
    return megatron_memory(job, scheme);
  }
  /// Of GPU 0.
  PeakMemory operator()(const DataParallel& /*scheme*/) const {
    Bytes all;
    for (const Bytes gradient : job.gradients()) all += gradient;
    return unbucketed(job, {.gradients = job.cluster().ranks() > 1 ? all : Bytes()});
  }
  PeakMemory operator()(const ParameterServer& scheme) const {
    return unbucketed(job, {}, scheme.update == ParameterServer::Update::worker);
  }
  PeakMemory operator()(const Ddp& /*scheme*/) const { return unbucketed(job, {}); }
  PeakMemory operator()(const ZeroRedundancy& /*scheme*/) const { return unbucketed(job, {}); }
};

}  // namespace

PeakMemory scheme_memory(const Job& job) {
  PeakMemory peak = std::visit(Count{job}, job.options().scheme);
  peak.activations = job.workload().activations;
  if (!peak.activations) peak.parts.activations.reset();
  peak.optimizer = job.options().optimizer;
  // No communicator of all ranks where servers are between them.
  if (!facts_of(job.options().scheme).by_servers) peak.nccl = nccl_buffers(job);
  for (const int ranks : groups_of(job.options().scheme, job.cluster().gpus_per_host()))
    if (ranks < job.cluster().ranks() || peak.nccl == Bytes())
      peak.nccl += nccl_buffers(group_of(job, ranks));
  return peak;
}

}  // namespace ddpsim
