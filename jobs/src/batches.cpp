#include "batches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/sim/data/data_supply.hpp"
#include "ddpsim/topologies/host_copy.hpp"
#include "ddpsim/topologies/topology.hpp"

namespace ddpsim {
namespace {

/// Throws InputError that says what needs the batch size, and what else would do.
void require_batch(const JobRequest& request, const Workload& workload, const char* needs,
                   const char* otherwise) {
  if (workload.batch_per_gpu) return;
  throw InputError({.file = request.workload.source,
                    .where = "/batch_per_gpu",
                    .message = needs,
                    .hint = fmt::format("Add batch_per_gpu to the workload, or {}", otherwise)});
}

/// Spreads evenly from the smallest to the largest, rank by rank.
std::vector<std::int64_t> spread_over(std::pair<std::int64_t, std::int64_t> range, int ranks) {
  std::vector<std::int64_t> inputs;
  for (int rank = 0; rank < ranks; ++rank)
    inputs.push_back(range.first + (range.second - range.first) * rank / std::max(ranks - 1, 1));
  if (ranks == 1) inputs.front() = range.second;
  return inputs;
}

/// Fills in the slowest link between a GPU and its CPU.
DataLoader data_loader(DataLoader loader, const JobRequest& request, const Workload& workload) {
  if (loader.sample || loader.storage)
    require_batch(
        request, workload,
        "--data-loader: sample and storage need the number of samples in a batch, which is "
        "unknown",
        "state the time of a batch: batch=120ms");
  const Topology topology = load_topology(request.cluster);
  const double seconds = seconds_of_a_batch(
      loader, static_cast<double>(workload.batch_per_gpu.value_or(1)), topology.cluster);
  if (seconds > kLongestBatchSeconds)
    throw UsageError(
        "--data-loader",
        fmt::format("a batch of {} samples takes {:.3g} s, but at most {:g} s can be simulated",
                    workload.batch_per_gpu.value_or(1), seconds, kLongestBatchSeconds));
  if (loader.batch_bytes > Bytes() && !loader.pcie)
    loader.pcie = host_copy_rate(topology).value_or(kHostCopy);
  return loader;
}

}  // namespace

UnevenInputs uneven_inputs(const UnevenRequest& request, int ranks) {
  using Range = std::pair<std::int64_t, std::int64_t>;
  const Range* range = std::get_if<Range>(&request.inputs);
  const std::vector<std::int64_t> inputs =
      range != nullptr ? spread_over(*range, ranks)
                       : std::get<std::vector<std::int64_t>>(request.inputs);
  if (inputs.size() != static_cast<std::size_t>(ranks))
    throw UsageError("--uneven-inputs", fmt::format("inputs names {} ranks, but the cluster has {}",
                                                    inputs.size(), ranks));
  UnevenInputs uneven{.least = *std::ranges::min_element(inputs),
                      .most = *std::ranges::max_element(inputs),
                      .total = 0,
                      .divide_by_initial_world_size = request.divide_by_initial_world_size,
                      .throw_on_early_termination = request.throw_on_early_termination};
  for (const std::int64_t count : inputs) uneven.total += count;
  return uneven;
}

void set_batches(const JobRequest& request, const Workload& workload, const Cluster& cluster,
                 SimulationOptions& options) {
  const DataRequest& data = request.data;
  if (data.set)
    require_batch(request, workload, "--dataset-size: the number of samples in a batch is unknown",
                  "leave the option out");
  options.data_set = data.set;
  if (data.uneven) options.uneven_inputs = uneven_inputs(*data.uneven, cluster.ranks());
  if (data.loader) options.data_loader = data_loader(*data.loader, request, workload);
}

}  // namespace ddpsim
