// Ranks that average parameters behind the optimizer now and then, without DDP (local_sgd.hpp has what that takes).
//
//   local_sgd  forward | backward | optimizer | a step's share of the averagings
//   slowmo     forward | backward | gradients divided one by one, flattened, all-reduced within the node, copied back; nothing
//              of it beside backward | optimizer | a step's share of the averagings and of slow momentum

#include "kernel_costs.hpp"
#include "local_sgd.hpp"
#include "process_groups.hpp"
#include "scheme_writer.hpp"
#include "schemes.hpp"

namespace ddpsim {
namespace {

/// Gradients of a node's ranks, brought together when backward is over; none where a node has one.
struct NodeGradients {
  Bytes bytes;
  std::int64_t tensors = 0;
};

RankStep write_step(const Job& job, const NodeGradients& gradients, const ModelAveraging& averaging,
                    SchemeWriter& writer) {
  for (int batch = 0; batch < writer.micro_batches(); ++batch) {
    writer.begin_batch(batch > 0);
    writer.forward_to(1);
    writer.end_backward();
    if (gradients.tensors == 0) continue;
    const KernelCosts& kernels = writer.kernels();
    writer.pack(kernels.kernels(gradients.tensors, 2 * gradients.bytes));
    writer.pack(kernels.copy(gradients.bytes));
    StepCollective collective = ProcessGroups(job, job.cluster().gpus_per_node)
                                    .within(CollectiveKind::all_reduce, gradients.bytes);
    collective.unit = "gradients";
    const EventId there = writer.streams().record_on_compute(OperationKind::backward);
    writer.wait_for(writer.launch({}, collective, {there}));
    writer.pack(kernels.copy(gradients.bytes));
  }
  writer.optimizer(1);
  writer.streams().compute(OperationKind::model_averaging, averaging.of_a_step());
  return writer.finish();
}

PlannedStep schedule(const Job& job, const NodeGradients& gradients, const StepKind& kind,
                     const std::vector<RankState>& states) {
  const ModelAveraging averaging = *model_averaging(job, KernelCosts(job));
  StepCollectives collectives;
  PlannedStep step = planned_step(
      job, states, collectives, [&](const RankClass& rank_class, const Recording& recording) {
        SchemeWriter writer(job, collectives, kind, rank_class, recording);
        return write_step(job, gradients, averaging, writer);
      });
  step.averaging = averaging;
  return step;
}

}  // namespace

PlannedStep schedule_averaging(const Job& job, const StepKind& kind,
                               const std::vector<RankState>& states) {
  return schedule(job, {}, kind, states);
}

/// Its hook runs behind every backward: of micro-batches too, whose sums it brings together once more.
PlannedStep schedule_slowmo(const Job& job, const StepKind& kind,
                            const std::vector<RankState>& states) {
  NodeGradients gradients;
  if (job.cluster().gpus_per_node > 1)
    for (const ReadyEvent& event : job.workload().backward->ready) {
      gradients.bytes += job.gradients()[event.parameter];
      ++gradients.tensors;
    }
  return schedule(job, gradients, kind, states);
}

}  // namespace ddpsim
