// Values and devices as several tools spell them: rates and widths of links, ports, MTUs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "ddpsim/diagnose/evidence/machine_facts.hpp"

namespace ddpsim {

constexpr std::size_t kMostDevices = 10'000;

/// GT/s per lane of a PCIe link: "16GT/s".
std::optional<double> rate_of_text(std::string_view text);
/// Lanes of a link: "x16", "16".
std::optional<int> width_of_text(std::string_view text);
std::optional<double> positive_number(std::string_view text);
/// The text in capital letters, the form in which states are kept.
std::string upper_word(std::string_view text);

/// The device of that name, created by its first line. Null if there are too many.
PcieDevice* device_named(const std::string& name, const std::string& place, MachineFacts& facts);
/// The NIC port of that name ("mlx5_0/1"), created by its first line. Null if there are too many.
NicPort* port_named(const std::string& name, const std::string& place, MachineFacts& facts);
/// Keeps the first MTU that is stated for an interface or port.
void keep_mtu(std::string_view interface, std::string_view value, const std::string& place,
              MachineFacts& facts);

}  // namespace ddpsim
