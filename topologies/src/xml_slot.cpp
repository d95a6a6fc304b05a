#include "xml_slot.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "ddpsim/topologies/pcie_rate.hpp"

namespace ddpsim {
namespace {

/// Rate of one lane in GB/s, one direction, and NCCL's value. Listed by generation, from 1 on.
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

/// Treats "8.0 GT/s PCIe" and "8 GT/s" as the same. Absent for anything else.
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

}  // namespace

Slot read_slot(const XmlText& xml, const pugi::xml_node& pci) {
  constexpr std::int64_t kMostLanes = 32;
  std::int64_t lanes = xml.number(pci, "link_width", 16, kMostLanes);
  if (lanes == 0) lanes = 16;
  const LaneRate* stated = lane_rate(pci.attribute("link_speed").value());
  const LaneRate& rate = stated == nullptr ? kLaneRates[2] : *stated;
  const auto wide = static_cast<double>(lanes);
  return {wide * rate.nominal, wide * rate.nccl, wide, stated != nullptr};
}

double slot_rate_of_generation(const GpuModel& gpu, double lanes) {
  return pcie_nominal_of_generation(gpu.compute_capability) * lanes / 16;
}

Slot with_generation(Slot slot, const GpuModel& gpu) {
  if (!slot.stated) slot.nominal = std::max(slot.nominal, slot_rate_of_generation(gpu, slot.lanes));
  return slot;
}

}  // namespace ddpsim
