#include "xml_nics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "ddpsim/formats/quote.hpp"
#include "ddpsim/topologies/kind_words.hpp"
#include "description.hpp"
#include "pci_ids.hpp"

namespace ddpsim {
namespace {

/// Recognises interfaces of NCCL's socket transport, whatever their names are.
bool is_socket(const pugi::xml_node& net) {
  const auto is = [&](const char* name, std::string_view value) {
    return net.attribute(name).value() == value;
  };
  return is("port", "0") && is("maxconn", "65536") && is("gdr", "0");
}

}  // namespace

void XmlNics::list(const pugi::xml_node& nic, const pugi::xml_node& pci, std::uint32_t above,
                   const std::optional<Slot>& slot) {
  const bool in_slot = slot.has_value();
  const Bandwidth rate = Bandwidth::gigabytes_per_second(in_slot ? slot->nominal : 0);
  const std::string_view pci_class = in_slot ? pci.attribute("class").value() : "";
  const auto model = in_slot
                         ? pci_nic(pci.attribute("vendor").value(), pci.attribute("device").value())
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
    nics_.push_back({net, above, slot, kind, std::string_view(net.attribute("gdr").value()) != "0",
                     std::string_view(net.attribute("coll").value()) == "1",
                     model ? model->most_gbps : 0});
    listed_.back().rate = stated_rate(net);
    any = true;
  }
  if (any || (nic && !in_slot)) return;
  listed_.push_back({"", "", {}, rate, device});
  nics_.push_back({pci, above, slot, kind, true, false, model ? model->most_gbps : 0});
}

std::size_t XmlNics::device_of(const pugi::xml_node& pci) {
  const std::string bus = pci.attribute("busid").value();
  const std::size_t function = bus.rfind('.');
  if (function == bus.npos) return ++devices_;
  const auto [known, fresh] = device_numbers_.emplace(bus.substr(0, function), devices_ + 1);
  if (fresh) ++devices_;
  return known->second;
}

Bandwidth XmlNics::stated_rate(const pugi::xml_node& net) {
  constexpr std::int64_t kFastest = 1'000'000'000'000;  // Mb/s
  constexpr std::int64_t kPlausible = 1'600'000;
  if (std::string_view(net.attribute("speed").value()).starts_with("-")) return {};
  const std::int64_t speed = xml_.number(net, "speed", 0, kFastest);
  if (speed > kPlausible) {
    implausible_.push_back(listed_.size() - 1);
    return {};
  }
  return Bandwidth::gigabytes_per_second(static_cast<double>(speed) / 8000);
}

std::vector<PlacedNic> XmlNics::place(const std::optional<GpuModel>& stated, XmlNode& out) {
  std::vector<PlacedNic> placed;
  const auto unnamed = [](const ListedNic& nic) { return nic.name.empty(); };
  const auto bare = std::ranges::count_if(listed_, unnamed);
  const bool mixed = bare > 0 && bare < std::ssize(listed_);
  if (mixed)
    out.doubts.push_back(fmt::format(
        "network devices without <net> do not count, as NCCL was not given them: {}", bare));
  std::vector<std::size_t> counted = nics_that_count(listed_, out.doubts);
  if (mixed) std::erase_if(counted, [&](std::size_t i) { return unnamed(listed_[i]); });
  for (std::size_t i = 0; i < counted.size(); ++i) {
    const ListedNic& listed = listed_[counted[i]];
    const Nic& nic = nics_[counted[i]];
    const auto ports = static_cast<double>(ports_of(listed.device, listed_, counted));
    // NCCL recognises a shared slot only if one <nic> holds the ports.
    const auto together = static_cast<double>(std::ranges::count_if(counted, [&](std::size_t j) {
      return listed_[j].device == listed.device && nics_[j].node.parent() == nic.node.parent();
    }));
    // For a NIC that is attached to a CPU without a PCIe slot.
    constexpr double kLocal = 5000;
    const Slot slot = nic.slot ? with_generation(*nic.slot, *out.gpu) : Slot{kLocal, kLocal};
    placed.push_back({nic.node,
                      listed.name.empty() ? fmt::format("nic{}", i) : legible(listed.name),
                      listed.rate, nic.above, slot.nominal / ports, slot.nccl / together});
    out.gpudirect = out.gpudirect && nic.gpudirect;
    out.collnet = out.collnet || nic.collnet;
    if (out.network == NetworkKind::none) out.network = nic.kind;
  }
  doubt_rates(counted, stated, out);
  return placed;
}

std::string XmlNics::word_for(std::size_t nic) const {
  Network named;
  named.kind = nics_[nic].kind == NetworkKind::none ? NetworkKind::infiniband : nics_[nic].kind;
  return fmt::format("nic:{}Gbps:{}", nics_[nic].most_gbps > 0 ? nics_[nic].most_gbps : 100,
                     kind_word(named));
}

std::string XmlNics::file_with_gpu(const std::optional<GpuModel>& stated) const {
  return stated ? fmt::format("{} gpu:{}", xml_.file(), stated->name) : xml_.file();
}

void XmlNics::doubt_rates(const std::vector<std::size_t>& counted,
                          const std::optional<GpuModel>& stated, XmlNode& out) {
  std::vector<std::size_t> unstated;
  for (const std::size_t i : counted)
    if (!(listed_[i].rate > Bandwidth()) && std::ranges::count(implausible_, i) == 0)
      unstated.push_back(i);
  if (!unstated.empty())
    out.rate_doubts.push_back(
        fmt::format("the file states no rate for {} NIC{}, which a job on several nodes needs. Add "
                    "it after the file name: \"{} {}\"",
                    unstated.size(), unstated.size() > 1 ? "s" : "", file_with_gpu(stated),
                    word_for(unstated.front())));
  std::erase_if(implausible_, [&](std::size_t i) { return std::ranges::count(counted, i) == 0; });
  if (implausible_.empty()) return;
  const std::size_t first = implausible_.front();
  out.rate_doubts.push_back(fmt::format(
      "{}{} states a speed of {} Mb/s, which no NIC reaches, so it is not used. Add it after the "
      "file name: \"{} {}\"",
      legible(listed_[first].name),
      implausible_.size() > 1 ? fmt::format(" (and {} more)", implausible_.size() - 1) : "",
      legible(nics_[first].node.attribute("speed").value()), file_with_gpu(stated),
      word_for(first)));
}

}  // namespace ddpsim
