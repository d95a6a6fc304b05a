// Tracks a sharded model through a step, unit by unit. Units are gathered as in the schedule: the
// computed unit, the next one and the root, or all units if nothing is freed after forward. The
// gradients of the computed unit are whole. The reduce-scatter of the unit before may still read
// its input. fully_shard gathers into one buffer and copies out of it. FullyShardedDataParallel's
// autograd builds each flat gradient from its parts. Sources: see fsdp1.cpp and fsdp2.cpp.

#include <algorithm>
#include <utility>
#include <vector>

#include "memory_parts.hpp"
#include "memory_walks.hpp"
#include "recording.hpp"

namespace ddpsim {
namespace {

// One unit is computed, one is prefetched.
constexpr std::size_t kGatheredAtOnce = 2;
constexpr int kHalf = 2;  // bytes of an element

/// Units come and go between activations of other sizes, so free pieces stay in between. Four models
/// under fully_shard with one rank reserved 1.16 to 1.24 times what tensors took, on an H100 and an
/// H200 (PyTorch 2.11, tests/lab/measured/gpu). The median is taken.
constexpr double kFragmented = 0.18;

class ShardedMemory {
 public:
  ShardedMemory(const Job& job, const ShardedUnits& kept)
      : job_(job),
        kept_(kept),
        workload_(job.workload()),
        activations_(workload_, kept.param_dtype && element_size(*kept.param_dtype) == kHalf),
        allocator_(on_host(job)) {
    for (const BufferGroup& group : workload_.buffers) always_.buffers += group.bytes;
    for (std::size_t u = 0; u < kept_.units.size(); ++u) {
      const Bytes stored = kept_.sizes[u].stored;
      const Dtype dtype = workload_.parameters[kept_.units[u].parameters.front()].dtype;
      const Bytes trained = trained_shard(u);
      const OptimizerBytes optimizer = optimizer_bytes(job.options().optimizer, dtype, trained);
      shards_ += trained;
      if (kept_.offloads) {
        host_ += stored + trained + optimizer.state;
      } else {
        always_.parameters += stored;
        always_.optimizer += optimizer.state;
        masters_ += optimizer.masters;
        allocator_.allocate(stored);
        allocator_.allocate(optimizer.state);
      }
      if (kept_.whole_gradients && trains(u)) always_.gradients += kept_.sizes[u].gradient;
    }
  }

  PeakMemory peak() {
    backward();
    if (!kept_.offloads) optimizer();
    const Bytes apart = highest_.apart();
    PeakMemory peak = std::move(highest_).take();
    peak.activations = activations_.all();
    peak.host = host_;
    peak.rounding = allocator_.rounding();
    peak.segments = allocator_.segments();
    if (!on_host(job_)) {
      peak.segments += apart + pending();
      if (kept_.frees_in_backward) peak.segments = std::max(peak.segments, in_pieces(peak));
    }
    return peak;
  }

 private:
  static Bytes in_pieces(const PeakMemory& peak) {
    return Bytes(
        static_cast<std::int64_t>(kFragmented * static_cast<double>(peak.allocated().count())));
  }

  /// Units that the host has freed but the GPU still reads (record_stream). The rate limiter lets
  /// one of two such units wait while the next is gathered (_FreeEventQueue). Without the limiter
  /// it is at least as much.
  Bytes pending() const {
    Bytes largest;
    std::size_t freed = 0;
    for (std::size_t u = 0; u < kept_.units.size(); ++u) {
      if (!kept_.frees_late || !kept_.freed_after_forward[u]) continue;
      largest = std::max(largest, kept_.sizes[u].gathered);
      ++freed;
    }
    return freed > kGatheredAtOnce ? largest : Bytes();
  }

  /// Part of a unit's shard that trains: the same share as in the whole unit.
  Bytes trained_shard(std::size_t unit) const {
    std::int64_t trained = 0;
    std::int64_t all = 0;
    for (const std::size_t p : kept_.units[unit].parameters) {
      const std::int64_t elements = elements_of(workload_.parameters[p]);
      all += elements;
      if (!workload_.parameters[p].frozen) trained += elements;
    }
    const Bytes stored = kept_.sizes[unit].stored;
    if (trained == all) return stored;
    return Bytes(static_cast<std::int64_t>(static_cast<double>(stored.count()) *
                                           static_cast<double>(trained) /
                                           static_cast<double>(all)));
  }
  bool trains(std::size_t unit) const {
    return std::ranges::any_of(kept_.units[unit].parameters,
                               [&](std::size_t p) { return !workload_.parameters[p].frozen; });
  }

  void backward() {
    const Recording recording(job_, workload_);
    const std::vector<UnitSpan> spans = spans_of(kept_.units, recording);
    const std::vector<UnitHook> hooks = backward_hooks(kept_.units, spans);
    std::vector<std::size_t> left;  // in the order forward leaves them
    for (const UnitHook& hook : forward_hooks(kept_.units, spans))
      if (hook.when == UnitHook::When::after) left.push_back(hook.unit);
    std::vector<bool> gathered(kept_.units.size());
    MemoryParts now = always_;
    Bytes reducing;  // read by a reduce-scatter
    Bytes shards;    // of gradients, on a reduce-scatter's stream
    const bool casts =
        kept_.casts_beside && kept_.reduce_dtype && kept_.reduce_dtype != kept_.param_dtype;
    const auto see = [&] {
      highest_.see(now, PeakMoment::backward, shards + (casts ? now.buckets : Bytes()));
    };
    const auto gather = [&](std::size_t unit) {
      if (gathered[unit] || !kept_.frees_in_backward) return;
      gathered[unit] = true;
      now.parameters += kept_.sizes[unit].gathered;
    };
    const auto free = [&](std::size_t unit) {
      if (!gathered[unit] || !kept_.frees_in_backward) return;
      gathered[unit] = false;
      now.parameters = now.parameters - kept_.sizes[unit].gathered;
    };
    for (std::size_t u = 0; u < kept_.units.size(); ++u)
      if (!kept_.freed_after_forward[u]) gather(u);
    now.activations = activations_.kept();
    highest_.note(now, PeakMoment::forward);
    std::size_t next = 0;
    for (std::size_t k = 0; k < workload_.backward->ready.size(); ++k) {
      for (; next < hooks.size() && hooks[next].gradient == k && hooks[next].share < 1; ++next) {
        if (hooks[next].when == UnitHook::When::after) {
          free(hooks[next].unit);  // frozen
          continue;
        }
        gather(hooks[next].unit);
        const auto at = std::ranges::find(left, hooks[next].unit);
        if (kept_.prefetches && at != left.begin() &&
            (kept_.prefetches_unreached || spans[*(at - 1)].reached))
          gather(*(at - 1));
      }
      highest_.next_gradient();
      const std::size_t parameter = workload_.backward->ready[k].parameter;
      if (!kept_.whole_gradients) now.gradients += computed(parameter);
      now.activations = activations_.held(k);
      see();
      for (; next < hooks.size() && hooks[next].gradient == k; ++next) {
        const std::size_t unit = hooks[next].unit;
        const UnitSizes& sizes = kept_.sizes[unit];
        if (!trains(unit)) {
          free(unit);
          continue;
        }
        // The input of the reduction is built while the gradient's parts still exist.
        now.buckets += sizes.reduced;
        see();
        // A flat gradient that is all-reduced then serves as the gradient.
        now.buckets =
            now.buckets -
            (kept_.frees_in_backward ? std::exchange(reducing, sizes.reduced) : sizes.reduced);
        if (!kept_.whole_gradients) now.gradients = now.gradients - written(unit, k);
        if (!kept_.offloads) {
          now.gradients += trained_shard(unit);
          if (kept_.frees_in_backward) shards += trained_shard(unit);
        }
        free(unit);
      }
    }
  }

  void optimizer() {
    MemoryParts now = always_;
    now.activations = activations_.left();
    now.gradients += shards_;
    now.temporaries = (job_.options().optimizer.fused ? Bytes() : shards_) + masters_;
    highest_.see(now, PeakMoment::optimizer, kept_.frees_in_backward ? shards_ : Bytes());
  }

  /// Size of its gradient in the type of computation.
  Bytes computed(std::size_t parameter) const {
    const Dtype stored = workload_.parameters[parameter].dtype;
    const std::int64_t elements = job_.gradients()[parameter].count() / element_size(stored);
    if (workload_.parameters[parameter].ignored) return Bytes();
    return Bytes(elements * element_size(kept_.param_dtype.value_or(stored)));
  }
  /// Gradients of a unit's parameters among those written so far.
  Bytes written(std::size_t unit, std::size_t last) const {
    Bytes sum;
    for (std::size_t k = 0; k <= last; ++k) {
      const std::size_t parameter = workload_.backward->ready[k].parameter;
      if (std::ranges::binary_search(kept_.units[unit].parameters, parameter))
        sum += computed(parameter);
    }
    return sum;
  }

  const Job& job_;
  const ShardedUnits& kept_;
  const Workload& workload_;
  HeldActivations activations_;
  Allocator allocator_;
  MemoryParts always_;
  Bytes shards_;   ///< all parameters' shards, as stored
  Bytes masters_;  ///< masters of these shards
  Bytes host_;     ///< kept on the host
  Highest highest_;
};

}  // namespace

PeakMemory peak_of(const Job& job, const ShardedUnits& kept) {
  return ShardedMemory(job, kept).peak();
}

}  // namespace ddpsim
