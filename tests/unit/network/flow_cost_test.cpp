// Alone on its links, a flow pipeline takes as long as the analytic cost model says.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "collective_words.hpp"
#include "ddpsim/sim/nccl/correction.hpp"
#include "fabrics.hpp"
#include "flow_planner.hpp"
#include "pipeline_cost.hpp"
#include "small_jobs.hpp"
#include "steady_state.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

Cluster machine(int nodes, int gpus) {
  Cluster cluster = small::node(gpus, 300);
  cluster.nodes = nodes;
  cluster.gpu.compute_capability = 80;
  if (gpus == 1) cluster.intra.kind = IntraKind::none;
  if (nodes > 1)
    cluster.network = {
        .kind = NetworkKind::infiniband, .nics_per_node = 4, .per_nic = 25_GBps, .latency = {}};
  return cluster;
}

double error_of(CollectiveKind kind, const CollectiveChoice& choice, Bytes size,
                const Cluster& cluster, FlowPlanner& planner) {
  const Duration expected = cost(kind, choice, size, cluster);
  return std::abs((planner.alone(kind, choice, size) - expected) / expected);
}

}  // namespace

TEST_CASE("flow: alone on a calibrated cluster it takes as long as the calibration says") {
  for (const double weight : {2.0, -1.5})  // the cost model is too fast, too slow
    for (const int nodes : {1, 4}) {
      Cluster cluster = machine(nodes, 4);
      Calibration calibration;
      calibration.constants = constants_of(cluster);
      calibration.constants.nic_share = 0.6;
      calibration.constants.local_share = 0.7;
      calibration.constants.per_channel_start_us = 0.5;
      calibration.constants.ring_ends = 0.6;
      calibration.constants.tree_share = 0.8;
      calibration.constants.ll_share = 0.4;
      calibration.constants.hop_growth = {0.2, 0.5, 0.1};
      calibration.correction = {
          {{nodes, 4, 1_MiB, Algorithm::ring, Protocol::simple}, 4 * weight, weight}};
      calibration.shapes = {{nodes, 4, Bytes(8), 1024_MiB, "here"}};
      cluster.calibration = std::make_shared<const Calibration>(calibration);
      FlowPlanner planner = fabrics::planner(cluster, fabrics::switched(cluster, 8), {});
      for (const Algorithm algorithm : {Algorithm::tree, Algorithm::ring})
        for (const std::int64_t size : {4099, 1 << 20, 26'214'400})
          for (const Protocol protocol : {Protocol::ll, Protocol::simple}) {
            INFO(nodes, " ", name_of(algorithm), " ", size, " ", weight);
            const CollectiveChoice choice{algorithm, protocol, 8, {}};
            CHECK(error_of(CollectiveKind::all_reduce, choice, Bytes(size), cluster, planner) <
                  1e-3);
          }
    }
}

TEST_CASE("flow: one planner distinguishes buffers and releases of NCCL") {
  Cluster cluster = machine(4, 4);
  Calibration calibration;
  calibration.constants = constants_of(cluster);
  calibration.shapes = {{4, 4, Bytes(8), 64_MiB, "older", "", NcclVersion{2, 18, 0}},
                        {4, 4, Bytes(8), 64_MiB, "newer", "", NcclVersion{2, 21, 0}}};
  // The part shared by all releases is faster than the cost model. Each of these two releases is
  // not.
  const OperatingPoint shared{4, 4, Bytes(1 << 16), Algorithm::ring, Protocol::simple};
  OperatingPoint older = shared;
  older.nccl = NcclVersion{2, 18, 0};
  OperatingPoint newer = shared;
  newer.nccl = NcclVersion{2, 21, 0};
  calibration.correction = {{shared, -6, 0}, {older, 1, 0}, {newer, 2, 0}};
  cluster.calibration = std::make_shared<const Calibration>(calibration);
  FlowPlanner planner = fabrics::planner(cluster, fabrics::switched(cluster, 8), {});
  for (const NcclVersion nccl : {NcclVersion{2, 18, 0}, {2, 21, 0}, {2, 27, 3}})
    for (const Bytes buffer : {1_MiB, 4_MiB}) {
      INFO(to_string(nccl), " ", buffer.count());
      const CollectiveChoice choice{.algorithm = Algorithm::ring,
                                    .protocol = Protocol::simple,
                                    .channels = 8,
                                    .buffer = buffer,
                                    .nccl = nccl};
      for (const Bytes size : {Bytes(1 << 16), 64_MiB})
        CHECK(error_of(CollectiveKind::all_reduce, choice, size, cluster, planner) < 1e-3);
      // The links are wide enough for the fastest release.
      CHECK(fastest_correction(cluster) >=
            std::exp(
                -correction_at(calibration, operating_point_of(choice, Bytes(1 << 16), cluster))));
    }
}

TEST_CASE("chunk pipeline: one channel stands for all that differ only in their routes") {
  const Cluster cluster = machine(4, 4);
  const Fabric fabric = fabrics::switched(cluster, 4);
  const PipelineShape rings = ring_all_reduce_shape(fabric, 8, 4);
  CHECK(rings.hops.size() == 8 * 16);
  REQUIRE(rings.unlike_channels.size() == 1);
  CHECK(rings.unlike_channels.front().count == 16);
  // The two trees over the nodes differ. Every further channel repeats one of them.
  const PipelineShape trees = tree_all_reduce_shape(fabric, 8, 4);
  CHECK(trees.unlike_channels.size() == 2);
  CHECK(trees.unlike_channels.back().first > 0);
  // A chain of four ranks and a star have the same number of hops within a node, but a chunk passes
  // more of the chain's in a row.
  Fabric within;
  const std::vector<Route> routes(4);
  const TreeChannel chain{.parent = {0, 0, 1, 2}, .up = routes, .down = routes};
  const TreeChannel star{.parent = {0, 0, 0, 0}, .up = routes, .down = routes};
  within.trees = {chain, star, chain};
  CHECK(tree_all_reduce_shape(within, 3, 4).unlike_channels.size() == 2);
}

TEST_CASE("flow: alone it takes as long as the cost model says, within a thousandth") {
  double worst = 0;
  for (const auto& [nodes, gpus] :
       {std::pair(1, 2), {1, 3}, {1, 8}, {2, 1}, {2, 8}, {3, 5}, {4, 4}, {7, 2}, {8, 1}, {16, 2}}) {
    const Cluster cluster = machine(nodes, gpus);
    FlowPlanner planner = fabrics::planner(cluster, fabrics::switched(cluster, 8), {});
    for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple})
      for (const std::int64_t size : {0, 1, 4099, 65'536, 1'048'576, 26'214'400, 1 << 30})
        for (const int channels : {2, 8}) {
          for (const Algorithm algorithm : {Algorithm::tree, Algorithm::ring}) {
            const CollectiveChoice choice{algorithm, protocol, channels, {}};
            INFO(cluster.nodes, "x", cluster.gpus_per_node, " ", name_of(algorithm), " ",
                 name_of(protocol), " ", size);
            const double error =
                error_of(CollectiveKind::all_reduce, choice, Bytes(size), cluster, planner);
            CHECK(error < 1e-3);
            worst = std::max(worst, error);
          }
          const CollectiveChoice choice{Algorithm::ring, protocol, channels, {}};
          for (const CollectiveKind kind : kAllKinds) {
            CAPTURE(name_of(kind));
            CHECK(error_of(kind, choice, Bytes(size), cluster, planner) < 1e-3);
          }
        }
  }
  MESSAGE("worst difference between flow and cost model: ", worst);
}
