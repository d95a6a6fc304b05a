// Rows of the table that `ddpsim allreduce` prints, by hand.
#include "ddpsim/sim/certainty/allreduce_table.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>

#include "round_costs.hpp"
#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

TEST_CASE("all-reduce table: bandwidths as nccl-tests prints them") {
  // 3 GB in 2 s; the link of each of four ranks carries 2 * 3/4 of it.
  CHECK(algbw_gbps(Bytes(3'000'000'000), Duration::seconds(2)) == doctest::Approx(1.5));
  CHECK(busbw_gbps(Bytes(3'000'000'000), Duration::seconds(2), 4) == doctest::Approx(2.25));
  CHECK(busbw_gbps(Bytes(3'000'000'000), Duration::seconds(2), 2) == doctest::Approx(1.5));
  CHECK(busbw_gbps(Bytes(3'000'000'000), Duration::seconds(2), 1) == 0);
  CHECK(algbw_gbps(1_MiB, Duration()) == 0);
}

TEST_CASE("all-reduce table: a row has NCCL's choice, its time and the band of the logs") {
  // A node of four with NVLink and without its own log: 0.69 to 2.59 below 64 KiB, 0.75 to 2.22 at
  // 256 KiB, 0.92 to 1.14 from 1 MiB.
  const Cluster node = small::node(4);
  const CollectiveTuning tuning{.nccl = {2, 18, 3}};
  const std::array sizes{4_KiB, 256_KiB, 25_MiB};
  const std::array<std::array<double, 2>, 3> band{{{0.69, 2.59}, {0.75, 2.22}, {0.92, 1.14}}};
  const AllReduceTable table = all_reduce_table(node, tuning, sizes);
  CHECK(table.ranks == 4);
  CHECK(table.nodes == 1);
  CHECK(table.gpus_per_node == 4);
  CHECK(table.gpu == "V100");
  REQUIRE(table.rows.size() == 3);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    CAPTURE(i);
    const AllReduceRow& row = table.rows[i];
    const CollectiveChoice choice =
        select_algorithm(CollectiveKind::all_reduce, sizes[i], node, tuning);
    CHECK(row.size == sizes[i]);
    CHECK(row.choice.algorithm == choice.algorithm);
    CHECK(row.choice.protocol == choice.protocol);
    CHECK(row.choice.channels == choice.channels);
    CHECK(row.time == cost(CollectiveKind::all_reduce, choice, sizes[i], node));
    CHECK(row.low == row.time.scaled(band[i][0]));
    CHECK(row.high == row.time.scaled(band[i][1]));
  }
  CHECK(table.confidence.grade == Grade::c);
  CHECK(table.confidence.low_percent == doctest::Approx(-8));
  CHECK(table.confidence.high_percent == doctest::Approx(14));
  CHECK(table.confidence.because.size() >= 2);
}

TEST_CASE("all-reduce table: another collective has the logs' band twice, at grade C") {
  // The band of all-reduces from 1 MiB on is 0.92 to 1.14. On either side it is sqrt(2) times as
  // wide, calibrated or not.
  Cluster node = small::node(4);
  const CollectiveTuning tuning{.nccl = {2, 18, 3}};
  for (const CollectiveKind kind :
       {CollectiveKind::all_gather, CollectiveKind::reduce_scatter, CollectiveKind::broadcast,
        CollectiveKind::reduce, CollectiveKind::send_recv}) {
    CAPTURE(name_of(kind));
    const AllReduceTable table = all_reduce_table(node, tuning, std::array{25_MiB}, kind);
    const AllReduceRow& row = table.rows.front();
    CHECK(table.collective == kind);
    CHECK(row.time == cost(kind, select_algorithm(kind, 25_MiB, node, tuning), 25_MiB, node));
    CHECK(row.low / row.time == doctest::Approx(1 - .08 * std::sqrt(2.0)));
    CHECK(row.high / row.time == doctest::Approx(1 + .14 * std::sqrt(2.0)));
    CHECK(table.confidence.grade == Grade::c);
    CHECK(table.confidence.basis.find(name_of(kind)) != std::string::npos);
    CHECK_FALSE(table.confidence.measure_next.has_value());
  }
  Cluster calibrated = round_costs::cluster(1, 4);
  const AllReduceTable table =
      all_reduce_table(calibrated, tuning, std::array{25_MiB}, CollectiveKind::all_gather);
  CHECK(table.rows.front().high / table.rows.front().time ==
        doctest::Approx(1 + .14 * std::sqrt(2.0)));
  CHECK(table.confidence.grade == Grade::c);
  CHECK(table.confidence.because.size() == 3);
  // A single GPU has no uncertainty.
  node.gpus_per_node = 1;
  CHECK(all_reduce_table(node, tuning, std::array{25_MiB}, CollectiveKind::reduce)
            .rows.front()
            .high == Duration());
}

TEST_CASE("all-reduce table: nodes are counted separately from their GPUs") {
  const AllReduceTable table =
      all_reduce_table(round_costs::cluster(3, 2), {}, std::array<Bytes, 1>{1_MiB});
  CHECK(table.ranks == 6);
  CHECK(table.nodes == 3);
  CHECK(table.gpus_per_node == 2);
}
