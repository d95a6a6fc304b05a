// DDP's Python reducer (optimize_ddp="python_reducer", with compiled autograd). Sources:
// torch/nn/parallel/distributed.py and torch/_inductor/fx_passes/ddp_fusion.py. The C++ reducer is
// off. A hook divides and all-reduces each gradient inside the compiled backward. Inductor fuses
// these all-reduces: a run of them closes when its bytes reach the limit, which is first 1 MiB,
// then bucket_cap_mb.
//
// The compute stream runs:
// - forward
// - the gradients; after the last one of a bucket, its gradients are put into one tensor and
//   divided
// - after backward, the copies back, bucket by bucket as each all-reduce ends
// - the optimizer
//
// Each all-reduce starts as soon as its tensor exists, and compute continues during it, in the same
// graph.
//
// Buffers are not broadcast, because the Python reducer's _pre_forward returns before that. The
// order of all-reduces is that of the traced hooks, here taken from the recording. Inductor may
// reorder kernels; that is not predicted.

#include <fmt/format.h>

#include <vector>

#include "schedules.hpp"
#include "scheme_writer.hpp"

namespace ddpsim {
namespace {

/// Fused all-reduce. `end` is one past its last gradient, in the order written.
struct Fused {
  std::size_t end;
  Bytes bytes;
};

std::vector<Fused> fused(const Job& job, const Recorded& recorded) {
  const CutLimits limits = fusion_limits(job.options().ddp());
  const std::vector<ReadyEvent>& ready = recorded.backward->ready;
  std::vector<Fused> all;
  Bytes held;
  std::size_t last = 0;
  for (std::size_t k = 0; k < ready.size(); ++k) {
    if (job.workload().parameters[ready[k].parameter].ignored) continue;
    held += job.gradients()[ready[k].parameter];
    last = k + 1;
    if (held < (all.empty() ? limits.first : limits.cap)) continue;
    all.push_back({last, held});
    held = Bytes();
    last = 0;
  }
  if (last > 0) all.push_back({last, held});
  return all;
}

class PythonReducerWriter {
 public:
  PythonReducerWriter(const Job& job, const std::vector<Fused>& buckets,
                      StepCollectives& collectives, const StepKind& kind,
                      const RankClass& rank_class, const Recording& recording)
      : job_(job), buckets_(buckets), writer_(job, collectives, kind, rank_class, recording) {}

  RankStep write() {
    for (int batch = 0; batch < writer_.micro_batches(); ++batch) {
      writer_.begin_batch(batch > 0);
      writer_.forward_to(1);
      if (batch + 1 == writer_.micro_batches()) reduce();
      writer_.end_backward();
    }
    for (std::size_t b = 0; b < launched_.size(); ++b) {
      writer_.wait_for(launched_[b]);
      writer_.pack(writer_.kernels().copy(buckets_[b].bytes));
    }
    writer_.optimizer(1);
    return writer_.finish();
  }

 private:
  void reduce() {
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
      writer_.backward_to(buckets_[b].end - 1);
      writer_.pack(writer_.kernels().copy(buckets_[b].bytes));
      StepCollective collective =
          planned_collective(job_, CollectiveKind::all_reduce, buckets_[b].bytes, kUnrecorded);
      collective.unit = fmt::format("bucket {}", b);
      const EventId there = writer_.streams().record_on_compute(OperationKind::backward);
      launched_.push_back(writer_.launch_async({}, collective, {there}));
    }
  }

  const Job& job_;
  const std::vector<Fused>& buckets_;
  SchemeWriter writer_;
  std::vector<SchemeWriter::Launched> launched_;
};

}  // namespace

PlannedStep schedule_python_reducer(const StepToPlan& step) {
  const std::vector<Fused> buckets = fused(step.job, step.job.workload());
  return write_classes<PythonReducerWriter>(step, buckets);
}

}  // namespace ddpsim
