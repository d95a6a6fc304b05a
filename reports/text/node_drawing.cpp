#include "node_drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "ddpsim/topologies/kind_words.hpp"
#include "text_layout.hpp"

namespace ddpsim {
namespace {

class Drawing {
 public:
  Drawing(const NodeGraph& graph, const TerminalStyle& style, GpuVendor vendor, int hosts)
      : graph_(graph),
        style_(style),
        vendor_(vendor),
        hosts_(static_cast<std::size_t>(hosts)),
        drawn_(graph.vertices.size(), false) {}

  std::string text() {
    std::vector<std::uint32_t> roots = graph_.all(VertexKind::cpu);
    for (const std::uint32_t cpu : roots) drawn_[cpu] = true;
    roots.resize(roots.size() / hosts_);
    for (std::uint32_t v = 0; v < graph_.vertices.size(); ++v) {
      if (has_host_wire(v) || graph_.vertices[v].kind == VertexKind::nvswitch) continue;
      // A GPU without a CPU above it: the node is described by its NVLinks alone.
      if (!drawn_[v]) roots.push_back(v);
    }
    for (std::size_t i = 0; i < roots.size(); ++i) {
      drawn_[roots[i]] = true;
      draw(roots[i], std::nullopt, "  ", i + 1 == roots.size());
    }
    return std::move(out_);
  }

 private:
  bool has_host_wire(std::uint32_t v) const {
    return std::any_of(graph_.wires.begin(), graph_.wires.end(), [&](const Wire& wire) {
      return wire.kind != LinkKind::nvlink && (wire.a == v || wire.b == v);
    });
  }

  struct Branch {
    std::uint32_t vertex = 0;
    Bandwidth rate;
  };

  std::vector<Branch> below(std::uint32_t v) {
    std::vector<Branch> found;
    for (const Wire& wire : graph_.wires) {
      if (wire.kind == LinkKind::nvlink || (wire.a != v && wire.b != v)) continue;
      const std::uint32_t other = wire.a == v ? wire.b : wire.a;
      if (drawn_[other]) continue;
      drawn_[other] = true;
      found.push_back({other, wire.nominal});
    }
    // Devices without children come first, in their order; then those that branch.
    std::stable_sort(found.begin(), found.end(), [&](const Branch& a, const Branch& b) {
      return std::pair(graph_.vertices[a.vertex].kind, a.vertex) <
             std::pair(graph_.vertices[b.vertex].kind, b.vertex);
    });
    return found;
  }

  void draw(std::uint32_t v, std::optional<Bandwidth> rate, const std::string& indent, bool last) {
    const Vertex& vertex = graph_.vertices[v];
    std::string line = indent + (last ? "└─ " : "├─ ") + printable(vertex.name);
    if (rate) line += dim(fmt::format("  {}", rate_text(*rate)), style_);
    if (vertex.kind == VertexKind::nic && vertex.port > Bandwidth()) {
      line += fmt::format("  → network {}", rate_text(vertex.port));
    }
    if (vertex.kind == VertexKind::gpu) line += nvlinks(v);
    out_ += line + '\n';
    const std::vector<Branch> branches = below(v);
    for (std::size_t i = 0; i < branches.size(); ++i) {
      draw(branches[i].vertex, branches[i].rate, indent + (last ? "   " : "│  "),
           i + 1 == branches.size());
    }
  }

  /// "  NVLink gpu1 gpu2 2×gpu3"
  std::string nvlinks(std::uint32_t gpu) const {
    std::string text;
    for (const Wire& wire : graph_.wires) {
      if (wire.kind != LinkKind::nvlink || (wire.a != gpu && wire.b != gpu)) continue;
      const Vertex& other = graph_.vertices[wire.a == gpu ? wire.b : wire.a];
      text += wire.lanes > 1 ? fmt::format(" {}×{}", wire.lanes, printable(other.name))
                             : fmt::format(" {}", printable(other.name));
      if (other.kind == VertexKind::nvswitch) text += " " + rate_text(wire.nominal);
    }
    return text.empty() ? "" : fmt::format("  {}{}", direct_links(vendor_), text);
  }

  const NodeGraph& graph_;
  const TerminalStyle& style_;
  GpuVendor vendor_;
  std::size_t hosts_;
  std::vector<bool> drawn_;
  std::string out_;
};

}  // namespace

std::string rate_text(Bandwidth rate) {
  return fmt::format("{:.4g} GB/s", rate.gigabytes_per_second());
}

std::string draw_node(const NodeGraph& graph, const TerminalStyle& style, GpuVendor vendor,
                      int hosts) {
  return Drawing(graph, style, vendor, hosts).text();
}

}  // namespace ddpsim
