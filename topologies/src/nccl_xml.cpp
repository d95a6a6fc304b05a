// <system> holds <cpu>s, these hold nested <pci>s: bridges, GPUs (with <gpu>, and in it <nvlink> and
// <c2c>), NICs (with <nic> and in it a <net> per port). Attributes unknown here are passed over, as
// NCCL does. What NCCL derives from it (src/graph/topo.cc):
//
//   pci       link_width * rate of link_speed, less NCCL's quarter; an unknown speed is Gen3, width
//             0 is 16
//   nvlink    count links to the GPU at `target`; to an NVSwitch where the target cannot be read
//             or has class 0x0680xx
//   c2c       bw * count, in MB/s
//   net       speed in Mb/s
//   cpu       CPUs are joined pairwise at a rate by vendor and model
#include "nccl_xml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <pugixml.hpp>
#include <utility>
#include <vector>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "description.hpp"
#include "nccl_rates.hpp"
#include "node_graph.hpp"

namespace ddpsim {
namespace {

constexpr int kDeepest = 32;  // PCIe hierarchies have a handful of levels
constexpr std::size_t kMostCpus = 64;

/// Per lane, GB/s in one direction, and NCCL's figure; by generation from 1 on.
struct LaneRate {
  const char* speed;
  double nominal;
  double nccl;
};
constexpr std::array kLaneRates = {
    LaneRate{"2.5 GT/s", 0.25, 15.0 / 80},
    LaneRate{"5 GT/s", 0.5, 30.0 / 80},
    LaneRate{"8 GT/s", 8 * 128 / 130.0 / 8, 60.0 / 80},
    LaneRate{"16 GT/s", 16 * 128 / 130.0 / 8, 120.0 / 80},
    LaneRate{"32 GT/s", 32 * 128 / 130.0 / 8, 240.0 / 80},
    LaneRate{"64 GT/s", 64 * 242 / 256.0 / 8, 480.0 / 80},
};

/// "8.0 GT/s PCIe" and "8 GT/s" are the same; anything else is Gen3.
const LaneRate& lane_rate(std::string_view speed) {
  const std::size_t space = speed.find(' ');
  std::string_view number = speed.substr(0, space);
  if (number.size() > 2 && number.substr(number.size() - 2) == ".0") number.remove_suffix(2);
  for (const LaneRate& rate : kLaneRates) {
    const std::string_view known = rate.speed;
    if (known.substr(0, known.find(' ')) == number) return rate;
  }
  return kLaneRates[2];
}

class XmlReader {
 public:
  XmlReader(std::string_view text, const std::string& file, std::optional<GpuModel> gpu)
      : text_(text), file_(file), stated_gpu_(std::move(gpu)) {}

  XmlNode read() {
    pugi::xml_document document;
    const auto result = document.load_buffer(
        text_.data(), text_.size(), pugi::parse_default | pugi::parse_doctype, pugi::encoding_utf8);
    if (!result) {
      fail(line_of(result.offset), fmt::format("not well-formed XML: {}", result.description()),
           "Was the file cut off?");
    }
    for (const pugi::xml_node& node : document.children()) {
      if (node.type() == pugi::node_doctype) {
        fail(line_of(node.offset_debug()), "a document type is declared",
             "NCCL's topology files have none");
      }
    }
    const pugi::xml_node system = document.document_element();
    if (std::string_view(system.name()) != "system") {
      const bool graphs = std::string_view(system.name()) == "graphs";
      fail(line_of(system.offset_debug()),
           fmt::format("<{}> is not NCCL's topology; expected <system>", legible(system.name())),
           graphs ? "That is NCCL_GRAPH_DUMP_FILE; take NCCL_TOPO_DUMP_FILE"
                  : "Write one with NCCL_TOPO_DUMP_FILE=topo.xml");
    }
    find_gpu_model(system, 0);
    for (const pugi::xml_node& cpu : system.children("cpu")) read_cpu(cpu);
    join_cpus();
    join_nvlinks();
    if (out_.graph.all(VertexKind::gpu).empty()) fail("", "no GPU in <system>");
    order_gpus();
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(std::string where, std::string message, std::string hint = "") const {
    throw InputError({file_, std::move(where), std::move(message), std::move(hint)});
  }
  [[noreturn]] void fail_at(const pugi::xml_node& node, std::string message,
                            std::string hint = "") const {
    fail(line_of(node.offset_debug()), std::move(message), std::move(hint));
  }

  std::string line_of(std::ptrdiff_t offset) const {
    const auto end = text_.begin() + std::clamp<std::ptrdiff_t>(
                                         offset, 0, static_cast<std::ptrdiff_t>(text_.size()));
    return fmt::format("line {}", 1 + std::count(text_.begin(), end, '\n'));
  }

  /// A whole number; absent: `otherwise`.
  std::int64_t number(const pugi::xml_node& node, const char* name, std::int64_t otherwise,
                      std::int64_t high) const {
    const std::string_view written = node.attribute(name).value();
    if (written.empty()) return otherwise;
    std::string_view rest = written;
    const auto value = take_number<std::int64_t>(rest);
    const bool whole = rest.empty() || rest.front() == '.';  // "0.000000"
    if (!value || !whole || *value < 0 || *value > high) {
      fail_at(node,
              fmt::format("{}={} is not a number from 0 to {}", name, in_quotes(written), high));
    }
    return *value;
  }

  void find_gpu_model(const pugi::xml_node& node, int depth) {
    if (depth > kDeepest) fail_at(node, "elements are nested more than 32 deep");
    for (const pugi::xml_node& child : node.children()) {
      if (std::string_view(child.name()) == "gpu" && !child.attribute("sm").empty()) {
        constexpr std::int64_t kNewest = 1000;
        const auto sm = static_cast<int>(number(child, "sm", 0, kNewest));
        if (capability_ == 0 || sm < capability_) capability_ = sm;
      }
      find_gpu_model(child, depth + 1);
    }
    if (depth > 0) return;
    if (stated_gpu_) {
      out_.gpu = stated_gpu_;
    } else if (const char* model = model_of(capability_)) {
      out_.gpu = find_gpu(model);
    }
    if (!out_.gpu) {
      fail("",
           capability_ == 0 ? "the GPU model is not stated"
                            : fmt::format("several GPU models have sm=\"{}\"", capability_),
           "Name it beside the file: \"FILE gpu:A100\"");
    }
    capability_ = out_.gpu->compute_capability;
  }

  static const char* model_of(int capability) {
    switch (capability) {
      case 60:
        return "P100";
      case 70:
        return "V100";
      case 80:
        return "A100";
      case 90:
        return "H100";
      case 100:
        return "B200";
      default:
        return nullptr;
    }
  }

  std::uint32_t add(const pugi::xml_node& node, VertexKind kind, std::string name,
                    Bandwidth port = {}) {
    if (out_.graph.vertices.size() == kMostVertices) fail_at(node, "more than 1024 devices");
    if (!names_.insert({name, 0}).second) {
      // Switches have no name in the file; devices named twice get a number.
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
      fail_at(node, "CPUs of several hosts in one file",
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
      const std::int64_t model = number(node, "modelid", 85, kMostModels);
      cpu_rate_ = model >= 207 ? 40 : model >= 143 ? 22 : model >= 85 ? 10 : 6;
    }
    if (cpus_.size() == kMostCpus) fail_at(node, "more than 64 CPUs");
    const auto cpu = add(node, VertexKind::cpu, fmt::format("cpu{}", cpus_.size()));
    cpus_.push_back(cpu);
    for (const pugi::xml_node& pci : node.children("pci")) read_pci(pci, cpu);
    for (const pugi::xml_node& nic : node.children("nic")) read_nic(nic, cpu, nullptr);
  }

  void read_pci(const pugi::xml_node& node, std::uint32_t above) {
    constexpr std::int64_t kMostLanes = 32;
    const std::string_view device = node.attribute("class").value();
    std::int64_t lanes = number(node, "link_width", 16, kMostLanes);
    if (lanes == 0) lanes = 16;
    const LaneRate& rate = lane_rate(node.attribute("link_speed").value());
    const LaneRate slot{"", static_cast<double>(lanes) * rate.nominal,
                        static_cast<double>(lanes) * rate.nccl};
    const bool is_gpu = node.child("gpu") || device.substr(0, 6) == "0x0302";
    const bool is_nic = node.child("nic") || device.substr(0, 4) == "0x02";
    if (is_gpu) {
      read_gpu(node, above, slot);
    } else if (is_nic) {
      read_nic(node.child("nic") ? node.child("nic") : node, above, &slot);
    } else if (device.substr(0, 6) != "0x0680") {  // NVSwitches show themselves through NVLinks
      const auto here = add(node, VertexKind::pcie_switch, fmt::format("pcie{}", pcie_switches_++));
      join(here, above, LinkKind::pcie, slot.nominal, slot.nccl);
      for (const pugi::xml_node& child : node.children("pci")) read_pci(child, here);
    }
  }

  void read_gpu(const pugi::xml_node& pci, std::uint32_t above, const LaneRate& slot) {
    constexpr std::int64_t kMostRank = 1'000'000;
    const pugi::xml_node gpu = pci.child("gpu");
    const auto index = static_cast<std::int64_t>(gpus_.size());
    const std::int64_t dev = number(gpu, "dev", index, kMostRank);
    const auto here = add(pci, VertexKind::gpu, fmt::format("gpu{}", dev));
    join(here, above, LinkKind::pcie, slot.nominal, slot.nccl);
    const std::string bus = pci.attribute("busid").value();
    if (!bus.empty() && !bus_.emplace(bus, here).second) {
      fail_at(pci, fmt::format("two devices have the bus id {}", in_quotes(bus)));
    }
    gpus_.push_back({here, pci, number(gpu, "rank", dev, kMostRank)});
    if (const pugi::xml_node c2c = gpu.child("c2c")) {
      constexpr std::int64_t kFastest = 10'000'000;
      const double rate = static_cast<double>(number(c2c, "bw", 0, kFastest)) *
                          static_cast<double>(number(c2c, "count", 1, kMostLinksPerGpu)) / 1000;
      if (rate > 0) join(here, cpus_.back(), LinkKind::socket, rate, rate);
    }
  }

  void read_nic(const pugi::xml_node& nic, std::uint32_t above, const LaneRate* slot) {
    constexpr std::int64_t kFastest = 10'000'000;  // Mb/s
    int ports = 0;
    for (const pugi::xml_node& net : nic.children("net")) {
      const std::string name = net.attribute("name").value();
      const double speed = static_cast<double>(number(net, "speed", 0, kFastest));
      add_nic(net, name, Bandwidth::gigabytes_per_second(speed / 8000), above, slot);
      const std::string_view gdr = net.attribute("gdr").value();
      out_.gpudirect = out_.gpudirect && gdr != "0";
      out_.collnet = out_.collnet || std::string_view(net.attribute("coll").value()) == "1";
      guess_network(name);
      ++ports;
    }
    if (ports == 0) add_nic(nic, "", {}, above, slot);
  }

  void add_nic(const pugi::xml_node& node, const std::string& name, Bandwidth port,
               std::uint32_t above, const LaneRate* slot) {
    const std::string safe = name.empty() ? fmt::format("nic{}", nics_) : legible(name);
    ++nics_;
    const auto here = add(node, VertexKind::nic, safe, port);
    if (slot != nullptr) {
      join(here, above, LinkKind::pcie, slot->nominal, slot->nccl);
    } else {
      constexpr double kLocal = 5000;  // a NIC that hangs on a CPU without a PCIe slot
      join(here, above, LinkKind::pcie, kLocal, kLocal);
    }
  }

  void guess_network(std::string_view name) {
    const auto begins = [&](std::string_view with) { return name.substr(0, with.size()) == with; };
    if (out_.network != NetworkKind::none) return;
    if (begins("cxi") || begins("hsn")) {
      out_.network = NetworkKind::slingshot;
    } else if (begins("efa") || begins("rdmap")) {
      out_.network = NetworkKind::efa;
    } else if (begins("eth") || begins("en") || begins("bond")) {
      out_.network = NetworkKind::tcp;
    } else {
      out_.network = NetworkKind::infiniband;
    }
  }

  void join_cpus() {
    for (std::size_t a = 0; a < cpus_.size(); ++a) {
      for (std::size_t b = a + 1; b < cpus_.size(); ++b) {
        join(cpus_[a], cpus_[b], LinkKind::socket, cpu_rate_, cpu_rate_);
      }
    }
  }

  void join_nvlinks() {
    const NvlinkRate rate = nvlink_rate(*out_.gpu);
    const bool amd = out_.gpu->vendor == GpuVendor::amd;
    std::optional<std::uint32_t> hub;
    std::map<std::pair<std::uint32_t, std::uint32_t>, int> links;
    for (const Gpu& gpu : gpus_) {
      const pugi::xml_node node = gpu.pci.child("gpu");
      if (const pugi::xml_node link = node.child(amd ? "nvlink" : "xgmi"))
        fail_at(link, fmt::format("<{}>, and the GPUs are {}", link.name(), out_.gpu->name),
                "Name the GPU that the node has");
      for (const pugi::xml_node& link : node.children(amd ? "xgmi" : "nvlink")) {
        const auto count = static_cast<int>(number(link, "count", 1, kMostLinksPerGpu));
        if (count == 0) continue;  // a link that is down
        const std::string target = link.attribute("target").value();
        const std::string_view device = link.attribute("tclass").value();
        const auto peer = bus_.find(target);
        if (peer != bus_.end()) {
          if (peer->second == gpu.vertex)
            fail_at(link,
                    fmt::format("an {} that leads back to its GPU", amd ? "xGMI link" : "NVLink"));
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
        }  // else a GPU the file does not show: NCCL was not given it
      }
    }
    for (const auto& [ends, count] : links) {
      join(ends.first, ends.second, LinkKind::nvlink, count * rate.nominal, count * rate.nccl,
           count);
    }
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

  struct Gpu {
    std::uint32_t vertex = 0;
    pugi::xml_node pci;
    std::int64_t rank = 0;
  };

  std::string_view text_;
  const std::string& file_;
  std::optional<GpuModel> stated_gpu_;
  int capability_ = 0;
  double cpu_rate_ = 0;
  std::string host_;
  std::vector<std::uint32_t> cpus_;
  std::vector<Gpu> gpus_;
  int pcie_switches_ = 0;
  int nics_ = 0;
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
