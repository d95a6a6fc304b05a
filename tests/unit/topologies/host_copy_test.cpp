// Rate of a GPU's copies from its host. Wires to the nearest CPU are shared by all GPUs behind
// them.
#include "ddpsim/topologies/host_copy.hpp"

#include <doctest/doctest.h>

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

Wire copy_slot(std::uint32_t a, std::uint32_t b, Bandwidth rate) {
  return {.a = a, .b = b, .kind = LinkKind::pcie, .lanes = 0, .nominal = rate, .nccl = rate};
}

NodeGraph copy_graph(const std::vector<VertexKind>& kinds, const std::vector<Wire>& wires) {
  NodeGraph node;
  for (const VertexKind kind : kinds)
    node.vertices.push_back({.kind = kind, .name = {}, .port = {}});
  node.wires = wires;
  return node;
}

double copied_gbps(const NodeGraph& node) {
  return host_copy_rate(node).value_or(Bandwidth()).gigabytes_per_second();
}

constexpr VertexKind kCopyGpu = VertexKind::gpu;
constexpr VertexKind kCopyCpu = VertexKind::cpu;
constexpr VertexKind kCopySwitch = VertexKind::pcie_switch;

}  // namespace

TEST_CASE("host copy: a GPU with its own slot copies at a share of the slot's rate") {
  CHECK(copied_gbps(copy_graph({kCopyGpu, kCopyCpu}, {copy_slot(0, 1, 16_GBps)})) ==
        doctest::Approx(16 * kCopyShare));
  CHECK_FALSE(host_copy_rate(copy_graph({kCopyGpu, kCopyCpu}, {})));
  CHECK_FALSE(host_copy_rate(copy_graph({kCopyGpu, kCopyCpu}, {copy_slot(0, 1, Bandwidth())})));
}

TEST_CASE("host copy: GPUs behind one switch share its uplink, and the slowest counts") {
  // One GPU is on the CPU itself, and two are behind a switch.
  const NodeGraph shared = copy_graph({kCopyGpu, kCopyGpu, kCopyGpu, kCopySwitch, kCopyCpu},
                                      {copy_slot(0, 4, 16_GBps), copy_slot(1, 3, 16_GBps),
                                       copy_slot(2, 3, 16_GBps), copy_slot(3, 4, 16_GBps)});
  CHECK(copied_gbps(shared) == doctest::Approx(8 * kCopyShare));
  NodeGraph narrow = shared;
  narrow.wires[0].nominal = 4_GBps;
  CHECK(copied_gbps(narrow) == doctest::Approx(4 * kCopyShare));
  NodeGraph wide = shared;
  wide.wires[3].nominal = 64_GBps;  // twice a slot's rate for each
  CHECK(copied_gbps(wide) == doctest::Approx(16 * kCopyShare));
}

TEST_CASE("host copy: the nearest CPU counts, and nothing passes through another GPU") {
  const NodeGraph two_ways =
      copy_graph({kCopyGpu, kCopySwitch, kCopyCpu, kCopyCpu},
                 {copy_slot(0, 1, 32_GBps), copy_slot(1, 2, 8_GBps), copy_slot(0, 3, 16_GBps)});
  CHECK(copied_gbps(two_ways) == doctest::Approx(16 * kCopyShare));
  CHECK_FALSE(host_copy_rate(copy_graph({kCopyGpu, kCopyGpu}, {copy_slot(0, 1, 16_GBps)})));
  const NodeGraph through = copy_graph({kCopyGpu, kCopyGpu, kCopyCpu},
                                       {copy_slot(0, 1, 16_GBps), copy_slot(1, 2, 16_GBps)});
  CHECK(copied_gbps(through) == doctest::Approx(16 * kCopyShare));  // not shared
}
