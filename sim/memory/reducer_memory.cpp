// Tracks DDP's buckets through a step, gradient by gradient (memory.hpp says what exists when).

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "ddpsim/sim/step/bucket_assignment.hpp"
#include "ddpsim/sim/step/job_buckets.hpp"
#include "ddpsim/sim/values/assert.hpp"
#include "local_sgd.hpp"
#include "memory_parts.hpp"
#include "memory_walks.hpp"
#include "power_sgd.hpp"

namespace ddpsim {
namespace {

/// The constructor collects everything that does not change within a step.
class ReducerMemory {
 public:
  ReducerMemory(const Job& job, const ReducerBuckets& kept)
      : job_(job),
        workload_(job.workload()),
        views_(job.options().ddp().gradient_as_bucket_view),
        activations_(job.workload()),
        keeps_gradients_(job.options().torch < kGradientsFreed),
        buckets_(buckets_of(job)),
        allocator_(on_host(job)),
        bucket_of_(workload_.parameters.size(), kNone) {
    for (std::size_t p = 0; p < workload_.parameters.size(); ++p)
      add_parameter(workload_.parameters[p], kept.steps.empty() || kept.steps[p]);
    for (const BufferGroup& group : workload_.buffers) always_.buffers += group.bytes;
    for (std::size_t b = 0; b < buckets_.size(); ++b) add_bucket(b);
    if (job.options().ddp().comm_hook == CommHook::post_local_sgd) add_flat_parameters();
  }

  PeakMemory peak() const {
    Highest highest;
    highest.note(forward(), PeakMoment::forward);
    see_backward(highest);
    highest.see(optimizer(), PeakMoment::optimizer);
    if (keeps_gradients_) highest.see(rebuild(), PeakMoment::rebuild);
    if (flat_.bytes > Bytes()) highest.see(averaging(), PeakMoment::averaging);
    PeakMemory peak = std::move(highest).take();
    peak.activations = activations_.all();
    peak.rounding = allocator_.rounding();
    peak.segments = allocator_.segments();
    return peak;
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  /// `steps`: whether this rank's optimizer steps it.
  void add_parameter(const Parameter& parameter, bool steps) {
    const Bytes bytes = gradient_bytes(parameter).value_or(Bytes());
    OptimizerBytes optimizer = optimizer_bytes(job_.options().optimizer, parameter.dtype, bytes);
    if (!steps || parameter.frozen) optimizer = {};
    always_.parameters += bytes;
    always_.optimizer += optimizer.state;
    masters_ += optimizer.masters;
    if (steps && !parameter.frozen) {
      stepped_ += bytes;
      largest_ = std::max(largest_, bytes);
    }
    allocator_.allocate(bytes);
    allocator_.allocate(optimizer.state);
  }

  void add_bucket(std::size_t b) {
    const Bucket& bucket = buckets_[b];
    for (const std::size_t parameter : bucket.parameters) bucket_of_[parameter] = b;
    if (bucket.closed_by == ClosedBy::sparse) return;
    always_.buckets += bucket.bytes;
    allocator_.allocate(bucket.bytes);
    if (job_.options().ddp().comm_hook == CommHook::power_sgd) add_power_sgd(bucket);
  }

  /// powerSGD_hook's error, P and Q are kept from step to step.
  void add_power_sgd(const Bucket& bucket) {
    const LowRankElements kept =
        low_rank_elements(workload_, bucket, job_.options().ddp().power_sgd);
    const std::int64_t size = element_size(bucket.dtype);
    for (const Bytes tensor : {bucket.bytes, Bytes(kept.p * size), Bytes(kept.q * size)}) {
      always_.hook += tensor;
      allocator_.allocate(tensor);
    }
  }

  /// Parameters of the tensor's type are views of the tensor averaged last. The other parameters
  /// only keep it alive.
  void add_flat_parameters() {
    const FlatParameters flat = flat_parameters(workload_);
    always_.hook += flat.bytes - (flat.moved - flat.of_others);
    flat_ = flat;
    allocator_.allocate(flat_.bytes);
  }

  bool lies_in_bucket(std::size_t parameter) const {
    return views_ && bucket_of_[parameter] != kNone &&
           buckets_[bucket_of_[parameter]].closed_by != ClosedBy::sparse;
  }

  /// Gradients that are written at all: a parameter without a ready time has none.
  Bytes all_gradients() const {
    Bytes sum;
    for (const std::size_t parameter : written())
      if (!lies_in_bucket(parameter)) sum += bytes_of(parameter);
    return sum;
  }

  std::vector<std::size_t> written() const {
    std::vector<std::size_t> order;
    for (const ReadyEvent& event : workload_.backward->ready) order.push_back(event.parameter);
    return order;
  }

  Bytes bytes_of(std::size_t parameter) const {
    return gradient_bytes(workload_.parameters[parameter]).value_or(Bytes());
  }

  /// Size of a parameter's gradient outside the buckets, before it is written and after.
  struct OutsideBuckets {
    Bytes before;
    Bytes after;
  };

  OutsideBuckets outside_buckets(std::size_t parameter) const {
    const Bytes gradient = bytes_of(parameter);
    const bool accumulated = job_.options().accumulate > 1;
    if (!lies_in_bucket(parameter))
      return {.before = keeps_gradients_ || accumulated ? gradient : Bytes(), .after = gradient};
    // Under no_sync() nothing is moved into buckets. A gradient that was None is written outside
    // them.
    return {.before = accumulated && !keeps_gradients_ ? gradient : Bytes(), .after = {}};
  }

  /// With the gradients of earlier micro-batches, or of the last step.
  MemoryParts forward() const {
    MemoryParts now = always_;
    now.activations = activations_.kept();
    for (const std::size_t parameter : written())
      now.gradients += outside_buckets(parameter).before;
    return now;
  }

  void see_backward(Highest& highest) const {
    MemoryParts now = forward();
    const std::vector<std::size_t> order = written();
    std::vector<std::size_t> pending;
    for (const Bucket& bucket : buckets_) pending.push_back(bucket.parameters.size());
    for (std::size_t k = 0; k <= order.size(); ++k) {
      highest.next_gradient();
      const bool last = k == order.size();
      now.activations = activations_.held(k);
      now.temporaries = activations_.known() || last ? Bytes() : bytes_of(order[k]);
      // The engine frees the gradient it wrote when hooks, which fill buckets, have run.
      const std::size_t b = last ? kNone : bucket_of_[order[k]];
      const bool full = b != kNone && --pending[b] == 0;
      if (full) now.hook += cast_by_hook(buckets_[b]);
      highest.see(now, PeakMoment::backward);
      if (full) highest.see(while_hook_runs(now, buckets_[b], order[k]), PeakMoment::backward);
      if (last) break;
      const OutsideBuckets gradient = outside_buckets(order[k]);
      now.gradients = now.gradients - gradient.before + gradient.after;
      if (full && job_.options().ddp().optimizer_in_backward)
        now.gradients = now.gradients - stepped(buckets_[b]);
    }
  }

  /// `written` is the last gradient. The engine holds it until the hook returns.
  MemoryParts while_hook_runs(MemoryParts now, const Bucket& bucket, std::size_t written) const {
    if (job_.options().ddp().optimizer_in_backward)
      return most_while_stepping(bucket, now, written);
    now.hook += held_by_power_sgd(bucket);
    if (!lies_in_bucket(written)) now.gradients += now.temporaries;
    now.temporaries = Bytes();
    return now;
  }

  /// Gradients outside the bucket whose parameters have stepped; they are freed.
  Bytes stepped(const Bucket& bucket) const {
    Bytes sum;
    for (const std::size_t parameter : bucket.parameters) sum += outside_buckets(parameter).after;
    return sum;
  }

  /// Parameters step one after the other. A gradient outside the bucket is freed just before.
  MemoryParts most_while_stepping(const Bucket& bucket, MemoryParts now,
                                  std::size_t written) const {
    MemoryParts most = now;
    for (const std::size_t parameter : bucket.parameters) {
      const Bytes bytes = bytes_of(parameter);
      if (parameter != written)
        now.gradients = now.gradients - outside_buckets(parameter).after;
      else if (!lies_in_bucket(parameter))
        now.temporaries = Bytes();
      MemoryParts stepping = now;
      stepping.temporaries += bytes * temporaries_of_a_step();
      if (stepping.known() > most.known()) most = stepping;
    }
    return most;
  }

  /// Temporaries as large as the stepped parameter: on a CPU, and on a GPU if kernels do not
  /// process all parameters at once.
  int temporaries_of_a_step() const {
    const OptimizerSetting& setting = job_.options().optimizer;
    if (setting.fused) return 0;
    const bool adam = setting.kind == Optimizer::adam || setting.kind == Optimizer::adamw;
    return adam && (on_host(job_) || keeps_gradients_) ? 2 : 1;
  }

  Bytes cast_by_hook(const Bucket& bucket) const {
    const DdpOptions& ddp = job_.options().ddp();
    const bool hooked =
        ddp.comm_hook == CommHook::fp16_compress || ddp.comm_hook == CommHook::bf16_compress;
    const bool small = ddp.comm_hook_min_mb > 0 && !casts(ddp, bucket.dtype, bucket.bytes);
    if (!hooked || small || bucket.closed_by == ClosedBy::sparse) return {};
    return wire_bytes(ddp, bucket.dtype, bucket.bytes);
  }

  /// Held until the hook returns: the copy of the bucket, the next error in addition to the last,
  /// and gradients that travel whole.
  Bytes held_by_power_sgd(const Bucket& bucket) const {
    const DdpOptions& ddp = job_.options().ddp();
    if (ddp.comm_hook != CommHook::power_sgd) return {};
    const std::int64_t whole = low_rank_elements(workload_, bucket, ddp.power_sgd).whole;
    return bucket.bytes * 2 + Bytes(whole * element_size(bucket.dtype));
  }

  MemoryParts optimizer() const {
    MemoryParts now = always_;
    now.activations = activations_.left();
    if (job_.options().ddp().optimizer_in_backward) return now;  // counted in backward
    now.gradients = all_gradients();
    if (on_host(job_) || keeps_gradients_)
      now.temporaries = temporaries_of_a_step() * largest_;
    else if (!job_.options().optimizer.fused)
      now.temporaries = stepped_;
    now.temporaries += masters_;
    return now;
  }

  MemoryParts rebuild() const {
    MemoryParts now = always_;
    now.activations = activations_.left();
    now.gradients = all_gradients();
    if (views_ && bucket_limits(job_.options().ddp(), job_.options().torch).rebuilt_from)
      now.buckets += always_.buckets;
    return now;
  }

  MemoryParts averaging() const {
    MemoryParts now = always_;
    now.activations = activations_.left();
    now.gradients = all_gradients();
    now.hook += flat_.bytes;
    now.temporaries = flat_.largest_other;
    return now;
  }

  const Job& job_;
  const Workload& workload_;
  bool views_;
  HeldActivations activations_;
  bool keeps_gradients_;
  std::vector<Bucket> buckets_;
  Allocator allocator_;
  std::vector<std::size_t> bucket_of_;  ///< by parameter
  MemoryParts always_;
  Bytes masters_;
  Bytes stepped_;  ///< parameters that this rank's optimizer steps
  Bytes largest_;
  FlatParameters flat_;  ///< what local SGD averages
};

}  // namespace

PeakMemory peak_of(const Job& job, const ReducerBuckets& kept) {
  return ReducerMemory(job, kept).peak();
}

}  // namespace ddpsim
