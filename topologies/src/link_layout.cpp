#include "link_layout.hpp"

#include <algorithm>
#include <array>

namespace ddpsim {
namespace {

constexpr int kCubeGpus = 8;
using Links = std::array<std::array<int, kCubeGpus>, kCubeGpus>;

/// DGX-1 with V100: a cycle of double links 0-3-2-1-5-6-7-4-0 and a cycle of single links
/// 0-1-3-7-5-4-6-2-0, six links per GPU. Source: NVIDIA's DGX-1 V100 white paper; the numbering is
/// nvidia-smi's on that machine. With P100, the same pairs have one link each.
constexpr Links kCubeMesh = {{{0, 1, 1, 2, 2, 0, 0, 0},
                              {1, 0, 2, 1, 0, 2, 0, 0},
                              {1, 2, 0, 2, 0, 0, 1, 0},
                              {2, 1, 2, 0, 0, 0, 0, 1},
                              {2, 0, 0, 0, 0, 1, 1, 2},
                              {0, 2, 0, 0, 1, 0, 2, 1},
                              {0, 0, 1, 0, 1, 2, 0, 2},
                              {0, 0, 0, 1, 2, 1, 2, 0}}};

}  // namespace

int links_between(const InterconnectDescription& interconnect, int total, std::uint32_t a,
                  std::uint32_t b) {
  switch (interconnect.layout) {
    case NvlinkLayout::pair:
      return interconnect.links_per_gpu;
    case NvlinkLayout::mesh:
      return interconnect.links_per_gpu / (total - 1);
    case NvlinkLayout::cube:
      break;
  }
  constexpr int kLinksWithP100 = 4;
  const int links = kCubeMesh.at(a).at(b);
  return interconnect.links_per_gpu == kLinksWithP100 ? std::min(links, 1) : links;
}

}  // namespace ddpsim
