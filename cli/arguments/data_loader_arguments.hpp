// --data-loader KEY=VALUE,…: how the batches of a step are loaded.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/sim/values/cluster.hpp"
#include "ddpsim/sim/values/data_loader.hpp"
#include "ddpsim/sim/values/workload.hpp"
#include "ddpsim/topologies/cluster_source.hpp"

namespace CLI {
class App;
}

namespace ddpsim {

void add_data_loader_option(CLI::App& command, std::optional<std::string>& data_loader);

/// Throws UsageError: a key or a value that there is not, or parts that do not go together.
DataLoader parse_data_loader(const std::string& text);

/// What the workload and the cluster's nodes say of it is filled in: the slowest link between a GPU and its CPU. Throws
/// InputError where a time per sample meets a workload that does not say how many a batch has.
DataLoader data_loader_of(const std::string& text, const std::string& workload_source,
                          const Workload& workload, const ClusterRequest& cluster);

}  // namespace ddpsim
