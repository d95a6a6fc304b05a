#include "machine_values.hpp"

#include "evidence_words.hpp"

namespace ddpsim {

std::optional<double> rate_of_text(std::string_view text) {
  const auto rate = leading_number<double>(text);
  if (!rate || !(*rate >= 2.5) || !(*rate <= 256)) return {};
  return rate;
}

std::optional<int> width_of_text(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with('x')) text.remove_prefix(1);
  const auto width = leading_number<int>(text);
  if (!width || *width < 1 || *width > 64) return {};  // 255: unknown to /sys
  return width;
}

std::optional<double> positive_number(std::string_view text) {
  const auto number = leading_number<double>(text);
  if (!number || !(*number > 0) || !(*number < 1e6)) return {};
  return number;
}

std::string upper_word(std::string_view text) {
  std::string upper = legible(text, 30);
  for (char& c : upper)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return upper;
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

void keep_mtu(std::string_view interface, std::string_view value, const std::string& place,
              MachineFacts& facts) {
  const auto bytes = leading_number<int>(value);
  if (interface.empty() || !bytes || *bytes < 68 || *bytes > 1'000'000) return;
  if (interface == "lo" || facts.mtu.size() >= kMostDevices) return;
  facts.mtu.try_emplace(legible(interface, 40), *bytes, place);
}

}  // namespace ddpsim
