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

NvlinkLayout default_layout(int gpus) {
  if (gpus == 2) return NvlinkLayout::pair;
  return gpus == 8 ? NvlinkLayout::cube : NvlinkLayout::mesh;
}

}  // namespace ddpsim
