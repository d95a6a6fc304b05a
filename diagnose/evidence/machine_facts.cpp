// nvidia-smi -q             indented names, ":", values; a section is a name alone
// nvidia-smi --query-gpu=…  a header of names ("power.limit [W]"), then a row per GPU
// lspci -vv                 "3b:00.0 Infiniband controller: …", below it LnkCap, LnkSta, ACSCtl
// /sys                      "/sys/class/infiniband/mlx5_0/ports/1/rate: 200 Gb/sec (4X HDR)"
// ip link                   "2: eth0: <…> mtu 9000 qdisc …"
// nvidia-smi topo -m        a header of "GPU0 GPU1 …", then "GPU0 X NV12 SYS …"
// ibv_devinfo, ibstat       "hca_id: mlx5_0", "CA 'mlx5_0'", "Port 1:", below them state, rate and MTU
#include "ddpsim/diagnose/evidence/machine_facts.hpp"

#include <algorithm>
#include <array>

#include "ddpsim/formats/log_words.hpp"
#include "evidence_words.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kMostDevices = 10'000;
constexpr std::size_t kMostGpus = 1'000;

/// NVIDIA numbers generations; a lane's rate in GT/s.
std::optional<double> rate_of_generation(std::string_view text) {
  constexpr std::array kRates = {2.5, 5.0, 8.0, 16.0, 32.0, 64.0};
  const auto generation = leading_number<int>(text);
  if (!generation || *generation < 1 || *generation > static_cast<int>(kRates.size())) return {};
  return kRates[static_cast<std::size_t>(*generation - 1)];
}

std::optional<double> rate_of_text(std::string_view text) {
  const auto rate = leading_number<double>(text);
  if (!rate || !(*rate >= 2.5) || !(*rate <= 256)) return {};
  return rate;
}

std::optional<int> width_of_text(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with('x')) text.remove_prefix(1);
  const auto width = leading_number<int>(text);
  if (!width || *width < 1 || *width > 64) return {};  // 255: /sys does not know
  return width;
}

std::optional<double> positive_number(std::string_view text) {
  const auto number = leading_number<double>(text);
  if (!number || !(*number > 0) || !(*number < 1e6)) return {};
  return number;
}

void set_idle(GpuState& gpu, bool idle) {
  if (!gpu.idle || !idle) gpu.idle = idle;  // one sign of work beats signs of none
}

void take_utilisation(std::string_view value, GpuState& gpu) {
  const auto percent = leading_number<int>(value);
  if (percent && *percent >= 10) set_idle(gpu, false);
}

void take_state(std::string_view value, GpuState& gpu) {
  if (!value.starts_with('P')) return;
  const auto state = leading_number<int>(value.substr(1));
  if (state && *state >= 8) set_idle(gpu, true);
}

/// Reasons that name a fault. A software power cap is how a GPU under load usually runs.
bool is_fault(std::string_view reason) {
  return reason == "HW Slowdown" || reason == "HW Thermal Slowdown" ||
         reason == "HW Power Brake Slowdown" || reason == "SW Thermal Slowdown";
}

void take_reason(std::string_view reason, std::string_view value, GpuState& gpu) {
  gpu.reasons_read = gpu.reasons_read || is_fault(reason);
  if (value != "Active") return;
  if (reason == "Idle") set_idle(gpu, true);
  if (reason == "SW Power Cap") gpu.power_capped = true;
  if (is_fault(reason) && gpu.slowed_by.size() < 8) gpu.slowed_by.emplace_back(reason);
}

/// NVML's bits (nvmlClocksEventReasons).
void take_reason_bits(std::string_view value, GpuState& gpu) {
  if (!value.starts_with("0x")) return;
  std::uint64_t bits = 0;
  const std::string_view digits = value.substr(2);
  if (std::from_chars(digits.data(), digits.data() + digits.size(), bits, 16).ec != std::errc())
    return;
  struct Bit {
    std::uint64_t mask;
    std::string_view reason;
  };
  constexpr std::array<Bit, 6> kBits = {{{0x1, "Idle"},
                                         {0x4, "SW Power Cap"},
                                         {0x8, "HW Slowdown"},
                                         {0x20, "SW Thermal Slowdown"},
                                         {0x40, "HW Thermal Slowdown"},
                                         {0x80, "HW Power Brake Slowdown"}}};
  gpu.reasons_read = true;
  for (const Bit& bit : kBits)
    if ((bits & bit.mask) != 0) take_reason(bit.reason, "Active", gpu);
}

void take_smi_value(std::string_view section, std::string_view key, std::string_view value,
                    GpuState& gpu) {
  if (value == "N/A" || value == "[N/A]") return;
  if (key == "Product Name") gpu.model = legible(value, 80);
  if (key == "Performance State") take_state(value, gpu);
  if (section.ends_with("PCIe Generation")) {
    if (key == "Max") gpu.link.best_rate = rate_of_generation(value);
    if (key == "Current") gpu.link.rate = rate_of_generation(value);
  } else if (section.ends_with("Link Width")) {
    if (key == "Max") gpu.link.best_width = width_of_text(value);
    if (key == "Current") gpu.link.width = width_of_text(value);
  } else if (section.find("Clocks Throttle Reasons") != std::string_view::npos ||
             section.find("Clocks Event Reasons") != std::string_view::npos) {
    take_reason(key, value, gpu);
  } else if (section.ends_with("Utilization")) {
    if (key == "Gpu" || key == "GPU") take_utilisation(value, gpu);
  } else if (section == "Power Readings" || section == "GPU Power Readings") {
    if (key == "Power Limit" || key == "Current Power Limit")
      gpu.power_limit_w = positive_number(value);
    if (key == "Default Power Limit") gpu.default_power_limit_w = positive_number(value);
  } else if (section == "Clocks") {
    if (key == "SM") gpu.sm_mhz = positive_number(value);
  } else if (section == "Applications Clocks") {
    if (key == "Graphics") gpu.application_sm_mhz = positive_number(value);
  } else if (section == "Default Applications Clocks") {
    if (key == "Graphics") gpu.default_application_sm_mhz = positive_number(value);
  } else if (section == "Max Clocks") {
    if (key == "SM") gpu.most_sm_mhz = positive_number(value);
  }
}

/// "clocks_event_reasons.hw_thermal_slowdown": nvidia-smi -q's name of it.
std::string_view reason_of_column(std::string_view column) {
  const std::string_view name = column.substr(column.find('.') + 1);
  if (name == "gpu_idle") return "Idle";
  if (name == "sw_power_cap") return "SW Power Cap";
  if (name == "hw_slowdown") return "HW Slowdown";
  if (name == "hw_thermal_slowdown") return "HW Thermal Slowdown";
  if (name == "hw_power_brake_slowdown") return "HW Power Brake Slowdown";
  if (name == "sw_thermal_slowdown") return "SW Thermal Slowdown";
  return "";
}

void take_queried(std::string_view column, std::string_view value, MachineFacts& facts,
                  GpuState& gpu) {
  if (value == "N/A" || value == "[N/A]" || value == "[Not Supported]") return;
  if (column == "index") {
    gpu.name = "GPU " + legible(value, 20);
    const auto index = leading_number<int>(value);
    if (index && *index >= 0 && *index < 1000) gpu.position = *index;
  }
  if ((column == "pci.bus_id" || column == "gpu_bus_id") && gpu.name.empty())
    gpu.name = "GPU " + legible(value, 20);
  if (column == "name" || column == "gpu_name") gpu.model = legible(value, 80);
  if (column == "driver_version" && facts.driver.empty()) facts.driver = legible(value, 40);
  if (column == "pstate") take_state(value, gpu);
  if (column == "utilization.gpu") take_utilisation(value, gpu);
  if (column == "pcie.link.gen.current" || column == "pcie.link.gen.gpucurrent")
    gpu.link.rate = rate_of_generation(value);
  if (column == "pcie.link.gen.max") gpu.link.best_rate = rate_of_generation(value);
  if (column == "pcie.link.width.current") gpu.link.width = width_of_text(value);
  if (column == "pcie.link.width.max") gpu.link.best_width = width_of_text(value);
  if (column == "power.limit") gpu.power_limit_w = positive_number(value);
  if (column == "power.default_limit") gpu.default_power_limit_w = positive_number(value);
  if (column == "clocks.applications.graphics" || column == "clocks.applications.gr")
    gpu.application_sm_mhz = positive_number(value);
  if (column == "clocks.default_applications.graphics" ||
      column == "clocks.default_applications.gr")
    gpu.default_application_sm_mhz = positive_number(value);
  if (column == "clocks.current.sm" || column == "clocks.sm") gpu.sm_mhz = positive_number(value);
  if (column == "clocks.max.sm" || column == "clocks.max.graphics")
    gpu.most_sm_mhz = positive_number(value);
  if (!column.starts_with("clocks_event_reasons.") &&
      !column.starts_with("clocks_throttle_reasons."))
    return;
  if (column.ends_with(".active")) take_reason_bits(value, gpu);
  if (const std::string_view reason = reason_of_column(column); !reason.empty())
    take_reason(reason, value, gpu);
}

bool is_query_header(const std::vector<std::string_view>& cells) {
  bool known = false;
  for (const std::string_view cell : cells) {
    const std::string_view name = trimmed(up_to(cell, "["));
    if (name.empty() ||
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.") != std::string_view::npos)
      return false;
    for (const std::string_view family : {"pcie.link", "power.", "clocks", "utilization.",
                                          "driver_version", "pstate", "pci.", "temperature."})
      known = known || name.starts_with(family);
  }
  return known && cells.size() >= 2;
}

/// "3b:00.0" or "0000:3b:00.0" in front of a blank; empty where the line does not begin so.
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

/// Makers of PCIe switches, where a listing leaves out which kind of port a bridge is.
bool is_switch(std::string_view title) {
  if (!title.starts_with("PCI bridge") || title.find("Root") != std::string_view::npos)
    return false;
  for (const std::string_view maker :
       {"PLX", "PEX", "Switch", "Microsemi", "Microchip", "PMC-Sierra"})
    if (title.find(maker) != std::string_view::npos) return true;
  return false;
}

PcieDevice* device_named(const std::string& name, const std::string& place, MachineFacts& facts) {
  if (facts.devices.size() >= kMostDevices && !facts.devices.contains(name)) return nullptr;
  PcieDevice& device = facts.devices[name];
  if (device.name.empty()) {
    device.name = name;
    device.place = place;
  }
  return &device;
}

NicPort* port_named(const std::string& name, const std::string& place, MachineFacts& facts) {
  if (facts.ports.size() >= kMostDevices && !facts.ports.contains(name)) return nullptr;
  NicPort& port = facts.ports[name];
  if (port.place.empty()) port.place = place;
  return &port;
}

std::string upper_word(std::string_view text) {
  std::string upper = legible(text, 30);
  for (char& c : upper)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return upper;
}

void keep_mtu(std::string_view interface, std::string_view value, const std::string& place,
              MachineFacts& facts) {
  const auto bytes = leading_number<int>(value);
  if (interface.empty() || !bytes || *bytes < 68 || *bytes > 1'000'000) return;
  if (interface == "lo" || facts.mtu.size() >= kMostDevices) return;
  facts.mtu.try_emplace(legible(interface, 40), *bytes, place);
}

/// A file of a port: "rate", "state".
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

bool MachineLineReader::take_query(std::string_view line, const std::string& place,
                                   MachineFacts& facts) {
  if (line.find(',') == std::string_view::npos) return false;
  const std::vector<std::string_view> cells = cells_of(line);
  if (is_query_header(cells)) {
    columns_.clear();
    for (const std::string_view cell : cells) columns_.emplace_back(trimmed(up_to(cell, "[")));
    next_row_ = 0;
    return true;
  }
  if (columns_.empty() || cells.size() != columns_.size() || facts.gpus.size() >= kMostGpus)
    return false;
  GpuState gpu;
  gpu.place = place;
  gpu.position = next_row_++;
  for (std::size_t k = 0; k < cells.size(); ++k) take_queried(columns_[k], cells[k], facts, gpu);
  if (gpu.name.empty()) gpu.name = "GPU " + std::to_string(gpu.position);
  facts.gpus.push_back(std::move(gpu));
  return true;
}

bool MachineLineReader::take_smi(std::string_view line, const std::string& place,
                                 MachineFacts& facts) {
  if (line.find("NVSMI LOG") != std::string_view::npos || line.starts_with("Attached GPUs")) {
    if (!in_smi_ || line.find("NVSMI LOG") != std::string_view::npos) next_gpu_ = 0;
    in_smi_ = true;
    sections_.clear();
  }
  if (!in_smi_) return false;
  std::string expanded;  // some versions indent by tabs
  for (const char c : line.substr(0, 300)) expanded += c == '\t' ? "    " : std::string(1, c);
  const std::string_view text = expanded;
  const std::size_t indent = text.find_first_not_of(' ');
  if (indent == std::string_view::npos) return true;
  const std::string_view bare = trimmed(text);
  if (indent == 0 && bare.starts_with("GPU ") && bare.find(':') != std::string_view::npos) {
    if (facts.gpus.size() >= kMostGpus) return true;
    facts.gpus.push_back({.position = next_gpu_++, .name = legible(bare, 40), .place = place});
    sections_.clear();
    return true;
  }
  const std::size_t colon = bare.find(" : ");
  const std::string_view key = trimmed(bare.substr(0, colon));
  while (!sections_.empty() && sections_.back().first >= indent) sections_.pop_back();
  const std::string section = sections_.empty() ? "" : sections_.back().second;
  if (sections_.size() < 16) {
    // Reasons below "HW Slowdown" stand in the section of it.
    const bool reasons = section.find(" Reasons") != std::string::npos;
    sections_.emplace_back(indent, reasons ? section : std::string(key));
  }
  if (colon == std::string_view::npos) return true;
  const std::string_view value = trimmed(bare.substr(colon + 3));
  if (indent == 0) {
    if (key == "Driver Version") facts.driver = legible(value, 40);
    if (key == "CUDA Version") facts.cuda = legible(value, 40);
    return true;
  }
  if (!facts.gpus.empty()) take_smi_value(section, key, value, facts.gpus.back());
  return true;
}

bool MachineLineReader::take_lspci(std::string_view line, const std::string& place,
                                   MachineFacts& facts) {
  if (const std::string_view address = pci_address(line); !address.empty()) {
    in_smi_ = false;
    below_switch_ = false;
    const std::string_view title = trimmed(line.substr(address.size()));
    device_ = std::string(address);
    if (device_.find(':') == device_.rfind(':')) device_.insert(0, "0000:");  // as /sys names it
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

bool MachineLineReader::take_interface(std::string_view line, const std::string& place,
                                       MachineFacts& facts) {
  const auto mtu = after_mark(line, "> mtu ");
  if (!mtu) return false;
  const Words words = words_of(line);
  const std::size_t index = words.empty() ? 0 : words[0].find_first_not_of("0123456789");
  if (words.size() < 4 || index == 0 || index == std::string_view::npos ||
      words[0].substr(index) != ":" || !words[1].ends_with(':'))
    return false;
  in_smi_ = false;
  std::string_view name = words[1].substr(0, words[1].size() - 1);
  name = up_to(name, "@");
  // Interfaces of containers and bridges come and go.
  for (const std::string_view local :
       {"veth", "docker", "br-", "virbr", "cali", "cni", "tun", "tap"})
    if (name.starts_with(local)) return true;
  keep_mtu(name, *mtu, place, facts);
  if (const auto state = after_mark(line, " state ");
      state && name != "lo" && facts.interface_states.size() < kMostDevices)
    facts.interface_states.try_emplace(legible(name, 40), upper_word(up_to(*state, " ")), place);
  return true;
}

/// A terminal's escape sequences, "\x1b[4m", stand around the names of the header.
std::string without_escapes(std::string_view line) {
  std::string plain;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\x1b') {
      plain += line[i];
      continue;
    }
    while (i + 1 < line.size() && line[i] != 'm') ++i;
  }
  return plain;
}

bool is_link_word(std::string_view word) {
  if (word.starts_with("NV"))
    return word.size() > 2 && parse_number<int>(word.substr(2)).has_value();
  for (const std::string_view link : {"X", "PIX", "PXB", "PHB", "NODE", "SYS", "SOC"})
    if (word == link) return true;
  return false;
}

bool MachineLineReader::take_matrix(std::string_view line, const std::string& place,
                                    MachineFacts& facts) {
  if (line.find("GPU") == std::string_view::npos || line.size() > 4096) return false;
  const std::string plain = without_escapes(line);
  const Words words = words_of(plain);
  const auto number = [&](std::size_t k) -> std::optional<int> {
    if (k >= words.size() || !words[k].starts_with("GPU")) return std::nullopt;
    return parse_number<int>(words[k].substr(3));
  };
  // "node1: " of pdsh, a quote's "> ", a diff's "+" may stand in front.
  std::size_t first = 0;
  while (first < words.size() && first < 3 && !number(first)) ++first;
  if (number(first) == 0 && number(first + 1) == 1) {
    matrix_gpus_ = 0;
    while (number(first + static_cast<std::size_t>(matrix_gpus_)) == matrix_gpus_) ++matrix_gpus_;
    return true;
  }
  const auto row = number(first);
  if (!row || *row < 0 || *row >= matrix_gpus_ || matrix_gpus_ > 128) return false;
  const auto cell = [&](int k) {
    const std::size_t at = first + 1 + static_cast<std::size_t>(k);
    return at < words.size() ? words[at] : std::string_view();
  };
  for (int k = 0; k < matrix_gpus_; ++k)
    if (!is_link_word(cell(k)) || (cell(k) == "X") != (k == *row)) return false;
  for (int k = 0; k < matrix_gpus_; ++k)
    if (k != *row) facts.gpu_links.try_emplace(std::minmax({k, *row}), cell(k));
  if (facts.gpu_links_place.empty()) facts.gpu_links_place = place;
  return true;
}

bool MachineLineReader::take_verbs(std::string_view line, const std::string& place,
                                   MachineFacts& facts) {
  const std::string_view bare = trimmed(line);
  if (const auto hca = after_mark(bare, "hca_id:"); hca && bare.starts_with("hca_id:")) {
    hca_ = legible(trimmed(*hca), 40);
    hca_port_.clear();
    in_smi_ = false;
    return true;
  }
  if (bare.starts_with("CA '") && bare.size() < 60) {
    hca_ = legible(up_to(bare.substr(4), "'"), 40);
    hca_port_.clear();
    in_smi_ = false;
    return true;
  }
  if (hca_.empty() || in_smi_) return false;
  const std::size_t colon = bare.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view key = bare.substr(0, colon);
  const std::string_view value = trimmed(bare.substr(colon + 1));
  if (key == "port" || (key.starts_with("Port ") && value.empty())) {
    const auto number = leading_number<int>(key == "port" ? value : key.substr(5));
    if (number) hca_port_ = hca_ + '/' + std::to_string(*number);
    return number.has_value();
  }
  if (hca_port_.empty()) return false;
  NicPort* port = port_named(hca_port_, place, facts);
  if (port == nullptr) return false;
  if (key == "state" || key == "State") {  // "PORT_ACTIVE (4)", "Active"
    std::string_view state = up_to(value, " ");
    if (state.starts_with("PORT_")) state.remove_prefix(5);
    port->state = upper_word(state);
  } else if (key == "Rate") {
    port->rate_gbps = positive_number(value);
  } else if (key == "active_mtu") {
    keep_mtu(hca_port_, value, place, facts);
  } else {
    return false;
  }
  return true;
}

void merge_readings(MachineFacts& facts) {
  std::vector<GpuState> merged;
  for (GpuState& reading : facts.gpus) {
    const auto at = std::ranges::find(merged, reading.position, &GpuState::position);
    if (at == merged.end()) {
      merged.push_back(std::move(reading));
      continue;
    }
    // What an idle GPU's link and clocks are says nothing beside those under load.
    const bool better = reading.idle == false && at->idle != false;
    GpuState& first = better ? reading : *at;
    GpuState& second = better ? *at : reading;
    const auto fill = [](auto& value, const auto& other) {
      if (!value) value = other;
    };
    fill(first.link.rate, second.link.rate);
    fill(first.link.best_rate, second.link.best_rate);
    fill(first.link.width, second.link.width);
    fill(first.link.best_width, second.link.best_width);
    fill(first.idle, second.idle);
    fill(first.power_limit_w, second.power_limit_w);
    fill(first.default_power_limit_w, second.default_power_limit_w);
    fill(first.application_sm_mhz, second.application_sm_mhz);
    fill(first.default_application_sm_mhz, second.default_application_sm_mhz);
    fill(first.most_sm_mhz, second.most_sm_mhz);
    if (first.model.empty()) first.model = second.model;
    if (first.slowed_by.empty()) first.slowed_by = second.slowed_by;
    first.reasons_read = first.reasons_read || second.reasons_read;
    if (better) *at = std::move(reading);
  }
  facts.gpus = std::move(merged);
}

bool MachineLineReader::take(std::string_view line, const std::string& place, MachineFacts& facts) {
  if (line.size() > 20'000) return false;
  const bool taken = take_matrix(line, place, facts) || take_path(line, place, facts) ||
                     take_interface(line, place, facts) || take_verbs(line, place, facts) ||
                     take_lspci(line, place, facts) || take_smi(line, place, facts) ||
                     take_query(line, place, facts);
  if (taken && facts.place.empty()) facts.place = place;
  return taken;
}

}  // namespace ddpsim
