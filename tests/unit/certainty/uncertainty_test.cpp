#include "scenario_bounds.hpp"

#include <doctest/doctest.h>

#include <memory>

#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

constexpr Bytes kBucket{25 << 20};

Cluster over_sockets() {
  Cluster cluster = small::node(8);
  cluster.nodes = 2;
  cluster.network = {.kind = NetworkKind::tcp,
                     .nics_per_node = 1,
                     .per_nic = Bandwidth::gigabytes_per_second(12.5),
                     .latency = {},
                     .oversubscription = 1};
  return cluster;
}

CollectivePlan all_reduce(CollectiveModel model, CostFactors scale) {
  *cost_factors_of(model) = scale;
  return plan(small::on(over_sockets(), std::move(model)), CollectiveKind::all_reduce, kBucket);
}

CostFactors scale_in(const small::Bound& world) {
  return *cost_factors_of(world.job.model());
}

std::vector<small::Bound> bounds_of(const Cluster& cluster) {
  return small::bounds(Job(small::chain({{1 << 20, 40}, {kBucket.count(), 100}}, 50, 100), cluster,
                           {}, AnalyticModel{}));
}

}  // namespace

TEST_CASE("uncertainty: fixed cost and bandwidth each scale a part of the time") {
  const CollectiveModel nccl = AnalyticModel{};
  const CollectiveModel gloo = GlooModel{.links = {}};
  for (const CollectiveModel& model : {nccl, gloo}) {
    CAPTURE(model.index());
    const CollectivePlan plain = all_reduce(model, {});
    const CollectivePlan dear = all_reduce(model, {.fixed = 2, .bandwidth = 1});
    const CollectivePlan slow = all_reduce(model, {.fixed = 1, .bandwidth = 2});
    CHECK(plain.volume > Duration());
    CHECK(plain.volume < plain.transfer);
    CHECK(slow.transfer - plain.transfer == plain.volume);
    CHECK(dear.transfer - plain.transfer == plain.transfer - plain.volume);
    CHECK(slow.volume == 2 * plain.volume);
    CHECK(dear.volume == plain.volume);
  }
}

TEST_CASE("uncertainty: without logs, fixed cost is far less certain than bandwidth") {
  const std::vector<small::Bound> all = bounds_of(over_sockets());
  REQUIRE(all.size() >= 4);
  CHECK(all[0].source == ErrorSource::fixed_cost);
  CHECK(all[1].source == ErrorSource::fixed_cost);
  CHECK(all[2].source == ErrorSource::bandwidth);
  CHECK(all[3].source == ErrorSource::bandwidth);
  CHECK(scale_in(all[0]).fixed < scale_in(all[2]).bandwidth);
  CHECK(scale_in(all[1]).fixed > scale_in(all[3]).bandwidth);
  for (const std::size_t i : {0U, 1U}) CHECK(scale_in(all[i]).bandwidth == 1);
  for (const std::size_t i : {2U, 3U}) CHECK(scale_in(all[i]).fixed == 1);
}

TEST_CASE("uncertainty: a calibration's own bands, at small sizes and at the largest bucket's") {
  Calibration calibration;
  calibration.residual_deviation = {.small = 0.2, .middle = 0.1, .large = 0.05};
  calibration.shapes = {{.nodes = 2,
                         .gpus_per_node = 8,
                         .smallest = Bytes(1 << 20),
                         .largest = Bytes(1 << 23),
                         .source = "n2.txt",
                         .nccl = {}}};
  Cluster cluster = over_sockets();
  cluster.calibration = std::make_shared<const Calibration>(calibration);
  const std::vector<small::Bound> all = bounds_of(cluster);
  CHECK(scale_in(all[1]).fixed == duration_band(cluster, kSmallAllReduce).slower);
  CHECK(scale_in(all[3]).bandwidth == duration_band(cluster, kBucket).slower);
  CHECK(scale_in(all[3]).bandwidth > duration_band(cluster, Bytes(1 << 22)).slower);
}

TEST_CASE("uncertainty: a single GPU sends nothing and has no uncertainty") {
  const std::vector<small::Bound> all = bounds_of(small::node(1));
  CHECK(scale_in(all[1]).fixed == 1);
  CHECK(scale_in(all[3]).bandwidth == 1);
}
