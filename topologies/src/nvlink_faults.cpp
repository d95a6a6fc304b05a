// Detects broken NVLinks. If a GPU has none but others do, they are down, or its bridge is missing.
// GPUs behind an NVSwitch all have the same number, so fewer links mean that some are down. Direct
// links may be spread unevenly (half of a cube), so only their absence is reported.
#include "nvlink_faults.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>

#include "ddpsim/topologies/kind_words.hpp"

namespace ddpsim {
namespace {

struct GpuLinks {
  int all = 0;  ///< links to GPUs and switches
  bool switched = false;
};

std::vector<GpuLinks> links_of_gpus(const NodeGraph& graph) {
  std::vector<GpuLinks> links;
  for (const std::uint32_t gpu : graph.all(VertexKind::gpu)) {
    GpuLinks& here = links.emplace_back();
    for (const Wire& wire : graph.wires) {
      if (wire.kind != LinkKind::nvlink || (wire.a != gpu && wire.b != gpu)) continue;
      const VertexKind peer = graph.vertices[wire.a == gpu ? wire.b : wire.a].kind;
      if (peer == VertexKind::cpu) continue;
      here.all += wire.lanes;
      here.switched = here.switched || peer == VertexKind::nvswitch;
    }
  }
  return links;
}

}  // namespace

std::vector<std::string> nvlink_faults(const NodeGraph& graph, GpuVendor vendor) {
  const std::vector<GpuLinks> links = links_of_gpus(graph);
  int most = 0;
  for (const GpuLinks& gpu : links) most = std::max(most, gpu.all);
  std::vector<std::string> without;
  std::vector<std::string> fewer;
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (links[i].all == 0)
      without.push_back(fmt::format("GPU{}", i));
    else if (links[i].switched && links[i].all < most)
      fewer.push_back(fmt::format("GPU{} ({} of {})", i, links[i].all, most));
  }
  std::vector<std::string> faults;
  const std::string_view name = direct_links(vendor);
  const char* look =
      vendor == GpuVendor::amd ? "rocm-smi --showtopo" : "nvidia-smi nvlink --status";
  if (most > 0 && !without.empty())
    faults.push_back(fmt::format(
        "{} {} no {}, where {} of the node's GPUs have it: a fault, or a bridge that is missing "
        "(`{}`)",
        fmt::join(without, ", "), without.size() == 1 ? "has" : "have", name,
        links.size() - without.size(), look));
  if (!fewer.empty())
    faults.push_back(fmt::format(
        "GPUs with fewer {}s than others at the same switch, which is a fault: {} (`{}`)", name,
        fmt::join(fewer, ", "), look));
  return faults;
}

}  // namespace ddpsim
