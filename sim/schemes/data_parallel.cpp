// torch.nn.DataParallel (torch/nn/parallel/data_parallel.py, replicate.py, parallel_apply.py, _functions.py,
// torch/nn/parallel/comm.py, torch/csrc/cuda/comm.cpp; 2.13): one process drives all GPUs of a node, and GPU 0 has the only
// parameters that last.
//
//   compute       parameters and buffers into a flat tensor, for each broadcast | forward, of the GPU's share of the batch |
//                 backward | gradients into a flat tensor, for each reduce | optimizer, on GPU 0
//   communicator  inputs scattered | broadcasts | outputs gathered | their gradients scattered | reduces to GPU 0
//   host          forward is launched by a thread for each GPU, which take turns at the interpreter: as many times one GPU's
//                 launches. Backward is C++, by a thread for each GPU that none holds up
//
// Broadcasts and reduces carry at most 10 MiB of one type, and a tensor that is larger by itself (broadcast_coalesced,
// reduce_add_coalesced); a tensor alone is sent from where it is. All parameters are outputs of one node of the autograd graph,
// whose backward begins when it has all their gradients: nothing of the reduces hides behind backward. Each micro-batch
// does all of it; what it reduces is added to the gradients of GPU 0. NCCL carries both; what is scattered and gathered is
// N - 1 shares over one link of GPU 0. The step is that of GPU 0, whose loss is a part of the recorded forward.
//
// N GPUs, P bytes of parameters: a GPU sends P and receives P in each of the two phases, NCCL's chain and not a star.
// Not here: Python's work for each module and replica (replicate), of which no log tells, and copies between GPUs without NCCL.

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scheme_writer.hpp"
#include "schemes.hpp"

namespace ddpsim {
namespace {

/// buffer_size of torch.nn.parallel.comm.
constexpr Bytes kCoalesced{10 * 1024 * 1024};

/// Tensors of one type that travel together.
struct Coalesced {
  Bytes bytes;
  std::int64_t tensors = 0;
};

/// Adds tensors of a type to its open group, which is sent when the next one no longer fits.
class Coalescing {
 public:
  void add(Dtype dtype, Bytes bytes) {
    Coalesced& open = open_[dtype];
    if (open.tensors > 0 && open.bytes + bytes > kCoalesced)
      full_.push_back(std::exchange(open, {}));
    open.bytes += bytes;
    ++open.tensors;
  }
  std::vector<Coalesced> take() {
    for (const auto& [dtype, group] : open_) full_.push_back(group);
    return std::move(full_);
  }

 private:
  std::map<Dtype, Coalesced> open_;
  std::vector<Coalesced> full_;
};

struct Sent {
  Coalesced what;
  StepCollective collective;
};

struct DataParallelPlan {
  std::vector<Sent> parameters;
  std::vector<Sent> buffers;
  std::vector<Sent> gradients;
  std::optional<StepCollective> inputs;
  std::optional<StepCollective> outputs;
  std::optional<StepCollective> output_gradients;
  Bytes all_gradients;
};

StepCollective sent_by(const Job& job, CollectiveKind kind, Bytes bytes, std::string unit,
                       StepPhase phase) {
  StepCollective collective = planned_collective(job, kind, bytes, kUnrecorded);
  collective.unit = std::move(unit);
  collective.phase = phase;
  return collective;
}

std::vector<Sent> sent_together(const Job& job, CollectiveKind kind,
                                const std::vector<Coalesced>& groups, const char* of,
                                StepPhase phase) {
  std::vector<Sent> sent;
  for (const Coalesced& group : groups)
    sent.push_back(
        {group, sent_by(job, kind, group.bytes, fmt::format("{} {}", of, sent.size()), phase)});
  return sent;
}

DataParallelPlan plan_data_parallel(const Job& job, const DataParallel& scheme) {
  DataParallelPlan plan;
  if (job.cluster().ranks() == 1) return plan;  // calls its module, no more
  const Workload& workload = job.workload();
  Coalescing parameters;
  for (std::size_t p = 0; p < workload.parameters.size(); ++p) {
    parameters.add(workload.parameters[p].dtype, job.gradients()[p]);
    plan.all_gradients += job.gradients()[p];
  }
  const std::vector<Coalesced> groups = parameters.take();
  plan.parameters =
      sent_together(job, CollectiveKind::broadcast, groups, "parameters", StepPhase::forward);
  plan.gradients =
      sent_together(job, CollectiveKind::reduce, groups, "gradients", StepPhase::backward);
  std::vector<Coalesced> buffers;
  for (const BufferGroup& group : workload.buffers) buffers.push_back({group.bytes, group.tensors});
  plan.buffers =
      sent_together(job, CollectiveKind::broadcast, buffers, "buffers", StepPhase::forward);
  const std::int64_t others = job.cluster().ranks() - 1;
  const auto shares = [&](Bytes of_one, const char* unit,
                          StepPhase phase) -> std::optional<StepCollective> {
    if (of_one == Bytes()) return std::nullopt;
    return sent_by(job, CollectiveKind::send_recv, of_one * others, unit, phase);
  };
  plan.inputs = shares(scheme.inputs, "inputs", StepPhase::forward);
  plan.outputs = shares(scheme.outputs, "outputs", StepPhase::forward);
  plan.output_gradients = shares(scheme.outputs, "gradients of outputs", StepPhase::backward);
  return plan;
}

class DataParallelWriter {
 public:
  DataParallelWriter(const Job& job, const DataParallelPlan& plan, StepCollectives& collectives,
                     const StepKind& kind, const RankClass& rank_class, const Recording& recording)
      : plan_(plan),
        gpus_(job.cluster().ranks()),
        writer_(job, collectives, kind, rank_class, recording) {}

  RankStep write() {
    for (int batch = 0; batch < writer_.micro_batches(); ++batch) {
      writer_.begin_batch(gpus_ == 1 && batch > 0);
      send(plan_.inputs, OperationKind::forward);
      send(plan_.parameters, OperationKind::forward);
      send(plan_.buffers, OperationKind::forward);
      writer_.forward_to(1, gpus_);
      send(plan_.outputs, OperationKind::forward);
      send(plan_.output_gradients, OperationKind::backward);
      writer_.end_backward();
      send(plan_.gradients, OperationKind::backward);
      if (gpus_ > 1 && batch > 0) writer_.pack(writer_.kernels().accumulate(plan_.all_gradients));
    }
    writer_.optimizer(1);
    return writer_.finish();
  }

 private:
  void send(const std::vector<Sent>& all, OperationKind behind) {
    for (const Sent& one : all) {
      if (one.what.tensors > 1) writer_.pack(writer_.kernels().copy(one.what.bytes));
      send(one.collective, behind);
    }
  }
  void send(const std::optional<StepCollective>& one, OperationKind behind) {
    if (one) send(*one, behind);
  }
  /// On the streams that compute: nothing goes on beside it.
  void send(const StepCollective& collective, OperationKind behind) {
    writer_.launch_and_wait(collective, behind);
  }

  const DataParallelPlan& plan_;
  const int gpus_;
  SchemeWriter writer_;
};

PlannedStep schedule(const StepToPlan& step, const DataParallel& scheme) {
  const DataParallelPlan plan = plan_data_parallel(step.job, scheme);
  return write_classes<DataParallelWriter>(step, plan);
}

std::optional<std::string> cannot_drive(const Job& job) {
  const Cluster& cluster = job.cluster();
  if (cluster.hosts() > 1)
    return fmt::format(
        "--scheme data_parallel: one process drives the GPUs of one node, and {} has {} nodes; "
        "take "
        "one of them, or ddp",
        cluster.name, cluster.hosts());
  if (std::holds_alternative<GlooModel>(job.model()))
    return "--scheme data_parallel sends by NCCL, with no process group: leave out --backend gloo";
  return std::nullopt;
}

}  // namespace

/// In memory: GPU 0, with gradients of its own replica and what all replicas' were reduced to, which become those of the
/// parameters. Inputs and outputs are not counted.
SchemeRules rules_of(const DataParallel& scheme) {
  return {
      .schedule = [&scheme](const StepToPlan& step) { return schedule(step, scheme); },
      .kept_in_memory = [](const Job& job) -> KeptInMemory {
        return WholeTensors{.gradients = job.cluster().ranks() > 1 ? all_gradients(job) : Bytes()};
      },
      .changed_numerics = same_numerics,
      .cannot_simulate = [](const Job& job) -> std::optional<std::string> {
        return cannot_drive(job);
      },
      .rests_on = [](const Job& /*job*/) -> std::vector<std::string> {
        return {
            "broadcasts and reduces are timed by what logs of all-reduces taught, and what Python "
            "takes for each replica's modules is left out: a lower bound where many small modules "
            "are replicated"};
      }};
}

}  // namespace ddpsim
