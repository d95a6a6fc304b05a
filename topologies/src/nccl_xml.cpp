// <system> holds <cpu>s, these hold nested <pci>s: bridges, GPUs (with <gpu>, and in it <nvlink> and
// <c2c>), NICs (with <nic> and in it a <net> per port). Attributes unknown here are passed over, as
// NCCL does. What NCCL derives from it (src/graph/topo.cc):
//
//   pci       link_width * rate of link_speed, less NCCL's quarter; an unknown speed is Gen3, width
//             0 is 16
//   nvlink    count links to the GPU at `target`; to an NVSwitch where the target cannot be read
//             or has class 0x0680xx
//   c2c       bw * count, in MB/s
//   net       speed in Mb/s; the ports of a device share its slot
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
#include "ddpsim/topologies/kind_words.hpp"
#include "ddpsim/topologies/pcie_rate.hpp"
#include "description.hpp"
#include "nccl_rates.hpp"
#include "nic_list.hpp"
#include "node_graph.hpp"
#include "pci_ids.hpp"

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

/// "8.0 GT/s PCIe" and "8 GT/s" are the same; absent: anything else.
const LaneRate* lane_rate(std::string_view speed) {
  const std::size_t space = speed.find(' ');
  std::string_view number = speed.substr(0, space);
  if (number.size() > 2 && number.substr(number.size() - 2) == ".0") number.remove_suffix(2);
  for (const LaneRate& rate : kLaneRates) {
    const std::string_view known = rate.speed;
    if (known.substr(0, known.find(' ')) == number) return &rate;
  }
  return nullptr;
}

/// A PCIe slot, in one direction.
struct Slot {
  double nominal = 0;  ///< GB/s
  double nccl = 0;     ///< GB/s
  double lanes = 16;
  bool stated = true;  ///< false: its speed is unknown, NCCL takes Gen3
};

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
    look_ahead(system, 0);
    for (const pugi::xml_node& cpu : system.children("cpu")) read_cpu(cpu);
    if (gpus_.empty())
      fail("", "no GPU in <system>",
           "A file for NCCL_TOPO_FILE may name none. Give what NCCL writes on a node with GPUs: "
           "NCCL_TOPO_DUMP_FILE=topo.xml");
    decide_gpu_model();
    add_nics();
    join_cpus();
    settle_slots();
    join_nvlinks();
    order_gpus();
    name_what_is_odd();
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
    const bool whole =
        rest.empty() || (rest.size() > 1 && rest.front() == '.' &&
                         rest.find_first_not_of('0', 1) == std::string_view::npos);  // "0.000000"
    if (!value || !whole || *value < 0 || *value > high) {
      fail_at(node,
              fmt::format("{}={} is not a number from 0 to {}", name, in_quotes(written), high));
    }
    return *value;
  }

  /// Whether NCCL wrote the file, and no element is nested too deep.
  void look_ahead(const pugi::xml_node& node, int depth) {
    if (depth > kDeepest) fail_at(node, "elements are nested more than 32 deep");
    if (depth == 0) out_.dump = false;
    for (const pugi::xml_node& child : node.children()) {
      if (std::string_view(child.name()) == "gpu") out_.dump = true;
      look_ahead(child, depth + 1);
    }
  }

  /// By the word beside the file, then by PCI device id, then by compute capability.
  void decide_gpu_model() {
    std::optional<PciGpu> known;
    for (const Gpu& gpu : gpus_) {
      const auto found =
          pci_gpu(gpu.pci.attribute("vendor").value(), gpu.pci.attribute("device").value());
      if (known && found && known->name != found->name)
        fail_at(gpu.pci,
                fmt::format("GPUs of one node differ: {} and {}", known->name, found->name),
                "Take the file of a node whose GPUs are alike");
      if (!known) known = found;
    }
    if (stated_gpu_) {
      out_.gpu = stated_gpu_;
      const bool same = known && gpu_model_name(known->name) == out_.gpu->name;
      out_.card = same && known->card;
      if (known && !same)
        out_.doubts.push_back(fmt::format(
            "the file's GPUs are {} by their PCI device id; they are taken for {}, as the word "
            "beside it says",
            known->name, out_.gpu->stated()));
      if (same) take_variant(known->name);
      const int sm = known ? 0 : least_capability();
      if (sm > 0 && out_.gpu->vendor == GpuVendor::nvidia && sm != out_.gpu->compute_capability)
        out_.doubts.push_back(fmt::format(
            "the file's GPUs have sm=\"{}\", and {} has {}: is the word beside it right?", sm,
            out_.gpu->name, out_.gpu->compute_capability));
      return;
    }
    if (known) {
      out_.card = known->card;
      out_.gpu = find_gpu(known->name);
      if (out_.gpu) return;
    }
    const std::string_view device = gpus_.front().pci.attribute("device").value();
    if (known)
      fail("",
           fmt::format("the GPUs are {} (PCI device {}), whose figures are not known here",
                       known->name, device),
           fmt::format("Name one that is beside the file, \"{} gpu:MODEL\". {}", file_,
                       gpus_instead_of(known->name)));
    guess_gpu_model(device);
  }

  /// The PCI device id says which variant the word beside the file left open, or that it names another.
  void take_variant(std::string_view by_id) {
    const std::optional<GpuModel> there = find_gpu(by_id);
    if (!there || there->variant_open || there->product() == out_.gpu->product()) {
      if (there && !there->variant_open) out_.gpu = there;
      return;
    }
    if (out_.gpu->variant_open)
      out_.gpu = there;
    else
      out_.doubts.push_back(fmt::format(
          "the file's GPUs are {} by their PCI device id; they are taken for {}, as the word "
          "beside it says",
          there->product(), out_.gpu->product()));
  }

  /// 0 where none is stated.
  int least_capability() const {
    constexpr std::int64_t kNewest = 1000;
    int capability = 0;
    for (const Gpu& gpu : gpus_) {
      const auto sm = static_cast<int>(number(gpu.pci.child("gpu"), "sm", 0, kNewest));
      if (sm > 0 && (capability == 0 || sm < capability)) capability = sm;
    }
    return capability;
  }

  void guess_gpu_model(std::string_view device) {
    const int capability = least_capability();
    const pugi::xml_node first = gpus_.front().pci.child("gpu");
    const std::string gcn = first.attribute("gcn").value();
    const char* model = gcn.empty() ? model_of(capability) : model_of_gcn(gcn);
    const std::string by =
        gcn.empty() ? fmt::format("sm=\"{}\"", capability) : fmt::format("gcn={}", in_quotes(gcn));
    if (model == nullptr) {
      if (!out_.dump)
        fail("",
             "this is a file for NCCL_TOPO_FILE: it names no GPU model, and NVLinks are added by "
             "NCCL when it runs",
             fmt::format("Say both beside it, such as \"{0} gpu:A100 nvswitch:300GBps\", or \"{0} "
                         "gpu:T4 pcie:15.75GBps\" where GPUs have no NVLink",
                         file_));
      fail("",
           capability == 0 && gcn.empty() ? "the GPU model is not stated"
                                          : fmt::format("several GPU models have {}", by),
           fmt::format("Name it beside the file: \"{} gpu:{}\"", file_,
                       first.child("xgmi") ? "MI300X" : "A100"));
    }
    out_.gpu = find_gpu(model);
    std::string others;
    std::string last;
    for (const GpuFamily& family : gpu_families())
      for (const GpuModel& gpu : family.gpus)
        if (gcn.empty() && gpu.vendor == GpuVendor::nvidia && gpu.name != model &&
            gpu.compute_capability == capability && gpu.name != last) {
          others += (others.empty() ? "" : ", ") + gpu.name;
          last = gpu.name;
        }
    if (!device.empty())
      out_.doubts.push_back(fmt::format(
          "PCI device {} is not known here: the GPUs are taken for {} by {} (gpu:MODEL beside the "
          "file says otherwise)",
          legible(device), model, by));
    else if (!others.empty())
      out_.doubts.push_back(fmt::format(
          "the GPUs are taken for {} by {}, which {} have as well (gpu:MODEL beside the file says "
          "which)",
          model, by, others));
  }

  /// RCCL's number of the instruction set: gfx90a is 910.
  static const char* model_of_gcn(std::string_view gcn) {
    if (gcn.starts_with("gfx")) gcn.remove_prefix(3);
    if (gcn == "910" || gcn == "90a") return "MI250X";
    if (gcn == "940") return "MI300A";
    return gcn == "942" ? "MI300X" : nullptr;
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
    for (const pugi::xml_node& nic : node.children("nic")) list_nics(nic, node, cpu, {});
  }

  /// NCCL leaves a GPU without <gpu> alone, and adds <gpu> itself where it reads a file without any.
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
    constexpr std::int64_t kMostLanes = 32;
    const std::string_view device = node.attribute("class").value();
    std::int64_t lanes = number(node, "link_width", 16, kMostLanes);
    if (lanes == 0) lanes = 16;
    const LaneRate* stated = lane_rate(node.attribute("link_speed").value());
    const LaneRate& rate = stated == nullptr ? kLaneRates[2] : *stated;
    const auto wide = static_cast<double>(lanes);
    const Slot slot{wide * rate.nominal, wide * rate.nccl, wide, stated != nullptr};
    const bool display = device.starts_with("0x03") || device.starts_with("0x1200");
    if (is_gpu(node)) {
      read_gpu(node, above, slot);
    } else if (node.child("nic") || device.starts_with("0x02")) {
      list_nics(node.child("nic"), node, above, slot);
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
    const std::int64_t dev = number(gpu, "dev", index, kMostRank);
    const auto here = add(pci, VertexKind::gpu, fmt::format("device{}", index));
    const std::size_t wire = out_.graph.wires.size();
    join(here, above, LinkKind::pcie, slot.nominal, slot.nccl);
    const std::string bus = pci.attribute("busid").value();
    if (!bus.empty() && !bus_.emplace(bus, here).second) {
      fail_at(pci, fmt::format("two devices have the bus id {}", in_quotes(bus)));
    }
    gpus_.push_back({here, pci, number(gpu, "rank", dev, kMostRank), dev, slot, wire, 0});
    if (const pugi::xml_node c2c = gpu.child("c2c")) {
      constexpr std::int64_t kFastest = 10'000'000;
      const double rate = static_cast<double>(number(c2c, "bw", 0, kFastest)) *
                          static_cast<double>(number(c2c, "count", 1, kMostLinksPerGpu)) / 1000;
      if (rate > 0) join(here, cpus_.back(), LinkKind::socket, rate, rate);
    }
  }

  /// The ports of a device; `nic` is empty where the file shows the device alone.
  /// What NCCL's socket transport says of each interface, whatever its name.
  static bool is_socket(const pugi::xml_node& net) {
    const auto is = [&](const char* name, std::string_view value) {
      return net.attribute(name).value() == value;
    };
    return is("port", "0") && is("maxconn", "65536") && is("gdr", "0");
  }

  void list_nics(const pugi::xml_node& nic, const pugi::xml_node& pci, std::uint32_t above,
                 const std::optional<Slot>& slot) {
    const bool in_slot = slot.has_value();
    const Bandwidth rate = Bandwidth::gigabytes_per_second(in_slot ? slot->nominal : 0);
    const std::string_view pci_class = in_slot ? pci.attribute("class").value() : "";
    const auto model =
        in_slot ? pci_nic(pci.attribute("vendor").value(), pci.attribute("device").value())
                : std::nullopt;
    NetworkKind kind = model ? model->network : NetworkKind::none;
    std::size_t device = in_slot ? device_of(pci) : ++devices_;
    bool any = false;
    for (const pugi::xml_node& net : nic.children("net")) {
      const std::string name = net.attribute("name").value();
      if (!in_slot) device = ++devices_;
      if (!model || model->network == NetworkKind::none) kind = network_of_name(name, pci_class);
      if (is_socket(net)) kind = NetworkKind::tcp;
      listed_.push_back({name, net.attribute("port").value(), {}, rate, device});
      nics_.push_back(
          {net, above, slot, kind, std::string_view(net.attribute("gdr").value()) != "0",
           std::string_view(net.attribute("coll").value()) == "1", model ? model->most_gbps : 0});
      listed_.back().rate = stated_rate(net);
      any = true;
    }
    if (any || (nic && !in_slot)) return;
    listed_.push_back({"", "", {}, rate, device});
    nics_.push_back({pci, above, slot, kind, true, false, model ? model->most_gbps : 0});
  }

  /// Functions of one device, "0000:18:00.0" and "0000:18:00.1", stand in one slot.
  std::size_t device_of(const pugi::xml_node& pci) {
    const std::string bus = pci.attribute("busid").value();
    const std::size_t function = bus.rfind('.');
    if (function == bus.npos) return ++devices_;
    const auto [known, fresh] = device_numbers_.emplace(bus.substr(0, function), devices_ + 1);
    if (fresh) ++devices_;
    return known->second;
  }

  /// 0 where it is not stated, or cannot be.
  Bandwidth stated_rate(const pugi::xml_node& net) {
    constexpr std::int64_t kFastest = 1'000'000'000'000;  // Mb/s
    constexpr std::int64_t kPlausible = 1'600'000;
    if (std::string_view(net.attribute("speed").value()).starts_with("-")) return {};
    const std::int64_t speed = number(net, "speed", 0, kFastest);
    if (speed > kPlausible) {
      implausible_.push_back(listed_.size() - 1);
      return {};
    }
    return Bandwidth::gigabytes_per_second(static_cast<double>(speed) / 8000);
  }

  /// Vertices for the NICs that count. Where some have ports, devices without any are not NCCL's.
  void add_nics() {
    const auto unnamed = [](const ListedNic& nic) { return nic.name.empty(); };
    const auto bare = std::ranges::count_if(listed_, unnamed);
    const bool mixed = bare > 0 && bare < std::ssize(listed_);
    if (mixed)
      out_.doubts.push_back(fmt::format(
          "network devices without <net> do not count, as NCCL was not given them: {}", bare));
    std::vector<std::size_t> counted = nics_that_count(listed_, out_.doubts);
    if (mixed) std::erase_if(counted, [&](std::size_t i) { return unnamed(listed_[i]); });
    for (std::size_t i = 0; i < counted.size(); ++i) {
      const ListedNic& listed = listed_[counted[i]];
      const Nic& nic = nics_[counted[i]];
      const auto here =
          add(nic.node, VertexKind::nic,
              listed.name.empty() ? fmt::format("nic{}", i) : legible(listed.name), listed.rate);
      const auto ports = static_cast<double>(ports_of(listed.device, listed_, counted));
      // NCCL knows of one slot only where one <nic> holds the ports.
      const auto together = static_cast<double>(std::ranges::count_if(counted, [&](std::size_t j) {
        return listed_[j].device == listed.device && nics_[j].node.parent() == nic.node.parent();
      }));
      constexpr double kLocal = 5000;  // a NIC that hangs on a CPU without a PCIe slot
      const Slot slot = nic.slot ? with_generation(*nic.slot) : Slot{kLocal, kLocal};
      join(here, nic.above, LinkKind::pcie, slot.nominal / ports, slot.nccl / together);
      out_.gpudirect = out_.gpudirect && nic.gpudirect;
      out_.collnet = out_.collnet || nic.collnet;
      if (out_.network == NetworkKind::none) out_.network = nic.kind;
    }
    doubt_rates(counted);
  }

  /// "nic:200Gbps:ib", as the device's model and name suggest.
  std::string word_for(std::size_t nic) const {
    Network named;
    named.kind = nics_[nic].kind == NetworkKind::none ? NetworkKind::infiniband : nics_[nic].kind;
    return fmt::format("nic:{}Gbps:{}", nics_[nic].most_gbps > 0 ? nics_[nic].most_gbps : 100,
                       kind_word(named));
  }

  /// The file as it was named, with the word that it needs.
  std::string file_with_gpu() const {
    return stated_gpu_ ? fmt::format("{} gpu:{}", file_, stated_gpu_->name) : file_;
  }

  void doubt_rates(const std::vector<std::size_t>& counted) {
    std::vector<std::size_t> unstated;
    for (const std::size_t i : counted)
      if (!(listed_[i].rate > Bandwidth()) && std::ranges::count(implausible_, i) == 0)
        unstated.push_back(i);
    if (!unstated.empty())
      out_.rate_doubts.push_back(fmt::format(
          "the file states no rate of {} NIC{}, which several nodes need: say it beside the file, "
          "such as \"{} {}\"",
          unstated.size(), unstated.size() > 1 ? "s" : "", file_with_gpu(),
          word_for(unstated.front())));
    std::erase_if(implausible_, [&](std::size_t i) { return std::ranges::count(counted, i) == 0; });
    if (implausible_.empty()) return;
    const std::size_t first = implausible_.front();
    out_.rate_doubts.push_back(fmt::format(
        "{}{} states a speed of {} Mb/s, which no NIC reaches: the rate is not used. Say it beside "
        "the file, such as \"{} {}\"",
        legible(listed_[first].name),
        implausible_.size() > 1 ? fmt::format(" (and {} more)", implausible_.size() - 1) : "",
        legible(nics_[first].node.attribute("speed").value()), file_with_gpu(), word_for(first)));
  }

  /// Where the file does not know a slot's speed it is that of the board.
  Slot with_generation(Slot slot) const {
    if (!slot.stated) slot.nominal = std::max(slot.nominal, most_of(slot.lanes));
    return slot;
  }
  /// What the GPUs' generation of PCIe carries, GB/s.
  double most_of(double lanes) const {
    return pcie_nominal_of_generation(out_.gpu->compute_capability) * lanes / 16;
  }

  /// A GPU's slot is as fast as the GPU, whatever the switch in front of it can do.
  void settle_slots() {
    bool faster = false;
    double stated = 0;
    constexpr double kRounding = 1.01;
    for (const Gpu& gpu : gpus_) {
      Wire& wire = out_.graph.wires[gpu.slot_wire];
      const double most = most_of(gpu.slot.lanes);
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
          stated, out_.gpu->name, most_of(16)));
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
        fail_at(link, fmt::format("<{}>, and the GPUs are {}", link.name(), out_.gpu->name),
                "Name the GPU that the node has");
      for (const pugi::xml_node& link : node.children(amd ? "xgmi" : "nvlink")) {
        const int count =
            lanes * static_cast<int>(number(link, "count", 1, kMostLinksPerGpu / lanes));
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
        }  // else a GPU the file does not show: NCCL was not given it
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
    int own_links = 0;  ///< that lead back to it
  };

  /// Beside `listed_`, place by place.
  struct Nic {
    pugi::xml_node node;
    std::uint32_t above = 0;
    std::optional<Slot> slot;
    NetworkKind kind = NetworkKind::none;
    bool gpudirect = true;
    bool collnet = false;
    int most_gbps = 0;  ///< of the model; 0 where it is not known
  };

  std::string_view text_;
  const std::string& file_;
  std::optional<GpuModel> stated_gpu_;
  double cpu_rate_ = 0;
  std::string host_;
  std::vector<std::uint32_t> cpus_;
  std::vector<Gpu> gpus_;
  int pcie_switches_ = 0;
  int unused_gpus_ = 0;
  std::size_t devices_ = 0;
  std::map<std::string, std::size_t> device_numbers_;  ///< by bus id without the function
  std::vector<ListedNic> listed_;
  std::vector<Nic> nics_;
  std::vector<std::size_t> implausible_;  ///< places of NICs with such a rate
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
