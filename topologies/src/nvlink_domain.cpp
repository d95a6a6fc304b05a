// NVLink domains that join the GPUs of several nodes (GB200 NVL72: 18 nodes of 4 GPUs). NCCL merges
// the topologies that the ranks of such a clique found on their hosts. It searches the result as
// one node (NVIDIA/nccl src/mnnvl.cc, graph/topo.cc). CPUs of different hosts stay separate, so a
// NIC serves only the GPUs of its own host.
#include <fmt/format.h>

#include <algorithm>

#include "ddpsim/formats/input_error.hpp"
#include "description.hpp"

namespace ddpsim {
namespace {

[[noreturn]] void no_domain(const ClusterDescription& cluster, std::string message, Hint hint) {
  throw InputError({cluster.file, cluster.from_line ? "domain" : "/nodes_per_domain",
                    std::move(message), std::move(hint)});
}

void require_switched_nodes(const ClusterDescription& cluster) {
  const NodeDescription& node = cluster.types.front();
  if (cluster.types.size() > 1)
    no_domain(cluster, "nodes of several types cannot share an NVLink domain",
              "Describe a cluster of identical nodes");
  if (node.wiring || node.interconnect.kind != IntraKind::nvswitch)
    no_domain(
        cluster, "only NVSwitches join the GPUs of several nodes",
        "State the rate of each GPU: \"nvswitch:900GBps\" in a line, \"kind\": \"nvswitch\" in "
        "a file");
}

/// Nodes of each domain. Fewer if the job is smaller than a domain.
int nodes_of_each(const ClusterDescription& cluster) {
  const int nodes = cluster.nodes();
  const int each = std::min(cluster.nodes_per_domain, nodes);
  if (nodes % each == 0) return each;
  int alike = each - 1;  // nodes that every domain can provide
  while (nodes % alike != 0) --alike;
  no_domain(cluster,
            fmt::format("{} nodes do not fill NVLink domains of {}: {} are left over", nodes, each,
                        nodes % each),
            fmt::format(
                "Take up to {} nodes, or a multiple of {}{}", each, each,
                alike == 1
                    ? ""
                    : fmt::format(
                          ". If every domain has the same number of nodes, state it: \"domain:{}\"",
                          alike)));
}

/// The largest number of nodes that can share `gpus` GPUs of a domain evenly.
int nodes_that_hold(const ClusterDescription& cluster, int gpus) {
  const int of_node = cluster.types.front().gpus_per_node;
  for (int nodes = std::min(cluster.nodes_per_domain, gpus); nodes >= 1; --nodes)
    if (gpus % nodes == 0 && gpus / nodes <= of_node) return nodes;
  throw InputError({cluster.file, "",
                    fmt::format("{} GPUs do not lie evenly on the nodes of an NVLink domain", gpus),
                    fmt::format("It has {} nodes of {}", cluster.nodes_per_domain, of_node)});
}

}  // namespace

void join_domains(ClusterDescription& description) {
  if (description.nodes_per_domain <= 1) return;
  require_switched_nodes(description);
  const int hosts = nodes_of_each(description);
  NodeDescription& node = description.types.front();
  const int gpus = hosts * node.gpus_in_layout;
  if (gpus > kMostGpusPerNode)
    no_domain(description,
              fmt::format("{} nodes of {} are {} GPUs in one NVLink domain", hosts,
                          node.gpus_in_layout, gpus),
              fmt::format("At most {} can be simulated", kMostGpusPerNode));
  node.hosts = hosts;
  node.count /= hosts;
  node.gpus_per_node *= hosts;
  node.gpus_in_layout = gpus;
  node.nics *= hosts;
}

void resize_as_nccl_counts(ClusterDescription& description, int nodes,
                           std::optional<int> gpus_per_node) {
  if (description.nodes_per_domain <= 1) return resize(description, nodes, gpus_per_node);
  const int own = std::min(description.nodes_per_domain, description.nodes());
  const int hosts = gpus_per_node ? nodes_that_hold(description, *gpus_per_node) : own;
  description.nodes_per_domain = hosts;
  resize(description, nodes * hosts,
         gpus_per_node ? std::optional(*gpus_per_node / hosts) : std::nullopt);
}

}  // namespace ddpsim
