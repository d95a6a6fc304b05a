#include <fmt/format.h>

#include "channel_derivation.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "description.hpp"

namespace ddpsim {
namespace {

[[noreturn]] void misfit(std::string where, std::string message, std::string hint) {
  throw InputError({"command line", std::move(where), std::move(message), std::move(hint)});
}

}  // namespace

std::string layout_problem(const InterconnectDescription& interconnect, int gpus) {
  if (interconnect.kind == IntraKind::none) {
    return gpus == 1 ? "" : fmt::format("{} GPUs per node need a connection between them", gpus);
  }
  if (interconnect.kind != IntraKind::nvlink) return "";
  const int links = interconnect.links_per_gpu;
  switch (interconnect.layout) {
    case NvlinkLayout::pair:
      return gpus == 2 ? "" : fmt::format("a pair has 2 GPUs, not {}", gpus);
    case NvlinkLayout::mesh:
      if (gpus < 2) return "a mesh needs at least 2 GPUs";
      if (links % (gpus - 1) == 0) return "";
      return fmt::format("{} links per GPU cannot be shared evenly by the {} other GPUs of a mesh",
                         links, gpus - 1);
    case NvlinkLayout::cube:
      if (gpus != 8) return fmt::format("a cube mesh has 8 GPUs, not {}", gpus);
      if (links == 4 || links == 6) return "";
      return fmt::format("a cube mesh has 6 links per GPU (V100) or 4 (P100), not {}", links);
  }
  return "";
}

NvlinkLayout default_layout(int gpus) {
  if (gpus == 2) return NvlinkLayout::pair;
  return gpus == 8 ? NvlinkLayout::cube : NvlinkLayout::mesh;
}

std::optional<NetworkKind> network_kind(const std::string& word) {
  if (word == "ib") return NetworkKind::infiniband;
  if (word == "roce") return NetworkKind::roce;
  if (word == "tcp") return NetworkKind::tcp;
  if (word == "efa") return NetworkKind::efa;
  if (word == "slingshot") return NetworkKind::slingshot;
  return std::nullopt;
}

std::vector<std::string> network_words() {
  return {"ib", "roce", "tcp", "efa", "slingshot"};
}

void resize(ClusterDescription& description, std::optional<int> nodes,
            std::optional<int> gpus_per_node) {
  if (nodes) {
    if (*nodes < 1 || *nodes > kMostNodes) {
      misfit("--nodes", fmt::format("{} is out of range", *nodes),
             fmt::format("Expected 1 to {} nodes", kMostNodes));
    }
    // Channels stated for one node say nothing about several, and the other way round.
    if ((*nodes == 1) != (description.nodes == 1)) description.stated.reset();
    // A log taken at one size stands behind that size only.
    description.verified = description.verified && *nodes == description.nodes;
    description.nodes = *nodes;
  }
  if (gpus_per_node && *gpus_per_node != description.gpus_per_node) {
    if (*gpus_per_node < 1 || *gpus_per_node > description.gpus_per_node) {
      misfit("--gpus-per-node", fmt::format("{} is out of range", *gpus_per_node),
             fmt::format("{} has {} GPU{} per node", description.name, description.gpus_per_node,
                         description.gpus_per_node == 1 ? "" : "s"));
    }
    description.gpus_per_node = *gpus_per_node;
    description.stated.reset();
    description.verified = false;
  }
}

Cluster seal(const ClusterDescription& description) {
  if (description.nodes > 1 && description.network.kind == NetworkKind::none) {
    throw InputError(
        {description.file, "",
         fmt::format("{} nodes need a network and none is given", description.nodes),
         description.from_line
             ? "Add one, such as \"nic:1x100Gbps:ib\""
             : R"(Add "network": {"kind": "ib", "nics_per_node": 1, "per_nic": "100Gbps"})"});
  }
  const std::int64_t ranks =
      static_cast<std::int64_t>(description.nodes) * description.gpus_per_node;
  if (ranks > kMostRanks) {
    throw InputError({description.file, "",
                      fmt::format("{} nodes of {} GPUs are {} ranks", description.nodes,
                                  description.gpus_per_node, ranks),
                      fmt::format("At most {} can be simulated", kMostRanks)});
  }
  Cluster cluster;
  cluster.name = description.name;
  cluster.nodes = description.nodes;
  cluster.gpus_per_node = description.gpus_per_node;
  cluster.gpu = description.gpu;
  cluster.network = description.network;
  cluster.cpu = description.cpu;
  cluster.verified = description.verified;
  cluster.sources = description.sources;
  derive_channels(description, cluster);
  return cluster;
}

}  // namespace ddpsim
