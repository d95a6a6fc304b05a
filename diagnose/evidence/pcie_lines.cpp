// Devices of the PCIe bus.
//
//   lspci -vv    "3b:00.0 Infiniband controller: …", below it LnkCap, LnkSta, ACSCtl
//   /sys         "/sys/class/infiniband/mlx5_0/ports/1/rate: 200 Gb/sec (4X HDR)"
#include <array>

#include "ddpsim/diagnose/evidence/machine_facts.hpp"
#include "evidence_words.hpp"
#include "machine_values.hpp"

namespace ddpsim {
namespace {

/// The address "3b:00.0" or "0000:3b:00.0" at the start of a line, before a blank. Empty if the
/// line begins otherwise.
std::string_view pci_address(std::string_view line) {
  const std::string_view word = up_to(line, " \t");
  const std::size_t dot = word.rfind('.');
  if (dot == std::string_view::npos || dot + 2 != word.size() || dot < 5 || word.size() > 16)
    return "";
  if (word.find_first_not_of("0123456789abcdefABCDEF:.") != std::string_view::npos) return "";
  return word[dot - 3] == ':' ? word : "";
}

PcieDevice::Kind kind_of_title(std::string_view title) {
  for (const std::string_view gpu : {"3D controller", "VGA compatible controller",
                                     "Display controller", "Processing accelerators"})
    if (title.starts_with(gpu)) return PcieDevice::Kind::gpu;
  for (const std::string_view nic : {"Infiniband controller", "InfiniBand controller",
                                     "Ethernet controller", "Network controller"})
    if (title.starts_with(nic)) return PcieDevice::Kind::nic;
  return PcieDevice::Kind::other;
}

/// Whether a bridge belongs to a PCIe switch, judged by its maker, if the listing does not state
/// the kind of port.
bool is_switch(std::string_view title) {
  if (!title.starts_with("PCI bridge") || title.find("Root") != std::string_view::npos)
    return false;
  for (const std::string_view maker :
       {"PLX", "PEX", "Switch", "Microsemi", "Microchip", "PMC-Sierra"})
    if (title.find(maker) != std::string_view::npos) return true;
  return false;
}

/// Takes a file of a port: "rate" or "state".
void take_port_file(std::string_view file, std::string_view value, NicPort& port) {
  if (file == "state") {  // "4: ACTIVE"
    const std::size_t colon = value.find(':');
    port.state =
        upper_word(trimmed(colon == std::string_view::npos ? value : value.substr(colon + 1)));
  }
  if (file != "rate") return;
  port.rate_gbps = positive_number(value);
  if (const auto lanes = after_mark(value, "(")) port.lanes = leading_number<int>(*lanes);
}

void take_link_file(std::string_view file, std::string_view value, PcieDevice& device) {
  if (file == "current_link_speed") device.link.rate = rate_of_text(value);
  if (file == "max_link_speed") device.link.best_rate = rate_of_text(value);
  if (file == "current_link_width") device.link.width = width_of_text(value);
  if (file == "max_link_width") device.link.best_width = width_of_text(value);
  if (file == "class") {
    if (value.starts_with("0x0207") || value.starts_with("0x0200") || value.starts_with("0x0280"))
      device.kind = PcieDevice::Kind::nic;
    if (value.starts_with("0x03") || value.starts_with("0x12")) device.kind = PcieDevice::Kind::gpu;
  }
}

}  // namespace

bool MachineLineReader::take_lspci(std::string_view line, const std::string& place,
                                   MachineFacts& facts) {
  if (const std::string_view address = pci_address(line); !address.empty()) {
    in_smi_ = false;
    below_switch_ = false;
    const std::string_view title = trimmed(line.substr(address.size()));
    device_ = std::string(address);
    if (device_.find(':') == device_.rfind(':')) device_.insert(0, "0000:");  // as in /sys
    PcieDevice* device = device_named(device_, place, facts);
    if (device == nullptr) {
      device_.clear();
      return true;
    }
    device->kind = kind_of_title(title);
    below_switch_ = is_switch(title);
    device->title = legible(title, 100);
    return true;
  }
  if (device_.empty() || line.empty() || (line[0] != ' ' && line[0] != '\t')) return false;
  PcieDevice& device = facts.devices[device_];
  const std::string_view bare = trimmed(line);
  if (bare.find("Express (v") != std::string_view::npos)
    below_switch_ = bare.find("Downstream Port") != std::string_view::npos;
  const auto speed = after_mark(bare, "Speed ");
  const auto width = after_mark(bare, "Width x");
  if (bare.starts_with("LnkCap:") && speed && width) {
    device.link.best_rate = rate_of_text(*speed);
    device.link.best_width = width_of_text(*width);
  } else if (bare.starts_with("LnkSta:") && speed && width) {
    device.link.rate = rate_of_text(*speed);
    device.link.width = width_of_text(*width);
  } else if (bare.starts_with("ACSCtl:") && below_switch_) {
    facts.acs_read = true;
    if (bare.find("ReqRedir+") == std::string_view::npos) return true;
    if (facts.acs.empty()) facts.acs_place = place;
    if (facts.acs.size() < 100) facts.acs.push_back(device_);
  }
  return true;
}

bool MachineLineReader::take_path(std::string_view line, const std::string& place,
                                  MachineFacts& facts) {
  const std::string_view bare = trimmed(line);
  if (!bare.starts_with("/sys/")) return false;
  constexpr std::array<std::string_view, 11> kFiles = {"current_link_speed",
                                                       "max_link_speed",
                                                       "current_link_width",
                                                       "max_link_width",
                                                       "class",
                                                       "rate",
                                                       "state",
                                                       "mtu",
                                                       "hca_type",
                                                       "board_id",
                                                       "phys_state"};
  for (const std::string_view file : kFiles) {
    const std::size_t at = bare.find("/" + std::string(file) + ":");
    if (at == std::string_view::npos) continue;
    in_smi_ = false;
    const std::string_view value = trimmed(bare.substr(at + file.size() + 2));
    const std::string_view folder = bare.substr(0, at);
    const auto infiniband = after_mark(folder, "/infiniband/");
    const std::string hca = legible(infiniband ? up_to(*infiniband, "/") : "", 40);
    if (const auto net = after_mark(folder, "/sys/class/net/"); net && file == "mtu") {
      keep_mtu(up_to(*net, "/"), value, place, facts);
      return true;
    }
    if (const auto number = infiniband ? after_mark(*infiniband, "/ports/") : std::nullopt) {
      if (NicPort* port = port_named(hca + '/' + legible(up_to(*number, "/"), 10), place, facts))
        take_port_file(file, value, *port);
      return true;
    }
    if (infiniband && (file == "hca_type" || file == "board_id")) {
      if (PcieDevice* device = device_named(hca, place, facts)) device->title = legible(value, 60);
      return true;
    }
    const auto net = after_mark(folder, "/sys/class/net/");
    const std::size_t slash = folder.rfind('/');
    const std::string name = legible(infiniband ? std::string_view(hca)
                                     : net      ? up_to(*net, "/")
                                                : folder.substr(slash + 1),
                                     60);
    PcieDevice* device = device_named(name, place, facts);
    if (device == nullptr) return true;
    if (infiniband || net) device->kind = PcieDevice::Kind::nic;
    if (folder.find("/sys/class/drm/") != std::string_view::npos)
      device->kind = PcieDevice::Kind::gpu;
    take_link_file(file, value, *device);
    return true;
  }
  return false;
}

}  // namespace ddpsim
