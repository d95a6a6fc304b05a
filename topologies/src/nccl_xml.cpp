// <system> holds <cpu> elements, which hold nested <pci> elements: bridges, GPUs (with <gpu>, which
// holds <nvlink> and <c2c>), NICs (with <nic>, which holds a <net> per port). Unknown attributes
// are ignored, as in NCCL. NCCL derives the following (src/graph/topo.cc):
//
// - pci: link_width * rate of link_speed, minus NCCL's quarter. An unknown speed counts as Gen3,
//   and width 0 as 16.
// - nvlink: `count` links to the GPU at `target`. They lead to an NVSwitch if the target cannot be
//   read or has class 0x0680xx.
// - c2c: bw * count, in MB/s.
// - net: speed in Mb/s. The ports of a device share its slot.
// - cpu: CPUs are joined pairwise, at a rate that depends on vendor and model.
#include "nccl_xml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <pugixml.hpp>
#include <utility>
#include <vector>

#include "ddpsim/formats/quote.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "ddpsim/topologies/pcie_rate.hpp"
#include "description.hpp"
#include "nccl_rates.hpp"
#include "node_graph.hpp"
#include "pci_ids.hpp"
#include "xml_gpu_model.hpp"
#include "xml_nics.hpp"
#include "xml_slot.hpp"
#include "xml_text.hpp"

namespace ddpsim {
namespace {

constexpr int kDeepest = 32;  // PCIe hierarchies have a handful of levels
constexpr std::size_t kMostCpus = 64;

class XmlReader {
 public:
  XmlReader(std::string_view text, const std::string& file, std::optional<GpuModel> gpu)
      : xml_(text, file), stated_gpu_(std::move(gpu)), nics_(xml_) {}

  XmlNode read() {
    pugi::xml_document document;
    const pugi::xml_node system = xml_.load(document);
    look_ahead(system, 0);
    for (const pugi::xml_node& cpu : system.children("cpu")) read_cpu(cpu);
    if (gpus_.empty())
      xml_.fail(
          "", "no GPU in <system>",
          "A file for NCCL_TOPO_FILE may name none. Give what NCCL writes on a node with GPUs: "
          "NCCL_TOPO_DUMP_FILE=topo.xml");
    std::vector<pugi::xml_node> models;
    for (const Gpu& gpu : gpus_) models.push_back(gpu.pci);
    decide_gpu_model(xml_, models, stated_gpu_, out_);
    for (const PlacedNic& nic : nics_.place(stated_gpu_, out_))
      join(add(nic.node, VertexKind::nic, nic.name, nic.rate), nic.above, LinkKind::pcie,
           nic.nominal, nic.nccl);
    join_cpus();
    settle_slots();
    join_nvlinks();
    order_gpus();
    name_what_is_odd();
    return std::move(out_);
  }

 private:
  /// Checks that NCCL wrote the file, and that no element is nested too deep.
  void look_ahead(const pugi::xml_node& node, int depth) {
    if (depth > kDeepest) xml_.fail_at(node, "elements are nested more than 32 deep");
    if (depth == 0) out_.dump = false;
    for (const pugi::xml_node& child : node.children()) {
      if (std::string_view(child.name()) == "gpu") out_.dump = true;
      look_ahead(child, depth + 1);
    }
  }

  std::uint32_t add(const pugi::xml_node& node, VertexKind kind, std::string name,
                    Bandwidth port = {}) {
    if (out_.graph.vertices.size() == kMostVertices) xml_.fail_at(node, "more than 1024 devices");
    if (!names_.insert({name, 0}).second) {
      // Switches have no name in the file. Devices that are named twice get a number.
      name += fmt::format("-{}", ++names_[name]);
    }
    out_.graph.vertices.push_back({kind, std::move(name), port});
    return static_cast<std::uint32_t>(out_.graph.vertices.size() - 1);
  }

  void join(std::uint32_t a, std::uint32_t b, LinkKind kind, double nominal, double nccl,
            int lanes = 0) {
    out_.graph.wires.push_back({a, b, kind, lanes, Bandwidth::gigabytes_per_second(nominal),
                                Bandwidth::gigabytes_per_second(nccl)});
  }

  void read_cpu(const pugi::xml_node& node) {
    const std::string_view host = node.attribute("host_hash").value();
    if (!host_.empty() && !host.empty() && host != host_) {
      xml_.fail_at(node, "CPUs of several hosts in one file",
                   "Take the file of one node, and say how many there are: \"FILE node:8 nic:…\"");
    }
    if (!host.empty()) host_ = host;
    const std::string_view vendor = node.attribute("vendor").value();
    const std::string_view arch = node.attribute("arch").value();
    if (vendor == "GenuineIntel") out_.cpu = CpuVendor::intel;
    if (vendor == "AuthenticAMD") out_.cpu = CpuVendor::amd;
    if (arch == "arm64") out_.cpu = CpuVendor::arm;
    if (arch == "ppc64") out_.cpu = CpuVendor::power;
    cpu_rate_ = cpu_link_rate(out_.cpu);
    if (out_.cpu == CpuVendor::intel) {
      constexpr std::int64_t kMostModels = 4096;
      const std::int64_t model = xml_.number(node, "modelid", 85, kMostModels);
      cpu_rate_ = model >= 207 ? 40 : model >= 143 ? 22 : model >= 85 ? 10 : 6;
    }
    if (cpus_.size() == kMostCpus) xml_.fail_at(node, "more than 64 CPUs");
    const auto cpu = add(node, VertexKind::cpu, fmt::format("cpu{}", cpus_.size()));
    cpus_.push_back(cpu);
    for (const pugi::xml_node& pci : node.children("pci")) read_pci(pci, cpu);
    for (const pugi::xml_node& nic : node.children("nic")) nics_.list(nic, node, cpu, {});
  }

  /// NCCL ignores a GPU without <gpu>. If a file has no <gpu> at all, NCCL adds it.
  bool is_gpu(const pugi::xml_node& pci) {
    if (pci.child("gpu")) return true;
    const std::string_view device = pci.attribute("class").value();
    const std::string_view vendor = pci.attribute("vendor").value();
    const bool amd = vendor.empty() || vendor == "0x1002";
    const bool display = device.starts_with("0x03");
    const bool looks = device.starts_with("0x0302") || (device.starts_with("0x1200") && amd) ||
                       (display && pci_gpu(vendor, pci.attribute("device").value()));
    if (looks && out_.dump) ++unused_gpus_;
    return looks && !out_.dump;
  }

  void read_pci(const pugi::xml_node& node, std::uint32_t above) {
    const std::string_view device = node.attribute("class").value();
    const Slot slot = read_slot(xml_, node);
    const bool display = device.starts_with("0x03") || device.starts_with("0x1200");
    if (is_gpu(node)) {
      read_gpu(node, above, slot);
    } else if (node.child("nic") || device.starts_with("0x02")) {
      nics_.list(node.child("nic"), node, above, slot);
    } else if (!display && !device.starts_with("0x0680")) {  // NVSwitches: see NVLinks
      const auto here = add(node, VertexKind::pcie_switch, fmt::format("pcie{}", pcie_switches_++));
      join(here, above, LinkKind::pcie, slot.nominal, slot.nccl);
      for (const pugi::xml_node& child : node.children("pci")) read_pci(child, here);
    }
  }

  void read_gpu(const pugi::xml_node& pci, std::uint32_t above, const Slot& slot) {
    constexpr std::int64_t kMostRank = 1'000'000;
    const pugi::xml_node gpu = pci.child("gpu");
    const auto index = static_cast<std::int64_t>(gpus_.size());
    const std::int64_t dev = xml_.number(gpu, "dev", index, kMostRank);
    const auto here = add(pci, VertexKind::gpu, fmt::format("device{}", index));
    const std::size_t wire = out_.graph.wires.size();
    join(here, above, LinkKind::pcie, slot.nominal, slot.nccl);
    const std::string bus = pci.attribute("busid").value();
    if (!bus.empty() && !bus_.emplace(bus, here).second) {
      xml_.fail_at(pci, fmt::format("two devices have the bus id {}", in_quotes(bus)));
    }
    gpus_.push_back({here, pci, xml_.number(gpu, "rank", dev, kMostRank), dev, slot, wire, 0});
    if (const pugi::xml_node c2c = gpu.child("c2c")) {
      constexpr std::int64_t kFastest = 10'000'000;
      const auto bandwidth = static_cast<double>(xml_.number(c2c, "bw", 0, kFastest));
      const auto count = static_cast<double>(xml_.number(c2c, "count", 1, kMostLinksPerGpu));
      const double rate = bandwidth * count / 1000;
      if (rate > 0) join(here, cpus_.back(), LinkKind::socket, rate, rate);
    }
  }

  /// A GPU's slot has at most the GPU's speed, whatever the switch in front of it supports.
  void settle_slots() {
    bool faster = false;
    double stated = 0;
    constexpr double kRounding = 1.01;
    for (const Gpu& gpu : gpus_) {
      Wire& wire = out_.graph.wires[gpu.slot_wire];
      const double most = slot_rate_of_generation(*out_.gpu, gpu.slot.lanes);
      if (!gpu.slot.stated) {
        wire.nominal = Bandwidth::gigabytes_per_second(std::max(most, gpu.slot.nominal));
      } else if (gpu.slot.nominal > most * kRounding) {
        faster = true;
        stated = gpu.slot.nominal;
        wire.nominal = Bandwidth::gigabytes_per_second(most);
        wire.nccl = Bandwidth::gigabytes_per_second(std::min(gpu.slot.nccl, pcie_rate(most)));
      }
    }
    if (faster)
      out_.doubts.push_back(fmt::format(
          "the file states PCIe slots of {:.3g} GB/s, but {} reaches only {:.3g}, which is used",
          stated, out_.gpu->name, slot_rate_of_generation(*out_.gpu, 16)));
  }

  void join_cpus() {
    for (std::size_t a = 0; a < cpus_.size(); ++a) {
      for (std::size_t b = a + 1; b < cpus_.size(); ++b) {
        join(cpus_[a], cpus_[b], LinkKind::socket, cpu_link_nominal(cpu_rate_), cpu_rate_);
      }
    }
  }

  void join_nvlinks() {
    const NvlinkRate rate = nvlink_rate(*out_.gpu);
    const bool amd = out_.gpu->vendor == GpuVendor::amd;
    const int lanes = links_per_counted(*out_.gpu);
    std::optional<std::uint32_t> hub;
    std::map<std::pair<std::uint32_t, std::uint32_t>, int> links;
    for (Gpu& gpu : gpus_) {
      const pugi::xml_node node = gpu.pci.child("gpu");
      if (const pugi::xml_node link = node.child(amd ? "nvlink" : "xgmi"))
        xml_.fail_at(link, fmt::format("<{}>, and the GPUs are {}", link.name(), out_.gpu->name),
                     "Name the GPU that the node has");
      for (const pugi::xml_node& link : node.children(amd ? "xgmi" : "nvlink")) {
        const int count =
            lanes * static_cast<int>(xml_.number(link, "count", 1, kMostLinksPerGpu / lanes));
        if (count == 0) continue;  // a link that is down
        const std::string target = link.attribute("target").value();
        const std::string_view device = link.attribute("tclass").value();
        const auto peer = bus_.find(target);
        if (peer != bus_.end() && peer->second == gpu.vertex) {
          gpu.own_links += count;
        } else if (peer != bus_.end()) {
          // Both ends state the link.
          const auto ends = std::minmax(gpu.vertex, peer->second);
          int& known = links[{ends.first, ends.second}];
          known = std::max(known, count);
        } else if (target.substr(0, 7) == "fffffff" || device.substr(0, 6) == "0x0680") {
          if (device == "0x068001") {
            join(gpu.vertex, cpus_.back(), LinkKind::nvlink, count * rate.nominal,
                 count * rate.nccl, count);
            continue;
          }
          if (!hub) hub = add(link, VertexKind::nvswitch, "nvswitch0");
          links[{gpu.vertex, *hub}] += count;
          // Any other target is a GPU that the file does not show, because NCCL did not use it.
        }
      }
    }
    for (const auto& [ends, count] : links) {
      join(ends.first, ends.second, LinkKind::nvlink, count * rate.nominal, count * rate.nccl,
           count);
    }
    out_.joined = !links.empty();
  }

  /// GPUs are numbered by rank, whatever their place in the file.
  void order_gpus() {
    std::stable_sort(gpus_.begin(), gpus_.end(),
                     [](const Gpu& a, const Gpu& b) { return a.rank < b.rank; });
    std::vector<std::uint32_t> place(out_.graph.vertices.size());
    std::vector<Vertex> vertices;
    for (const Gpu& gpu : gpus_) {
      place[gpu.vertex] = static_cast<std::uint32_t>(vertices.size());
      vertices.push_back(out_.graph.vertices[gpu.vertex]);
      vertices.back().name = fmt::format("gpu{}", vertices.size() - 1);
    }
    for (std::uint32_t v = 0; v < out_.graph.vertices.size(); ++v) {
      if (out_.graph.vertices[v].kind == VertexKind::gpu) continue;
      place[v] = static_cast<std::uint32_t>(vertices.size());
      vertices.push_back(out_.graph.vertices[v]);
    }
    out_.graph.vertices = std::move(vertices);
    for (Wire& wire : out_.graph.wires) {
      wire.a = place[wire.a];
      wire.b = place[wire.b];
    }
  }

  void name_what_is_odd() {
    if (unused_gpus_ > 0)
      out_.doubts.push_back(fmt::format(
          "GPUs without <gpu> do not count, as NCCL was not given them: {}", unused_gpus_));
    std::string renumbered;
    std::string own;
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      const Gpu& gpu = gpus_[i];
      if (gpu.dev != static_cast<std::int64_t>(i) && renumbered.empty())
        renumbered = fmt::format("GPU{} is device {}", i, gpu.dev);
      if (gpu.own_links > 0) own += fmt::format("{}GPU{}", own.empty() ? "" : ", ", i);
    }
    if (!renumbered.empty())
      out_.doubts.push_back(
          "GPUs are numbered in the order of their ranks, not of their devices: " + renumbered);
    if (!own.empty())
      out_.doubts.push_back(
          fmt::format("{} of {} lead back to the same GPU and join nothing, as NCCL reads them "
                      "too; a matrix of "
                      "`nvidia-smi topo -m` would say which GPUs are joined",
                      out_.gpu->vendor == GpuVendor::amd ? "xGMI links" : "NVLinks", own));
  }

  struct Gpu {
    std::uint32_t vertex = 0;
    pugi::xml_node pci;
    std::int64_t rank = 0;
    std::int64_t dev = 0;
    Slot slot;
    std::size_t slot_wire = 0;
    int own_links = 0;  ///< links to the GPU itself
  };

  XmlText xml_;
  std::optional<GpuModel> stated_gpu_;
  double cpu_rate_ = 0;
  std::string host_;
  std::vector<std::uint32_t> cpus_;
  std::vector<Gpu> gpus_;
  int pcie_switches_ = 0;
  int unused_gpus_ = 0;
  XmlNics nics_;
  std::map<std::string, std::uint32_t> bus_;
  std::map<std::string, int> names_;
  XmlNode out_;
};

}  // namespace

bool looks_like_xml(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  return first != text.npos && text[first] == '<';
}

XmlNode parse_nccl_xml(std::string_view text, const std::string& file,
                       const std::optional<GpuModel>& gpu) {
  return XmlReader(text, file, gpu).read();
}

}  // namespace ddpsim
