#include "sync_batch_norm.hpp"
#include "ddpsim/sim/values/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "rank_classes.hpp"

namespace ddpsim {
namespace {

constexpr TorchVersion kMasksEmptyRanks{1, 13};

std::int64_t channels_of(const Parameter& weight) {
  return gradient_bytes(weight).value_or(Bytes()).count() / element_size(weight.dtype);
}

/// Says why the process groups of SyncBatchNorm cannot have the given number of ranks.
std::optional<std::string> cannot_group(const Job& job) {
  const std::optional<int>& group = job.options().ddp().sync_batchnorm_group;
  if (!group) return std::nullopt;
  const int of_node = job.cluster().gpus_per_node;
  if (*group % of_node != 0 || job.cluster().ranks() % *group != 0)
    return fmt::format(
        "--sync-batchnorm-group {} does not divide {} nodes of {} GPUs into groups of whole nodes. "
        "Give a multiple of {} that divides {}",
        *group, job.cluster().nodes, of_node, of_node, job.cluster().ranks());
  if (std::holds_alternative<FlowModel>(job.model()))
    return "SyncBatchNorm's own process groups are not simulated over the flow network, which "
           "simulates only collectives of all ranks. Leave out --network flow or "
           "--sync-batchnorm-group";
  if (!job.has_group(*group / of_node))
    return "the cluster's nodes differ, so ddpsim does not know how long SyncBatchNorm's exchanges "
           "within some of them take. Leave out --sync-batchnorm-group";
  return std::nullopt;
}

}  // namespace

std::vector<std::size_t> synced_layers(const Job& job) {
  std::vector<std::size_t> layers;
  const Workload& workload = job.workload();
  if (!job.options().ddp().sync_batchnorm || workload.recorded_with.sync_batchnorm ||
      job.options().ddp().sync_batchnorm_group.value_or(job.cluster().ranks()) == 1)
    return layers;
  for (const ReadyEvent& event : workload.backward->ready)
    if (workload.parameters[event.parameter].batch_norm) layers.push_back(event.parameter);
  return layers;
}

Job batch_norm_job(const Job& job) {
  const std::optional<int>& group = job.options().ddp().sync_batchnorm_group;
  return group ? job.within(*group / job.cluster().gpus_per_node) : job;
}

// Statistics are fp32 even under autocast.
Bytes gathered_statistics(const Parameter& weight, int ranks) {
  return Bytes(4) * (2 * channels_of(weight) + 1) * ranks;
}

Bytes reduced_statistics(const Parameter& weight) {
  return Bytes(4) * (2 * channels_of(weight));
}

int blocking_reads(TorchVersion torch) {
  return torch >= kMasksEmptyRanks ? 3 : 1;
}

std::vector<double> shares_of_forward(const Recorded& recorded,
                                      const std::vector<std::size_t>& layers) {
  const double backward = std::max(recorded.backward->duration.seconds(), 1e-12);
  std::vector<double> shares(layers.size());
  // All ranks write their gradients in the order of the layers (cannot_synchronise).
  std::size_t next = 0;
  for (const ReadyEvent& event : recorded.backward->ready)
    if (next < layers.size() && event.parameter == layers[next])
      shares[next++] = std::clamp(1 - event.at.seconds() / backward, 0.0, 1.0);
  return shares;
}

std::optional<std::string> cannot_synchronise(const Job& job) {
  const Workload& workload = job.workload();
  const int micro_batches = job.options().accumulate;
  if (std::optional<std::string> problem = cannot_group(job)) return problem;
  const auto layers = static_cast<std::int64_t>(synced_layers(job).size());
  if (layers == 0) return std::nullopt;
  for (const RankRecording& rank : workload.ranks)
    if (!same_order(rank, workload))
      return fmt::format(
          "rank {} wrote its gradients in another order, so SyncBatchNorm's collectives would not "
          "match. Give the recording of one rank, or leave out --sync-batchnorm",
          rank.rank);
  if (2 * layers * micro_batches > kMostSimulatedCollectives)
    return fmt::format(
        "{} layers of SyncBatchNorm exchange {} times in a step of {} micro-batches. At most {} "
        "exchanges are simulated",
        layers, 2 * layers * micro_batches, micro_batches, kMostSimulatedCollectives);
  return std::nullopt;
}

}  // namespace ddpsim
