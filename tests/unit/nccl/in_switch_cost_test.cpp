// The cost of reducing inside switches, by hand, on the cluster of round numbers. Each GPU has 200
// GB/s, and two NICs carry 40 GB/s together. NVLS starts in 10 + 30 us, and a wave takes 2 us.
#include <doctest/doctest.h>

#include <memory>

#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/collective.hpp"
#include "ddpsim/sim/values/link_loads.hpp"
#include "pipeline_cost.hpp"
#include "round_costs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

PipelineTerms terms(Algorithm algorithm, int channels, Bytes size, const Cluster& cluster) {
  const CollectiveChoice choice{.algorithm = algorithm, .channels = channels};
  return pipeline_terms(CollectiveKind::all_reduce, choice, size, cluster);
}

/// Bytes per us: 0.6 of 200 GB/s carry S for the others' heads and S/4 for the own head.
constexpr double kSwitch = 0.6 * 200e3 / 1.25;

}  // namespace

TEST_CASE("in-switch cost model: NVLS inside a node, wave by wave") {
  // 16 channels and 4 heads make 64 streams. At 32 MiB there are four chunks of 128 KiB a stream,
  // so 16 waves.
  const Cluster node = round_costs::cluster(1, 4);
  const PipelineTerms sixteen = terms(Algorithm::nvls, 16, 32_MiB, node);
  round_costs::check(sixteen, {.start = 40,
                               .latency = 16 * 2,
                               .fill = 2'097'152 / kSwitch,
                               .transfer = 33'554'432 / kSwitch});
  CHECK(sixteen.loops == doctest::Approx(16));
  CHECK(sixteen.local_hop_us == 2);
  CHECK(sixteen.network_hop_us == 0);
  // The number of waves grows with the size to the power of 2/3 until a chunk is 128 KiB. It is at
  // least one.
  const auto waves = [&](Bytes size) { return terms(Algorithm::nvls, 16, size, node).loops; };
  CHECK(waves(4_MiB) == doctest::Approx(4));
  CHECK(waves(512_KiB) == doctest::Approx(1));
  CHECK(waves(64_KiB) == 1);
  CHECK(waves(2048_MiB) == doctest::Approx(256));
  CHECK(waves(16384_MiB) == doctest::Approx(2048));
  // Eight GPUs have twice as many streams, and an eighth of their own on their link.
  const PipelineTerms eight = terms(Algorithm::nvls, 16, 64_MiB, round_costs::cluster(1, 8));
  CHECK(eight.loops == doctest::Approx(16));
  CHECK(eight.transfer_us == doctest::Approx(67'108'864 / (0.6 * 200e3 / 1.125)));
}

TEST_CASE("in-switch cost model: a rack has fewer heads than GPUs, and they share all streams") {
  Cluster rack = round_costs::cluster(1, 64);
  rack.nvls.channels = 32;
  const PipelineTerms terms_of_rack = terms(Algorithm::nvls, 16, 256_MiB, rack);
  CHECK(terms_of_rack.loops == doctest::Approx(16));
  CHECK(terms_of_rack.transfer_us == doctest::Approx(268'435'456 / (0.6 * 200e3 * 32 / 33)));
}

TEST_CASE("in-switch cost model: NVLSTree adds the tree between nodes") {
  // Two nodes, up and down, with 32 KiB a stream and wave. A hop takes 30 us, 15 more channels, and
  // two thirds of the rendezvous. Half a wave passes the NICs, which carry all 32 MiB.
  const PipelineTerms two = terms(Algorithm::nvls_tree, 16, 32_MiB, round_costs::cluster(2, 4));
  const double hop = 30 + 15 * 0.5 + 40 * 2.0 / 3;
  CHECK(two.network_hop_us == doctest::Approx(hop));
  round_costs::check(two, {.start = 40,
                           .latency = 16 * 2 + 2 * hop,
                           .fill = 2'097'152 / kSwitch + 2 * 1'048'576 / 40e3,
                           .transfer = 33'554'432 / 40e3});
  // Four nodes are twice as deep and have twice the traffic.
  const PipelineTerms four = terms(Algorithm::nvls_tree, 16, 32_MiB, round_costs::cluster(4, 4));
  round_costs::check(four, {.start = 40,
                            .latency = 16 * 2 + 4 * hop,
                            .fill = 2'097'152 / kSwitch + 4 * 1'048'576 / 40e3,
                            .transfer = 2 * 33'554'432 / 40e3});
  // Between nodes a chunk is at most 64 KiB, so there are twice as many waves.
  CHECK(terms(Algorithm::nvls_tree, 16, 16384_MiB, round_costs::cluster(2, 4)).loops ==
        doctest::Approx(4096));
  // With many NICs, the switch is the limit.
  Cluster wide = round_costs::cluster(2, 4);
  wide.network.nics_per_node = 32;
  CHECK(terms(Algorithm::nvls_tree, 16, 32_MiB, wide).transfer_us ==
        doctest::Approx(33'554'432 / kSwitch));
}

TEST_CASE("in-switch cost model: CollNet goes up to the network's switches and down, once each") {
  // Direct has a hop to the heads and one back, 3 us each, and two of 70.5 us between. Chunks of
  // 256 KiB on two channels fill all hops except the last at 40 GB/s. A chain has three hops each
  // way.
  const Cluster two = round_costs::cluster(2, 4);
  const Bytes size(16'000'000);
  const PipelineTerms direct = terms(Algorithm::collnet_direct, 2, size, two);
  round_costs::check(direct, {.start = 14.25,
                              .latency = 2 * 3 + 2 * 70.5,
                              .fill = 3 * 524'288 / 40e3,
                              .transfer = 16e6 / 40e3});
  CHECK(direct.local_hop_us == 3);
  CHECK(direct.network_hop_us == 70.5);
  round_costs::check(terms(Algorithm::collnet_chain, 2, size, two), {.start = 14.25,
                                                                     .latency = 6 * 3 + 2 * 70.5,
                                                                     .fill = 7 * 524'288 / 40e3,
                                                                     .transfer = 16e6 / 40e3});
  // A tenth of a megabyte is two chunks of 50,000 bytes.
  CHECK(terms(Algorithm::collnet_direct, 2, Bytes(100'000), two).fill_us ==
        doctest::Approx(3 * 100'000 / 40e3));
}

TEST_CASE("in-switch cost model: slow links inside a node limit CollNet by the traffic on them") {
  // At 10 GB/s: 2 * 3/4 S for direct, 2 S along a chain, and S along a chain with only two ends.
  const auto transfer = [](Algorithm algorithm, int gpus) {
    Cluster two = round_costs::cluster(2, gpus);
    two.intra.per_gpu = 20_GBps;
    return terms(algorithm, 2, Bytes(16'000'000), two).transfer_us;
  };
  CHECK(transfer(Algorithm::collnet_direct, 4) == doctest::Approx(1.5 * 1600));
  CHECK(transfer(Algorithm::collnet_chain, 4) == doctest::Approx(2 * 1600));
  CHECK(transfer(Algorithm::collnet_chain, 2) == doctest::Approx(1600));
  // One GPU a node has no hop inside, and feeds half of its NICs.
  const PipelineTerms lone =
      terms(Algorithm::collnet_direct, 2, Bytes(16'000'000), round_costs::cluster(2, 1));
  round_costs::check(
      lone, {.start = 14.25, .latency = 2 * 70.5, .fill = 524'288 / 20e3, .transfer = 16e6 / 20e3});
}

TEST_CASE("in-switch cost model: a link that is busy longer than the switch limits NVLS") {
  // A byte on every hop keeps the busiest NVLink busy for 1/50 ns, of which 0.6 carries data, and a
  // slot for 1/20 ns.
  Cluster two = round_costs::cluster(2, 4);
  two.nvls_channels = 4;
  LinkLoads loads;
  LinkLoad load;
  load.local[static_cast<std::size_t>(LinkKind::nvlink)] = 1 / 50e9;
  loads.by_channels[static_cast<std::size_t>(ChannelShape::in_switch)] = {load};
  loads.by_channels[static_cast<std::size_t>(ChannelShape::ring)] = {LinkLoad()};
  loads.by_channels[static_cast<std::size_t>(ChannelShape::tree)] = {LinkLoad()};
  two.loads = std::make_shared<const LinkLoads>(loads);
  Cluster one = two;
  one.nodes = 1;
  CHECK(terms(Algorithm::nvls, 16, 32_MiB, one).transfer_us ==
        doctest::Approx(33'554'432 / (0.6 * 50e3)));
  CHECK(terms(Algorithm::nvls_tree, 16, 32_MiB, two).transfer_us ==
        doctest::Approx(33'554'432 / (0.6 * 50e3)));
  // Between two nodes a slot carries 0.85 of its rate. The NICs would carry 40 GB/s.
  loads.by_channels[static_cast<std::size_t>(ChannelShape::in_switch)]
      .front()
      .network[static_cast<std::size_t>(LinkKind::pcie)] = 1 / 20e9;
  two.loads = std::make_shared<const LinkLoads>(loads);
  CHECK(terms(Algorithm::nvls_tree, 16, 32_MiB, two).transfer_us ==
        doctest::Approx(33'554'432 / (0.85 * 20e3)));
}
