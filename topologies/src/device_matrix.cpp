#include "device_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/topologies/pcie_rate.hpp"
#include "nccl_rates.hpp"
#include "node_graph.hpp"

namespace ddpsim {
namespace {

/// Sets of devices that can only be merged.
class Groups {
 public:
  explicit Groups(std::size_t count) : of_(count) {
    std::iota(of_.begin(), of_.end(), std::size_t{0});
  }
  void join(std::size_t a, std::size_t b) {
    const std::size_t from = of_[std::max(a, b)];
    const std::size_t to = of_[std::min(a, b)];
    const std::size_t least = std::min(from, to);
    for (std::size_t& group : of_) {
      if (group == from || group == to) group = least;
    }
  }
  bool together(std::size_t a, std::size_t b) const { return of_[a] == of_[b]; }
  std::size_t operator[](std::size_t i) const { return of_[i]; }

 private:
  std::vector<std::size_t> of_;
};

class NodeDrawing {
 public:
  NodeDrawing(const DeviceMatrix& matrix, const std::string& file, const GpuModel& gpu)
      : matrix_(matrix),
        file_(file),
        gpu_(gpu),
        switches_(size()),
        bridges_(size()),
        cpus_(size()) {}

  NodeGraph draw() {
    group();
    check_groups();
    for (const MatrixDevice& device : matrix_.devices) {
      graph_.vertices.push_back({device.gpu ? VertexKind::gpu : VertexKind::nic, device.name, {}});
    }
    hang();
    join_gpus();
    return std::move(graph_);
  }

 private:
  std::size_t size() const { return matrix_.devices.size(); }

  void group() {
    for (std::size_t a = 0; a < size(); ++a) {
      for (std::size_t b = a + 1; b < size(); ++b) {
        const Near near = matrix_.cells[a][b].near;
        if (near <= Near::switch_) switches_.join(a, b);
        if (near <= Near::bridge) bridges_.join(a, b);
        if (near <= Near::cpu || (near == Near::unknown && same_numa(a, b) && !told_apart(a, b)))
          cpus_.join(a, b);
      }
    }
  }

  /// Whether another device is near one of them and on another CPU than the other.
  bool told_apart(std::size_t a, std::size_t b) const {
    for (std::size_t c = 0; c < size(); ++c) {
      const Near one = matrix_.cells[a][c].near;
      const Near other = matrix_.cells[b][c].near;
      if (c == a || c == b) continue;
      if ((one <= Near::cpu && other == Near::system) ||
          (other <= Near::cpu && one == Near::system))
        return true;
    }
    return false;
  }

  /// NICs without rows have no known NUMA node.
  bool same_numa(std::size_t a, std::size_t b) const {
    return matrix_.devices[a].gpu && matrix_.devices[b].gpu &&
           matrix_.devices[a].numa == matrix_.devices[b].numa;
  }

  Near drawn(std::size_t a, std::size_t b) const {
    if (switches_.together(a, b)) return Near::switch_;
    if (bridges_.together(a, b)) return Near::bridge;
    return cpus_.together(a, b) ? Near::cpu : Near::system;
  }

  void check_groups() const {
    for (std::size_t a = 0; a < size(); ++a) {
      for (std::size_t b = a + 1; b < size(); ++b) {
        const Near near = matrix_.cells[a][b].near;
        if (near == Near::unknown || near == drawn(a, b)) continue;
        throw InputError({file_, "",
                          fmt::format("{} and {} cannot be that far apart: what is near both of "
                                      "them joins them",
                                      matrix_.devices[a].name, matrix_.devices[b].name),
                          "The matrix contradicts itself; take it again"});
      }
    }
  }

  std::uint32_t add(VertexKind kind, const char* word, int& count) {
    graph_.vertices.push_back({kind, fmt::format("{}{}", word, count++), {}});
    return static_cast<std::uint32_t>(graph_.vertices.size() - 1);
  }

  void join_pcie(std::uint32_t a, std::uint32_t b) {
    const int generation = gpu_.compute_capability;
    graph_.wires.push_back({a, b, LinkKind::pcie, 0,
                            Bandwidth::gigabytes_per_second(pcie_nominal_of_generation(generation)),
                            Bandwidth::gigabytes_per_second(pcie_rate_of_generation(generation))});
  }

  void hang() {
    std::map<std::size_t, std::uint32_t> cpu_of;
    std::map<std::size_t, std::uint32_t> bridge_of;
    std::map<std::size_t, std::uint32_t> switch_of;
    int cpus = 0;
    int bridges = 0;
    for (std::size_t i = 0; i < size(); ++i) {
      if (cpu_of.count(cpus_[i]) == 0) {
        const std::uint32_t cpu = add(VertexKind::cpu, "cpu", cpus);
        const double rate = cpu_link_rate(CpuVendor::unknown);
        for (const auto& other : cpu_of) {
          graph_.wires.push_back({other.second, cpu, LinkKind::socket, 0,
                                  Bandwidth::gigabytes_per_second(cpu_link_nominal(rate)),
                                  Bandwidth::gigabytes_per_second(rate)});
        }
        cpu_of.emplace(cpus_[i], cpu);
      }
      if (switch_of.count(switches_[i]) == 0) {
        const std::uint32_t here = add(VertexKind::pcie_switch, "pcie", bridges);
        switch_of.emplace(switches_[i], here);
        if (!several_switches(bridges_[i])) {
          join_pcie(here, cpu_of.at(cpus_[i]));
        } else {
          if (bridge_of.count(bridges_[i]) == 0) {
            const std::uint32_t above = add(VertexKind::pcie_switch, "pcie", bridges);
            join_pcie(above, cpu_of.at(cpus_[i]));
            bridge_of.emplace(bridges_[i], above);
          }
          join_pcie(here, bridge_of.at(bridges_[i]));
        }
      }
      join_pcie(static_cast<std::uint32_t>(i), switch_of.at(switches_[i]));
    }
  }

  bool several_switches(std::size_t bridge) const {
    for (std::size_t i = 0; i < size(); ++i) {
      if (bridges_[i] == bridge && switches_[i] != switches_[bridge]) return true;
    }
    return false;
  }

  void join_gpus() {
    int most = 0;  // links in one row
    std::vector<int> widest;
    for (const auto& row : matrix_.cells) {
      int sum = 0;
      int cell = 0;
      for (const MatrixCell& there : row) {
        sum += there.nvlinks;
        cell = std::max(cell, there.nvlinks);
      }
      most = std::max(most, sum);
      widest.push_back(cell);
    }
    if (most == 0) return;
    const NvlinkRate rate = nvlink_rate(gpu_);
    const auto join = [&](std::size_t a, std::size_t b, int links) {
      graph_.wires.push_back({static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b),
                              LinkKind::nvlink, links,
                              Bandwidth::gigabytes_per_second(links * rate.nominal),
                              Bandwidth::gigabytes_per_second(links * rate.nccl)});
    };
    const int links = gpu_.links.value_or(0);
    const int pair = *std::ranges::max_element(widest);
    if (links > 0 && pair > links)
      throw InputError({file_, "",
                        fmt::format("{} links between two GPUs are more than the {} that {} has",
                                    pair, links, gpu_.name),
                        "Name the right GPU with \"gpu:MODEL\""});
    if (most > links) {
      const bool amd = gpu_.vendor == GpuVendor::amd;
      if (amd || links == 0 || !behind_a_switch(widest)) {
        throw InputError({file_, "",
                          fmt::format("up to {} {}s in one row are more than the {} that {} has",
                                      most, amd ? "xGMI link" : "NVLink", links, gpu_.name),
                          amd ? "Name the right GPU with \"gpu:MODEL\""
                              : "Behind an NVSwitch every pair shows the same number; or name the "
                                "right GPU with "
                                "\"gpu:MODEL\""});
      }
      int count = 0;
      const std::uint32_t hub = add(VertexKind::nvswitch, "nvswitch", count);
      for (std::size_t a = 0; a < size(); ++a)
        if (widest[a] > 0) join(a, hub, widest[a]);
      return;
    }
    for (std::size_t a = 0; a < size(); ++a) {
      for (std::size_t b = a + 1; b < size(); ++b) {
        if (matrix_.cells[a][b].nvlinks > 0) join(a, b, matrix_.cells[a][b].nvlinks);
      }
    }
  }

  /// Whether each pair has as many links as its end with fewer links. Then all links lead to a
  /// switch.
  bool behind_a_switch(const std::vector<int>& widest) const {
    for (std::size_t a = 0; a < size(); ++a)
      for (std::size_t b = a + 1; b < size(); ++b) {
        const int links = matrix_.cells[a][b].nvlinks;
        if (links > 0 && links != std::min(widest[a], widest[b])) return false;
      }
    return true;
  }

  const DeviceMatrix& matrix_;
  const std::string& file_;
  const GpuModel& gpu_;
  Groups switches_;
  Groups bridges_;
  Groups cpus_;
  NodeGraph graph_;
};

}  // namespace

NodeGraph draw_node(const DeviceMatrix& matrix, const std::string& file, const GpuModel& gpu) {
  return NodeDrawing(matrix, file, gpu).draw();
}

}  // namespace ddpsim
