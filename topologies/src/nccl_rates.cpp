#include "nccl_rates.hpp"

#include <algorithm>
#include <array>

#include "ddpsim/topologies/pcie_rate.hpp"

namespace ddpsim {
namespace {

constexpr std::array kInside = {40.0, 30.0, 20.0, 18.0, 15.0, 12.0, 10.0,
                                9.0,  7.0,  6.0,  5.0,  4.0,  3.0};
constexpr std::array kBetween = {48.0, 30.0, 28.0, 24.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0,
                                 7.0,  6.0,  5.0,  4.0,  3.0,  2.4,  1.2,  0.24, 0.12};
constexpr std::array kInsideSm90 = {60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 15.0, 12.0, 11.0, 6.0, 3.0};
constexpr std::array kBetweenSm90 = {48.0, 45.0, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0, 17.5,
                                     15.0, 12.0, 6.0,  3.0,  2.4,  1.2,  0.24, 0.12};
constexpr std::array kInsideSm100 = {90.0, 80.0, 70.0, 60.0, 50.0, 45.0,
                                     40.0, 30.0, 24.0, 20.0, 19.0, 18.0};
constexpr std::array kBetweenSm100 = {96.0, 86.0, 80.0, 48.0, 45.1, 42.0, 40.0, 30.0, 24.0, 22.0,
                                      20.0, 17.5, 15.0, 12.0, 6.0,  3.0,  2.4,  1.2,  0.24, 0.12};

}  // namespace

NvlinkRate nvlink_rate(const GpuModel& gpu) {
  const int compute_capability = gpu.compute_capability;
  if (gpu.name == "MI300A") return {24, 64};
  // RCCL's value for gfx950 is unknown. This one is gfx942's, scaled by the rates in the data
  // sheets.
  if (gpu.name == "MI355X") return {57.6, 76.8};
  if (gpu.vendor == GpuVendor::amd)  // gfx942, gfx90a
    return compute_capability >= 90 ? NvlinkRate{48, 64} : NvlinkRate{36, 50};
  if (compute_capability >= 100) return {40.1, 50};
  if (compute_capability >= 90) return {20.6, 25};
  if (compute_capability == 86) return {12, 14};
  if (compute_capability >= 70) return {20, 25};
  return {18, 20};
}

int links_per_counted(const GpuModel& gpu) {
  return gpu.name == "MI300A" ? 2 : 1;
}

double pcie_rate(double nominal) {
  // NCCL counts 3/4 of the raw lane rate: 12 of 16 for a Gen3 x16 slot, and twice that per
  // generation. A lower value is used unchanged, because it was measured or the slot is narrow.
  constexpr std::array kRawSlots = {4.0, 8.0, 16.0, 32.0, 64.0, 128.0};
  for (const double raw : kRawSlots) {
    if (nominal <= raw) return std::min(nominal, raw * 0.75);
  }
  return nominal * 0.75;
}

double pcie_rate_of_generation(int compute_capability) {
  // Only B300 has PCIe 6. Slots of HGX B200 are PCIe 5 like Hopper's, and so are those of GeForce
  // with sm_120.
  if (compute_capability >= 103 && compute_capability < 120) return 96;
  if (compute_capability >= 90) return 48;
  if (compute_capability >= 80) return 24;
  return 12;
}

double pcie_nominal_of_generation(int compute_capability) {
  constexpr double kGen3 = 15.75;
  return pcie_rate_of_generation(compute_capability) / 12 * kGen3;
}

std::span<const double> speeds_inside_node(int compute_capability) {
  if (compute_capability >= 100) return kInsideSm100;
  if (compute_capability >= 90) return kInsideSm90;
  return kInside;
}

std::span<const double> speeds_between_nodes(int compute_capability) {
  if (compute_capability >= 100) return kBetweenSm100;
  if (compute_capability >= 90) return kBetweenSm90;
  return kBetween;
}

}  // namespace ddpsim
