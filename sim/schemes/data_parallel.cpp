// torch.nn.DataParallel, version 2.13 (torch/nn/parallel/data_parallel.py, replicate.py,
// parallel_apply.py, _functions.py and comm.py; torch/csrc/cuda/comm.cpp). One process drives all
// GPUs of a node. Only GPU 0 keeps its parameters from step to step.
//
// The compute stream runs:
// - parameters and buffers, copied into a flat tensor for each broadcast
// - forward, on the GPU's share of the batch
// - backward
// - gradients, copied into a flat tensor for each reduce
// - the optimizer, on GPU 0
//
// The communicator scatters inputs, broadcasts, gathers outputs, scatters their gradients, and
// reduces to GPU 0.
//
// On the host, one thread per GPU launches forward. The threads take turns at the interpreter, so
// this takes the launches of one GPU times the number of GPUs. Backward is C++: each GPU has a
// thread of its own, which no other holds up.
//
// A broadcast or reduce carries at most 10 MiB of one type, or one tensor that is larger by itself
// (broadcast_coalesced, reduce_add_coalesced). A tensor alone is sent from its own memory. All
// parameters are outputs of one node of the autograd graph, whose backward begins when all their
// gradients exist. So no reduce overlaps backward. Each micro-batch does all of this, and its
// reduced gradients are added to those of GPU 0. NCCL runs broadcasts and reduces. What is
// scattered and gathered is N - 1 shares over one link of GPU 0. The step is GPU 0's, and its loss
// is part of the recorded forward.
//
// With N GPUs and P bytes of parameters, a GPU sends P and receives P in each of the two phases,
// because NCCL uses a chain and not a star. Left out: Python's work for each module and replica
// (replicate), which no log shows, and copies between GPUs without NCCL.

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

/// Adds tensors to the open group of their type. A group is sent when the next tensor does not fit.
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
  if (job.cluster().ranks() == 1) return plan;  // only calls its module
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
  /// Sends on the compute streams; nothing overlaps it.
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
        "--scheme data_parallel: one process drives the GPUs of one node, but {} has {} nodes. "
        "Take one of them, or use --scheme ddp",
        cluster.name, cluster.hosts());
  if (std::holds_alternative<GlooModel>(job.model()))
    return "--scheme data_parallel sends with NCCL and has no process group. Leave out --backend "
           "gloo";
  return std::nullopt;
}

}  // namespace

/// In memory: GPU 0. It keeps the gradients of its own replica and the reduced gradients, which
/// become the parameters' gradients. Inputs and outputs are not counted.
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
            "broadcasts and reduces are not calibrated: their times come from logs of all-reduces. "
            "The time of Python for each replica's modules is left out, so the prediction is too "
            "short if a model has many small modules"};
      }};
}

}  // namespace ddpsim
