// Applies --nodes and --gpus-per-node to the description of a cluster.
#include <fmt/format.h>

#include <utility>

#include "ddpsim/formats/input_error.hpp"
#include "description.hpp"

namespace ddpsim {
namespace {

[[noreturn]] void misfit(std::string where, std::string message, Hint hint) {
  throw InputError({"command line", std::move(where), std::move(message), std::move(hint)});
}

}  // namespace

int ClusterDescription::nodes() const {
  int sum = 0;
  for (const NodeDescription& type : types) sum += type.count;
  return sum;
}

void resize(ClusterDescription& description, std::optional<int> nodes,
            std::optional<int> gpus_per_node) {
  if (nodes && *nodes != description.nodes()) {
    if (*nodes < 1 || *nodes > kMostNodes) {
      misfit("--nodes", fmt::format("{} is out of range", *nodes),
             fmt::format("Expected 1 to {} nodes", kMostNodes));
    }
    if (description.types.size() > 1) {
      misfit("--nodes",
             fmt::format("{} has {} types of nodes", description.name, description.types.size()),
             "Change their counts in the file");
    }
    // Channels that were stated for one node say nothing about several nodes, and vice versa.
    if ((*nodes == 1) != (description.nodes() == 1)) description.stated.reset();
    description.types.front().count = *nodes;
  }
  const int before = description.types.front().gpus_per_node;
  if (gpus_per_node && *gpus_per_node != before) {
    if (*gpus_per_node < 1 || *gpus_per_node > before) {
      misfit("--gpus-per-node", fmt::format("{} is out of range", *gpus_per_node),
             fmt::format("{} has {} GPU{} per node", description.name, before,
                         before == 1 ? "" : "s"));
    }
    for (NodeDescription& type : description.types) type.gpus_per_node = *gpus_per_node;
    description.stated.reset();
    description.verified_nodes.clear();
  }
}

}  // namespace ddpsim
