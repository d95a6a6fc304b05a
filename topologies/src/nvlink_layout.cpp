#include <fmt/format.h>

#include "description.hpp"

namespace ddpsim {

std::string layout_problem(const InterconnectDescription& interconnect, int gpus) {
  if (interconnect.kind == IntraKind::none) {
    return gpus == 1 ? "" : fmt::format("{} GPUs per node need a connection between them", gpus);
  }
  if (interconnect.kind != IntraKind::nvlink) return "";
  const int links = interconnect.links_per_gpu;
  switch (interconnect.layout) {
    case NvlinkLayout::pair:
      return gpus == 2 ? "" : fmt::format("a pair has 2 GPUs, not {}", gpus);
    case NvlinkLayout::mesh:
      if (gpus < 2) return "a mesh needs at least 2 GPUs";
      if (links % (gpus - 1) == 0) return "";
      return fmt::format("{} links per GPU cannot be shared evenly by the {} other GPUs of a mesh",
                         links, gpus - 1);
    case NvlinkLayout::cube:
      if (gpus != 8) return fmt::format("a cube mesh has 8 GPUs, not {}", gpus);
      if (links == 4 || links == 6) return "";
      return fmt::format("a cube mesh has 6 links per GPU (V100) or 4 (P100), not {}", links);
  }
  return "";
}

NvlinkLayout default_layout(int gpus, GpuVendor vendor) {
  if (gpus == 2) return NvlinkLayout::pair;
  return gpus == 8 && vendor == GpuVendor::nvidia ? NvlinkLayout::cube : NvlinkLayout::mesh;
}

std::optional<ForeignLink> foreign_link(std::string_view word, const GpuModel& gpu) {
  const bool amd = gpu.vendor == GpuVendor::amd;
  const bool xgmi = word == "xgmi";
  if (amd == xgmi || !(xgmi || word == "nvlink" || word == "nvswitch")) return std::nullopt;
  return ForeignLink{
      fmt::format("{} has no {}", gpu.name,
                  xgmi               ? "xGMI"
                  : word == "nvlink" ? "NVLink"
                                     : "NVSwitch"),
      amd ? R"(AMD's GPUs are joined by xgmi: "xgmi:7x64GBps" in a line, "kind": "xgmi" in a file)"
          : R"(xGMI joins AMD's GPUs; write nvlink, nvswitch or pcie)"};
}

}  // namespace ddpsim
