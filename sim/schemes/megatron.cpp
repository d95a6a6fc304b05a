// Megatron-Core's DistributedDataParallel with its distributed optimizer
// (megatron/core/distributed/distributed_data_parallel.py and param_and_grad_buffer.py, and
// megatron/core/optimizer).
//
// The compute stream sets all gradients to zero and runs forward. In backward it adds each gradient
// to the buffer. Then it computes the norm, steps this rank's share of every bucket, and casts it
// back.
//
// The communicator runs:
// - a reduce-scatter of gradients per bucket, after a kernel that scales them, when the bucket's
//   last gradient exists (overlap_grad_reduce)
// - without overlap_grad_reduce, one reduce-scatter of everything after backward
// - all-gathers of parameters after the optimizer, one after the other
// - or all-gathers in the next forward (overlap_param_gather): the first module waits for its
//   bucket, and a module that has waited sends for the next bucket
//
// The host reads the norm before the optimizer.
//
// Buckets hold parameters from the last one defined to the first. A bucket closes when it holds
// bucket_size elements or more; without overlap_grad_reduce there is one bucket. Parameters begin
// at a multiple of 64 elements. Buckets end at a multiple of 128 and of the ranks. Only the last
// micro-batch is reduced.
//
// Not simulated: gradients added by a layer's own GEMM (gradient_accumulation_fusion), several
// instances of the optimizer, and pad_buckets_for_high_nccl_busbw.

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "gradient_buckets.hpp"
#include "scheme_writer.hpp"
#include "schemes.hpp"
#include "unit_sizes.hpp"
#include "units.hpp"

namespace ddpsim {
namespace {

constexpr std::int64_t kParameterAlignment = 64;
constexpr std::int64_t kBucketAlignment = 128;
constexpr std::int64_t kLeastBucket = 40'000'000;
constexpr std::int64_t kBucketPerRank = 1'000'000;

struct MegatronBucket {
  std::int64_t elements = 0;  ///< padded
  Bytes gradients;            ///< in the buffer
  StepCollective reduce;
  StepCollective gather;
};

struct MegatronPlan {
  const MegatronOptimizer& scheme;
  GradientBuckets buckets;
  std::vector<MegatronBucket> planned;
  std::vector<std::size_t> bucket_of;  ///< by parameter
  std::vector<Unit> modules;           ///< in forward, for overlap_param_gather
  StepCollective norm;
  Bytes gradients;  ///< in the buffer
  Bytes stepped;
  Bytes stepped_cast;
  double stepped_share = 1;
};

MegatronPlan plan_megatron(const Job& job, const MegatronOptimizer& scheme) {
  const Workload& workload = job.workload();
  const std::int64_t ranks = job.cluster().ranks();
  std::optional<std::int64_t> least;
  if (scheme.overlap_grad_reduce)
    least = scheme.bucket_size.value_or(std::max(kLeastBucket, kBucketPerRank * ranks));
  MegatronPlan plan{
      .scheme = scheme,
      .buckets = {},
      .planned = {},
      .bucket_of = std::vector<std::size_t>(workload.parameters.size()),
      .modules = {},
      .norm = planned_collective(job, CollectiveKind::all_reduce, Bytes(4), kUnrecorded)};
  plan.norm.unit = "gradient norm";
  plan.norm.phase = StepPhase::optimizer;
  std::vector<std::size_t> order = parameters_as_defined(workload);
  std::ranges::reverse(order);
  std::int64_t held = 0;
  bool full = true;
  std::int64_t all = 0;
  for (const std::size_t parameter : order) {
    if (std::exchange(full, false)) {
      plan.buckets.emplace_back();
      held = 0;
    }
    plan.buckets.back().push_back(parameter);
    plan.bucket_of[parameter] = plan.buckets.size() - 1;
    const std::int64_t elements = elements_of(workload.parameters[parameter]);
    all += elements;
    held = padded_to(kParameterAlignment, held) + elements;
    full = least && held >= *least;
    if (plan.planned.size() < plan.buckets.size()) plan.planned.emplace_back();
    plan.planned.back().elements = padded_to(std::lcm(ranks, kBucketAlignment), held);
  }
  std::int64_t stepped = 0;
  for (std::size_t b = 0; b < plan.planned.size(); ++b) {
    MegatronBucket& bucket = plan.planned[b];
    const Dtype stored = workload.parameters[plan.buckets[b].front()].dtype;
    const Dtype computed = scheme.param_dtype.value_or(stored);
    const Dtype reduced = scheme.grad_reduce_in_fp32 ? Dtype::float32 : computed;
    const auto of_bucket = [&](CollectiveKind kind, Dtype dtype, StepPhase phase) {
      const Bytes bytes(bucket.elements * element_size(dtype));
      return named(planned_collective(job, kind, bytes, kUnrecorded), fmt::format("bucket {}", b),
                   phase);
    };
    bucket.gradients = Bytes(bucket.elements * element_size(reduced));
    bucket.reduce = of_bucket(CollectiveKind::reduce_scatter, reduced, StepPhase::backward);
    bucket.gather =
        of_bucket(CollectiveKind::all_gather, computed,
                  scheme.overlap_param_gather ? StepPhase::forward : StepPhase::optimizer);
    plan.gradients += bucket.gradients;
    stepped += bucket.elements / ranks;
    plan.stepped += Bytes(bucket.elements / ranks * element_size(Dtype::float32));
    plan.stepped_cast += Bytes(bucket.elements / ranks * element_size(computed));
  }
  plan.stepped_share = share_of(Bytes(stepped), Bytes(all));
  if (scheme.overlap_param_gather)
    plan.modules = units_of(workload, {.by = WrapPolicy::By::leaves, .modules = {}});
  return plan;
}

class MegatronWriter {
 public:
  MegatronWriter(const Job& job, const MegatronPlan& plan, StepCollectives& collectives,
                 const StepKind& kind, const RankClass& rank_class, const Recording& recording)
      : job_(job),
        plan_(plan),
        writer_(job, collectives, kind, rank_class, recording),
        streams_(writer_.streams()),
        complete_(complete_after(plan.buckets, recording)),
        gathers_(plan.buckets.size()) {}

  RankStep write() {
    writer_.pack(writer_.kernels().zero_fill(plan_.gradients));
    for (int batch = 0; batch < writer_.micro_batches(); ++batch) {
      // Gradients are added to the buffer in any case.
      writer_.begin_batch(false);
      if (batch == 0 && plan_.scheme.overlap_param_gather) gather_in_forward();
      writer_.forward_to(1);
      backward(batch + 1 == writer_.micro_batches());
    }
    step();
    return writer_.finish();
  }

 private:
  using Launched = SchemeWriter::Launched;

  void gather_in_forward() {
    for (const UnitHook& hook :
         forward_hooks(plan_.modules, spans_of(plan_.modules, writer_.recording()))) {
      if (hook.when != UnitHook::When::before) continue;
      writer_.forward_to(hook.forward);
      for (const std::size_t parameter : plan_.modules[hook.unit].parameters)
        if (!job_.workload().parameters[parameter].frozen)
          finish_gather(plan_.bucket_of[parameter]);
    }
  }
  void finish_gather(std::size_t bucket) {
    start_gather(bucket);
    if (std::exchange(gathers_[bucket].is_there, true)) return;
    writer_.wait_for(*gathers_[bucket].launched);
    if (bucket > 0) start_gather(bucket - 1);  // forward reads the last bucket first
  }
  void start_gather(std::size_t bucket) {
    if (gathers_[bucket].launched) return;
    gathers_[bucket].launched = writer_.launch(
        {}, plan_.planned[bucket].gather, {streams_.record_on_compute(OperationKind::forward)});
  }

  void backward(bool last) {
    std::size_t next = 0;
    for (std::size_t k = 0; k < writer_.recording().gradients(); ++k) {
      writer_.backward_to(k);
      const std::size_t parameter = writer_.recording().gradient(k).parameter;
      if (job_.workload().parameters[parameter].ignored) continue;
      writer_.call_hook(job_.options().costs.host_hook);
      add(parameter);
      if (!last || !plan_.scheme.overlap_grad_reduce) continue;
      while (next < complete_.size() && complete_[next] <= k + 1)
        reduced_.push_back(reduce(next++));
    }
    writer_.end_backward();
    if (!last) return;
    while (next < complete_.size()) reduced_.push_back(reduce(next++));
    for (const Launched& reduced : reduced_) writer_.wait_for(reduced);
  }

  void add(std::size_t parameter) {
    const Parameter& of = job_.workload().parameters[parameter];
    const Dtype computed = plan_.scheme.param_dtype.value_or(of.dtype);
    const Dtype kept = plan_.scheme.grad_reduce_in_fp32 ? Dtype::float32 : computed;
    writer_.pack(writer_.kernels().kernels(
        1, Bytes(elements_of(of) * (element_size(computed) + 2 * element_size(kept)))));
  }

  Launched reduce(std::size_t bucket) {
    const MegatronBucket& planned = plan_.planned[bucket];
    writer_.pack(writer_.kernels().copy(planned.gradients));  // scale
    return writer_.launch({}, planned.reduce, {streams_.record_on_compute(OperationKind::pack)});
  }

  void step() {
    writer_.launch_and_wait(plan_.norm, OperationKind::backward);
    writer_.read_on_host();
    writer_.optimizer(plan_.stepped_share);
    writer_.pack(writer_.kernels().cast(plan_.stepped, plan_.stepped_cast));
    if (plan_.scheme.overlap_param_gather) return;  // the next forward gathers
    for (const MegatronBucket& bucket : plan_.planned)
      writer_.launch_and_wait(bucket.gather, OperationKind::optimizer);
  }

  struct Gather {
    std::optional<Launched> launched;
    bool is_there = false;
  };

  const Job& job_;
  const MegatronPlan& plan_;
  SchemeWriter writer_;
  RankStreams& streams_;
  const std::vector<std::size_t> complete_;  ///< by bucket
  std::vector<Gather> gathers_;              ///< by bucket
  std::vector<Launched> reduced_;
};

PlannedStep schedule(const StepToPlan& step, const MegatronOptimizer& scheme) {
  const MegatronPlan plan = plan_megatron(step.job, scheme);
  PlannedStep planned = write_classes<MegatronWriter>(step, plan);
  planned.host_reads = true;
  return planned;
}

/// Whole parameters, one buffer for all gradients, and fp32 copies and state of the rank's own
/// part.
MixedPrecision kept_in_memory(const Job& job, const MegatronOptimizer& scheme) {
  const std::int64_t ranks = job.cluster().ranks();
  const MixedSizes model = mixed_sizes(job, scheme.param_dtype, 0);
  const std::int64_t owned = (model.trained + ranks - 1) / ranks;
  const bool single = model.size >= element_size(Dtype::float32);
  return {.parameters = model.computed(model.elements),
          .gradients = scheme.grad_reduce_in_fp32 ? MixedSizes::single(model.trained)
                                                  : model.computed(model.trained),
          .optimizer = MixedSizes::single(owned) * (model.states + (single ? 0 : 1)),
          .element_size = model.size,
          .stepped = scheme.grad_reduce_in_fp32 || single ? Bytes() : MixedSizes::single(owned)};
}

}  // namespace

SchemeRules rules_of(const MegatronOptimizer& scheme) {
  return {.schedule = [&scheme](const StepToPlan& step) { return schedule(step, scheme); },
          .kept_in_memory = [&scheme](const Job& job) -> KeptInMemory {
            return kept_in_memory(job, scheme);
          },
          .changed_numerics = [&scheme](const Job& job) -> std::string {
            return scheme.grad_reduce_in_fp32 ? "" : narrowed_gradients(job, scheme.param_dtype);
          },
          .cannot_simulate = nothing_hinders,
          .rests_on = gathers_rest_on_all_reduce_logs};
}

}  // namespace ddpsim
