// What nvidia-smi prints about GPUs and the links between them.
//
//   nvidia-smi -q             indented names, ":", values; a section is a name alone
//
//   nvidia-smi --query-gpu=…  a header of names ("power.limit [W]"), then a row per GPU
//
//   nvidia-smi topo -m        a header of "GPU0 GPU1 …", then "GPU0 X NV12 SYS …"
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <system_error>
#include <vector>

#include "ddpsim/diagnose/evidence/machine_facts.hpp"
#include "ddpsim/formats/log_words.hpp"
#include "evidence_words.hpp"
#include "machine_values.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kMostGpus = 1'000;

/// Rate of a lane in GT/s for the generation number that NVIDIA prints.
std::optional<double> rate_of_generation(std::string_view text) {
  constexpr std::array kRates = {2.5, 5.0, 8.0, 16.0, 32.0, 64.0};
  const auto generation = leading_number<int>(text);
  if (!generation || *generation < 1 || *generation > static_cast<int>(kRates.size())) return {};
  return kRates[static_cast<std::size_t>(*generation - 1)];
}

void set_idle(GpuState& gpu, bool idle) {
  if (!gpu.idle || !idle) gpu.idle = idle;  // one sign of work outweighs signs of none
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

/// Whether a reason names a fault. A software power cap is the usual state of a GPU under load.
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

/// Reads the bits of NVML (nvmlClocksEventReasons).
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

/// The name that nvidia-smi -q uses for a column such as
/// "clocks_event_reasons.hw_thermal_slowdown".
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

/// Removes a terminal's escape sequences such as "\x1b[4m", which surround the names in a header.
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
  std::string expanded;  // some versions indent with tabs
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
    // Reasons below "HW Slowdown" belong to its section.
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

bool MachineLineReader::take_matrix(std::string_view line, const std::string& place,
                                    MachineFacts& facts) {
  if (line.find("GPU") == std::string_view::npos || line.size() > 4096) return false;
  const std::string plain = without_escapes(line);
  const Words words = words_of(plain);
  const auto number = [&](std::size_t k) -> std::optional<int> {
    if (k >= words.size() || !words[k].starts_with("GPU")) return std::nullopt;
    return parse_number<int>(words[k].substr(3));
  };
  // "node1: " of pdsh, "> " of a quote or "+" of a diff may precede the row.
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

}  // namespace ddpsim
