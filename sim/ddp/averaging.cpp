// Schemes without DDP whose ranks average parameters after the optimizer every few steps
// (local_sgd.hpp gives the cost).
//
// A step of local_sgd: forward, backward, optimizer, and its share of the averagings.
//
// A step of slowmo: forward, backward, gradients reduced within the node, optimizer, and its share
// of the averagings and of slow momentum. Gradients are divided one by one, flattened, all-reduced
// and copied back. None of that overlaps backward.

#include <algorithm>

#include "kernel_costs.hpp"
#include "local_sgd.hpp"
#include "process_groups.hpp"
#include "reducer_schemes.hpp"
#include "scheme_writer.hpp"

namespace ddpsim {
namespace {

/// Gradients that the ranks of a node reduce after backward. Empty if a node has one rank.
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

PlannedStep schedule(const StepToPlan& step, const NodeGradients& gradients) {
  const ModelAveraging averaging = *model_averaging(step.job, KernelCosts(step.job));
  StepCollectives collectives;
  PlannedStep planned =
      planned_step(step.job, step.states, collectives,
                   [&](const RankClass& rank_class, const Recording& recording) {
                     SchemeWriter writer(step.job, collectives, step.kind, rank_class, recording);
                     return write_step(step.job, gradients, averaging, writer);
                   });
  planned.averaging = averaging;
  return planned;
}

/// SlowMo's hook runs after every backward. In micro-batches too, it reduces the gradients
/// accumulated so far.
NodeGradients gradients_of_node(const Job& job) {
  NodeGradients gradients;
  if (job.cluster().gpus_per_node > 1)
    for (const ReadyEvent& event : job.workload().backward->ready) {
      gradients.bytes += job.gradients()[event.parameter];
      ++gradients.tensors;
    }
  return gradients;
}

std::optional<std::string> cannot_average_in_groups(const Job& job,
                                                    const PeriodicAveraging& scheme) {
  for (const int ranks : scheme.groups(job.cluster().gpus_per_host()))
    if (auto problem = cannot_group(job, ranks, "--scheme local_sgd: hierarchy, a group"))
      return problem;
  return std::nullopt;
}

/// What SlowMo keeps: the momentum and the parameters it is computed from. With shards, one
/// shard's.
WholeTensors kept_by_slowmo(const Job& job, const SlowMo& scheme) {
  const Bytes all = flat_parameters(job.workload()).bytes;
  const int shards = scheme.slowmo_memory_efficient
                         ? std::min(scheme.slowmo_num_shards, job.cluster().ranks())
                         : 1;
  const Bytes shard((all.count() + shards - 1) / shards);
  return {.gradients = job.cluster().gpus_per_node > 1 ? all : Bytes(),
          .averaged = job.cluster().nodes > 1 ? all : shard,
          .between_averages = 2 * shard};
}

}  // namespace

SchemeRules rules_of(const PeriodicAveraging& scheme) {
  return {.schedule = [](const StepToPlan& step) { return schedule(step, {}); },
          .kept_in_memory = [](const Job& job) -> KeptInMemory {
            const FlatParameters flat = flat_parameters(job.workload());
            return WholeTensors{.averaged = flat.bytes, .widened = flat.largest_other};
          },
          .changed_numerics = [](const Job& /*job*/) -> std::string {
            return "ranks train apart between averages of their parameters";
          },
          .cannot_simulate =
              [&scheme](const Job& job) { return cannot_average_in_groups(job, scheme); },
          .rests_on = as_sure_as_ddp};
}

SchemeRules rules_of(const SlowMo& scheme) {
  return {.schedule =
              [](const StepToPlan& step) { return schedule(step, gradients_of_node(step.job)); },
          .kept_in_memory = [&scheme](const Job& job) -> KeptInMemory {
            return kept_by_slowmo(job, scheme);
          },
          .changed_numerics = [](const Job& /*job*/) -> std::string { return kNodesApart; },
          .cannot_simulate = [](const Job& job) -> std::optional<std::string> {
            if (job.cluster().hosts_per_node > 1) return std::nullopt;  // cannot_average says why
            return cannot_group(job, job.cluster().gpus_per_node,
                                "--scheme slowmo: a node's group");
          },
          .rests_on = rests_on_all_reduce_logs};
}

}  // namespace ddpsim
