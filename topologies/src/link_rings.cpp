#include "link_rings.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <vector>

namespace ddpsim {
namespace {

constexpr int kCubeGpus = 8;
using Links = std::array<std::array<int, kCubeGpus>, kCubeGpus>;

/// DGX-1 with V100: a cycle of double links 0-3-2-1-5-6-7-4-0 and one of single links
/// 0-1-3-7-5-4-6-2-0; six links per GPU. (NVIDIA's DGX-1 V100 white paper draws it; this numbering
/// is nvidia-smi's on that machine.) With P100 the same pairs have one link each.
constexpr Links kCubeMesh = {{{0, 1, 1, 2, 2, 0, 0, 0},
                              {1, 0, 2, 1, 0, 2, 0, 0},
                              {1, 2, 0, 2, 0, 0, 1, 0},
                              {2, 1, 2, 0, 0, 0, 0, 1},
                              {2, 0, 0, 0, 0, 1, 1, 2},
                              {0, 2, 0, 0, 1, 0, 2, 1},
                              {0, 0, 1, 0, 1, 2, 0, 2},
                              {0, 0, 0, 1, 2, 1, 2, 0}}};

using Cycle = std::vector<int>;

/// Undirected Hamiltonian cycles through GPUs 0..kept-1, each once; at most 7!/2.
std::vector<Cycle> hamiltonian_cycles(const Links& links, int kept) {
  std::vector<Cycle> cycles;
  Cycle order(static_cast<std::size_t>(kept));
  std::iota(order.begin(), order.end(), 0);
  do {
    if (order[1] > order.back()) continue;  // the same cycle walked backwards
    bool joined = true;
    for (std::size_t i = 0; i < order.size() && joined; ++i) {
      const auto from = static_cast<std::size_t>(order[i]);
      const auto to = static_cast<std::size_t>(order[(i + 1) % order.size()]);
      joined = links[from][to] > 0;
    }
    if (joined) cycles.push_back(order);
  } while (std::next_permutation(order.begin() + 1, order.end()));
  return cycles;
}

/// The most cycles, repeats allowed, that share no link. At most three fit (six links per GPU), so
/// plain backtracking is enough.
int most_disjoint(const std::vector<Cycle>& cycles, std::size_t first, Links& free) {
  int best = 0;
  for (std::size_t c = first; c < cycles.size(); ++c) {
    const Cycle& cycle = cycles[c];
    const auto take = [&](int amount) {
      bool enough = true;
      for (std::size_t i = 0; i < cycle.size(); ++i) {
        const auto from = static_cast<std::size_t>(cycle[i]);
        const auto to = static_cast<std::size_t>(cycle[(i + 1) % cycle.size()]);
        free[from][to] -= amount;
        free[to][from] -= amount;
        enough = enough && free[from][to] >= 0;
      }
      return enough;
    };
    if (take(1)) best = std::max(best, 1 + most_disjoint(cycles, c, free));
    take(-1);
  }
  return best;
}

int cube_rings(int links_per_gpu, int kept, int width) {
  Links links = kCubeMesh;
  for (auto& row : links) {
    for (int& count : row) {
      if (links_per_gpu == 4) count = std::min(count, 1);  // P100
      count /= width;
    }
  }
  if (kept == 2) return links[0][1];
  return 2 * most_disjoint(hamiltonian_cycles(links, kept), 0, links);
}

/// The complete digraph on n points splits into n-1 Hamiltonian cycles except for n = 4 and 6
/// (Tillson 1980); doubled, those two split as well, so one ring is lost where the count is odd.
int mesh_rings(int links_per_pair, int kept) {
  const bool exception = (kept == 4 || kept == 6) && links_per_pair % 2 == 1;
  return links_per_pair * (kept - 1) - (exception ? 1 : 0);
}

}  // namespace

int directed_rings(const InterconnectDescription& interconnect, int total, int kept, int width) {
  if (kept < 2) return 0;
  switch (interconnect.layout) {
    case NvlinkLayout::pair:
      return interconnect.links_per_gpu / width;
    case NvlinkLayout::mesh:
      return mesh_rings(interconnect.links_per_gpu / (total - 1) / width, kept);
    case NvlinkLayout::cube:
      return cube_rings(interconnect.links_per_gpu, kept, width);
  }
  return 0;
}

int widest_hop(const InterconnectDescription& interconnect, int total) {
  switch (interconnect.layout) {
    case NvlinkLayout::pair:
      return interconnect.links_per_gpu;
    case NvlinkLayout::mesh:
      return interconnect.links_per_gpu / (total - 1);
    case NvlinkLayout::cube:
      return interconnect.links_per_gpu == 4 ? 1 : 2;
  }
  return 1;
}

}  // namespace ddpsim
