// What a step asks of each collective model, in addition to a plan.
#include <doctest/doctest.h>

#include "collective_words.hpp"
#include "ddpsim/sim/collectives/collective_model.hpp"
#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/collective.hpp"
#include "fabrics.hpp"
#include "pipeline_cost.hpp"
#include "round_costs.hpp"
#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

TEST_CASE("collective model: the models that choose, and those that predict") {
  const Cluster node = small::node(4);
  CollectiveModel analytic = AnalyticModel{.tuning = {.nccl = {2, 18, 3}}};
  CollectiveModel flow = flow_model({.nccl = {2, 18, 3}}, fabrics::switched(node, 2));
  CollectiveModel gloo = GlooModel{.links = {}};
  CollectiveModel recorded = RecordedModel{};
  CollectiveModel none = FreeModel{};
  for (CollectiveModel* model : {&analytic, &flow}) {
    REQUIRE(nccl_of(*model) != nullptr);
    CHECK(nccl_of(*model)->tuning.nccl == NcclVersion{2, 18, 3});
    CHECK(cost_factors_of(*model) == &nccl_of(*model)->factors);
  }
  for (CollectiveModel* model : {&gloo, &recorded, &none}) CHECK(nccl_of(*model) == nullptr);
  CHECK(cost_factors_of(gloo) == &std::get<GlooModel>(gloo).factors);
  CHECK(cost_factors_of(recorded) == nullptr);
  CHECK(cost_factors_of(none) == nullptr);
}

TEST_CASE("collective model: a plan holds the choice's channels and the bytes' part of its time") {
  // Two nodes of four GPUs over one NIC. A ring of Simple needs 700 us for bytes, of 941.25 us in
  // the cost model.
  const Cluster two = round_costs::cluster(2, 4);
  CollectiveTuning tuning{.nccl = {2, 18, 3},
                          .algorithms = Algorithm::ring,
                          .protocols = Protocol::simple,
                          .max_channels = 2};
  const CollectivePlan planned =
      plan(small::on(two, AnalyticModel{.tuning = tuning}), kAllReduce, Bytes(16'000'000));
  CHECK(planned.transfer == 941.25_us);
  CHECK(planned.volume == 700_us);
  CHECK(planned.channels == 2);
  CHECK(planned.to_host == Duration());
  CHECK(planned.to_device == Duration());
  // Alone on its links, the flow network takes as long.
  const CollectivePlan flow = plan(small::on(two, flow_model(tuning, fabrics::switched(two, 2))),
                                   kAllReduce, Bytes(16'000'000));
  CHECK(flow.transfer.microseconds() == doctest::Approx(941.25).epsilon(1e-3));
  CHECK(flow.volume == 700_us);
  // Without channels in the fabric, the cost model is used.
  CHECK(
      plan(small::on(two, flow_model(tuning, Fabric{})), kAllReduce, Bytes(16'000'000)).transfer ==
      941.25_us);
}

TEST_CASE("collective model: one rank moves nothing; a recording takes the recorded time") {
  const CollectivePlan one = plan(small::on(small::node(1), AnalyticModel{}), kAllReduce, 25_MiB);
  CHECK(one.transfer == Duration());
  CHECK(one.volume == Duration());
  const Job recorded =
      small::on(small::node(2), RecordedModel{.durations = {10_us, 20_us}, .channels = 6});
  const CollectivePlan second = plan(recorded, kAllReduce, 25_MiB, 1);
  CHECK(second.transfer == 20_us);
  CHECK(second.volume == 20_us);
  CHECK(second.channels == 6);
  CHECK(plan(recorded, kAllReduce, 25_MiB, 2).channels == 0);
  CHECK(plan(small::on(small::node(2), FreeModel{}), kAllReduce, 25_MiB).channels == 0);
}

TEST_CASE("collective model: sockets of one communicator do not fill a link between nodes") {
  // The processor copies 4.6 GB/s of 100 Gbit/s. Frames would carry 0.956.
  Cluster cluster = small::node(8);
  cluster.nodes = 2;
  cluster.network = {.kind = NetworkKind::tcp, .nics_per_node = 1, .per_nic = 100_Gbps};
  const auto fill = [&] { return collectives_to_fill(small::on(cluster, AnalyticModel{})); };
  CHECK(fill() == doctest::Approx(0.956 * 12.5 / 4.6));
  cluster.network.sockets = Sockets::gpudirect;
  CHECK(fill() == 1);
  cluster.network.sockets = Sockets::host;
  cluster.nodes = 1;
  CHECK(fill() == 1);
  // Each of eight channels has a connection of 0.5 GB/s: 4 GB/s of two NICs' 25.
  cluster.nodes = 2;
  cluster.network.nics_per_node = 2;
  cluster.network.connection = 0.5_GBps;
  CHECK(fill() == doctest::Approx(0.956 * 25 / 4));
}
