#include "xml_gpu_model.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "ddpsim/formats/quote.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "description.hpp"
#include "pci_ids.hpp"

namespace ddpsim {
namespace {

class GpuModelOfXml {
 public:
  GpuModelOfXml(const XmlText& xml, const std::vector<pugi::xml_node>& gpus,
                const std::optional<GpuModel>& stated, XmlNode& out)
      : xml_(xml), gpus_(gpus), stated_(stated), out_(out) {}

  /// Uses the user's word, otherwise the PCI device id, otherwise the compute capability.
  void decide() {
    std::optional<PciGpu> known;
    for (const pugi::xml_node& pci : gpus_) {
      const auto found = pci_gpu(pci.attribute("vendor").value(), pci.attribute("device").value());
      if (known && found && known->name != found->name)
        xml_.fail_at(pci,
                     fmt::format("GPUs of one node differ: {} and {}", known->name, found->name),
                     "Use the file of a node with identical GPUs");
      if (!known) known = found;
    }
    if (stated_) {
      out_.gpu = stated_;
      const bool same = known && gpu_model_name(known->name) == out_.gpu->name;
      out_.card = same && known->card;
      if (known && !same)
        out_.doubts.push_back(fmt::format(
            "the file's GPUs are {} by their PCI device id, but {} is used because you wrote gpu:",
            known->name, out_.gpu->stated()));
      if (same) take_variant(known->name);
      const int sm = known ? 0 : least_capability();
      if (sm > 0 && out_.gpu->vendor == GpuVendor::nvidia && sm != out_.gpu->compute_capability)
        out_.doubts.push_back(
            fmt::format("the file's GPUs have sm=\"{}\", but {} has {}. Is your gpu: right?", sm,
                        out_.gpu->name, out_.gpu->compute_capability));
      return;
    }
    if (known) {
      out_.card = known->card;
      out_.gpu = find_gpu(known->name);
      if (out_.gpu) return;
    }
    const std::string_view device = gpus_.front().attribute("device").value();
    if (known)
      xml_.fail("",
                fmt::format("the GPUs are {} (PCI device {}), which ddpsim does not know",
                            known->name, device),
                fmt::format("Add a known one after the file name: \"{} gpu:MODEL\". {}",
                            xml_.file(), gpus_instead_of(known->name)));
    guess(device);
  }

 private:
  /// The PCI device id tells which variant the user's word left open, or that the word names
  /// another GPU.
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
          "the file's GPUs are {} by their PCI device id, but {} is used because you wrote gpu:",
          there->product(), out_.gpu->product()));
  }

  /// 0 if none is stated.
  int least_capability() const {
    constexpr std::int64_t kNewest = 1000;
    int capability = 0;
    for (const pugi::xml_node& pci : gpus_) {
      const auto sm = static_cast<int>(xml_.number(pci.child("gpu"), "sm", 0, kNewest));
      if (sm > 0 && (capability == 0 || sm < capability)) capability = sm;
    }
    return capability;
  }

  void guess(std::string_view device) {
    const int capability = least_capability();
    const pugi::xml_node first = gpus_.front().child("gpu");
    const std::string gcn = first.attribute("gcn").value();
    const char* model = gcn.empty() ? model_of(capability) : model_of_gcn(gcn);
    const std::string by =
        gcn.empty() ? fmt::format("sm=\"{}\"", capability) : fmt::format("gcn={}", in_quotes(gcn));
    if (model == nullptr) {
      if (!out_.dump)
        xml_.fail(
            "",
            "this is a file for NCCL_TOPO_FILE: it names no GPU model, and NCCL adds NVLinks at "
            "run time",
            fmt::format("Add both after the file name, such as \"{0} gpu:A100 nvswitch:300GBps\", "
                        "or \"{0} gpu:T4 pcie:15.75GBps\" for GPUs without NVLink",
                        xml_.file()));
      xml_.fail("",
                capability == 0 && gcn.empty() ? "the GPU model is not stated"
                                               : fmt::format("several GPU models have {}", by),
                fmt::format("Add it after the file name: \"{} gpu:{}\"", xml_.file(),
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
      out_.doubts.push_back(
          fmt::format("PCI device {} is unknown: {} is assumed because of {}. If this is wrong, "
                      "add gpu:MODEL after the file name",
                      legible(device), model, by));
    else if (!others.empty())
      out_.doubts.push_back(
          fmt::format("{} is assumed because of {}, which {} have as well. Add gpu:MODEL after the "
                      "file name to choose",
                      model, by, others));
  }

  /// RCCL's number of the instruction set. For example, 910 is gfx90a.
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

  const XmlText& xml_;
  const std::vector<pugi::xml_node>& gpus_;
  const std::optional<GpuModel>& stated_;
  XmlNode& out_;
};

}  // namespace

void decide_gpu_model(const XmlText& xml, const std::vector<pugi::xml_node>& gpus,
                      const std::optional<GpuModel>& stated, XmlNode& out) {
  GpuModelOfXml(xml, gpus, stated, out).decide();
}

}  // namespace ddpsim
