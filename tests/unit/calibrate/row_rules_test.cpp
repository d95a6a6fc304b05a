// Rows of a log: the meaning of CSV columns, valid values of a row, and the number of ranks of a
// table. Also tests on which side of each limit a row falls.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "complaint.hpp"
#include "ddpsim/calibrate/logs/measured_log.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/reports/reports.hpp"
#include "ddpsim/sim/certainty/allreduce_table.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "log_texts.hpp"
#include "mentions.hpp"
#include "rank_count.hpp"
#include "row_checks.hpp"

using namespace ddpsim;

namespace {

Figure exactly(double value) {
  return {.value = value, .half_unit = 0};
}

RawRow row(std::int64_t size, std::optional<double> time_us, std::optional<double> algbw = {},
           std::optional<double> busbw = {}) {
  RawRow out;
  out.place = "line 1";
  out.size = size;
  if (time_us) out.time_us = exactly(*time_us);
  if (algbw) out.algbw_gbps = exactly(*algbw);
  if (busbw) out.busbw_gbps = exactly(*busbw);
  return out;
}

std::string wrong(const RawRow& of, int ranks = 4) {
  return complaint_of([&] {
    checked_point(of, ranks, "log");
    check_algbw(of, "log");
  });
}

}  // namespace

TEST_CASE("measured CSV: every column is found by name, in any order") {
  const MeasuredLog log = parse_log(
      "algorithm,time_us_inplace,gpus_per_node,busbw_gbps,time_us,nodes,algbw_gbps,size_bytes\n"
      "ring,39.5,4,45.875,40,2,26.2144,1048576\n");
  REQUIRE(log.points.size() == 1);
  CHECK(log.points[0].size == Bytes(1'048'576));
  CHECK(log.points[0].time_us == 40);
  CHECK(log.points[0].in_place_us == 39.5);
  CHECK(log.points[0].place == "line 2");
  CHECK(log.nodes == 2);
  CHECK(log.gpus_per_node == 4);
  CHECK(log.ranks == 8);
  for (const char* size : {"size_bytes", "size", "bytes"})
    for (const char* in_place : {"time_us_inplace", "in_place_us"}) {
      const MeasuredLog other =
          parse_log(fmt::format("{},time_us,{}\n# a comment\n8,3,5\n\n8,4,\n", size, in_place));
      REQUIRE(other.points.size() == 2);
      CHECK(other.points[0].size == Bytes(8));
      CHECK(other.points[0].time_us == 3);
      CHECK(other.points[0].in_place_us == 5);
      CHECK_FALSE(other.points[1].in_place_us.has_value());
    }
}

TEST_CASE("measured CSV: a time's unit is in its name or follows from the bandwidth") {
  const auto us = [](const std::string& text) {
    return parse_log(text, JobShape{1, 8}).points[0].time_us;
  };
  CHECK(us("size,time_ms\n1048576,0.06\n") == doctest::Approx(60));
  CHECK(us("size,time_s\n1048576,0.06\n") == doctest::Approx(60'000));
  CHECK(us("size,time,time_ms\n1048576,7,0.06\n") == doctest::Approx(60));
  // 1 MiB in 60 us is 17.48 GB/s; on 8 ranks that is 30.58 GB/s on the bus.
  for (const char* beside : {"algbw\n1048576,{},17.48\n", "busbw\n1048576,{},30.58\n"}) {
    CAPTURE(beside);
    const auto text = [&](const char* time) {
      return "size,time," + fmt::format(fmt::runtime(beside), time);
    };
    CHECK(us(text("60.0")) == 60);
    CHECK(us(text("0.0600")) == doctest::Approx(60));
    CHECK(us(text("0.0000600")) == doctest::Approx(60));
    CHECK(us(text("60000")) == doctest::Approx(60));
    CHECK(mentions(parse_log(text("0.0600"), JobShape{1, 8}).recognised, "in milliseconds"));
  }
  CHECK(mentions(refusal_of_log("size,time\n1048576,17.6\n", JobShape{1, 8}), "Name it time_us"));
  CHECK(mentions(refusal_of_log("size,time,busbw\n1048576,60,3000\n", JobShape{1, 8}),
                 "no other column tells it"));
  CHECK(mentions(refusal_of_log("size,time,algbw\n1048576,60,139.8\n", JobShape{1, 8}), "Gbit/s"));
}

TEST_CASE("measured CSV: that of rccl-tests has a row for each place, and the job's shape") {
  const std::string header =
      "numCycle,collective,nodes,ranks,ranksPerNode,gpusPerRank,size,type,redop,inplace,time,algbw,"
      "busbw,"
      "#wrong\n";
  const std::string rows =
      "0,AllReduce,2,8,4,2,1048576,float,sum,0,60.00,17.48,32.77,3\n"
      "0,AllReduce,2,8,4,2,1048576,float,sum,1,72.00,14.56,27.31,0\n"
      "0,AllReduce,2,8,4,2,4194304,float,sum,1,144.00,29.13,54.61,0\n"
      "0,AllReduce,2,8,4,2,4194304,float,sum,0,120.00,34.95,65.54,0\n";
  const MeasuredLog log = parse_log(header + rows);
  CHECK(log.shape() == JobShape{2, 8});
  REQUIRE(log.points.size() == 2);
  CHECK(log.points[0].time_us == 60);
  CHECK(log.points[0].in_place_us == 72);
  CHECK(log.points[0].wrong == 3);
  CHECK(log.points[0].wrong_in_place == 0);
  CHECK(log.points[1].time_us == 120);
  CHECK(log.points[1].in_place_us == 144);
  // -N 2 runs all sizes again.
  CHECK(parse_log(header + rows + "1,AllReduce,2,8,4,2,1048576,float,sum,0,61.00,17.19,32.23,0\n")
            .points.size() == 3);
  const std::string alone = "0,AllReduce,2,8,4,2,8388608,float,sum,1,200.00,41.94,78.64,0\n";
  const MeasuredLog half = parse_log(header + rows + alone);
  CHECK(half.points.size() == 2);
  CHECK(mentions(half.warnings, "only timed in place"));
  CHECK(mentions(
      refusal_of_log(header + "0,AllGather,1,8,8,1,1048576,float,sum,0,60,17.48,30.58,0\n"),
      "is of \"AllGather\""));
  CHECK(mentions(
      refusal_of_log(header + "0,AllReduce,1,8,8,1,1048576,float,sum,2,60,17.48,30.58,0\n"),
      "inplace is \"2\""));
  // A build without MPI.
  CHECK(parse_log("numCycle,collective,gpus,size,type,redop,inplace,time,algbw,busbw,#wrong\n"
                  "0,AllReduce,8,1048576,float,sum,0,60.00,17.48,30.58,0\n")
            .shape() == JobShape{1, 8});
}

TEST_CASE(
    "measured table: an unknown header is shown with the expected one, and other programs are "
    "named") {
  for (const char* header :
       {"Size (MB),Time (us)\n1,60\n", "size_mb,time_ms,busbw_gbps\n1,0.06,30\n",
        "size,latency_ms\n8,1\n", "size;count;time\n8;2;1,5\n", "size time busbw\n8 1 2\n",
        "size,min_time,max_time\n8,1,2\n",
        "| size (B) | count | time (us) |\n|---|---|---|\n| 8 | 2 | 1 |\n",
        "Size\tAvg Latency(us)\n8\t1\n"}) {
    CAPTURE(header);
    const std::string refusal = refusal_of_log(header);
    CHECK(mentions(refusal, "the header is"));
    CHECK(mentions(refusal, "size_bytes,time_us"));
  }
  for (const char* header :
       {"step,step_time_ms", "batch_size,step_time_ms", "bucket_cap_mb,iteration_us"})
    CHECK_FALSE(mentions(refusal_of_log(std::string(header) + "\n1,60\n"), "the header is"));
  CHECK(
      mentions(refusal_of_log(
                   "# OSU MPI-CUDA Allreduce Latency Test v7.3\n# Size  Avg Latency(us)\n8 9.0\n"),
               "OSU micro-benchmarks"));
  CHECK(mentions(refusal_of_log("nvbandwidth Version: v0.8\n 0 N/A 276.07\n"),
                 "is from nvbandwidth"));
  CHECK(mentions(refusal_of_log(" RDMA_Write BW Test\n 1048576 5000 197.54\n"), "ib_write_bw"));
  CHECK(mentions(refusal_of_log("[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\n"),
                 "p2pBandwidthLatencyTest"));
}

TEST_CASE("measured CSV: times follow from algbw, from busbw by the number of ranks") {
  // 1 MiB in 40 us is 26.2144 GB/s; on 4 ranks the bus bandwidth is 1.5 times that.
  for (const char* algbw : {"algbw_gbps", "algbw"})
    CHECK(parse_log(fmt::format("size,{}\n1048576,26.2144\n", algbw)).points[0].time_us ==
          doctest::Approx(40));
  for (const char* busbw : {"busbw_gbps", "busbw"}) {
    const std::string text = fmt::format("size,{}\n1048576,39.3216\n", busbw);
    CHECK(parse_log(text, JobShape{2, 2}).points[0].time_us == doctest::Approx(40));
    CHECK(parse_log(text, JobShape{1, 2}).points[0].time_us ==
          doctest::Approx(26.6667));  // factor 1
  }
  // A time in the same row is used as it is.
  CHECK(parse_log("size,time,algbw\n1048576,40.1,26.2144\n").points[0].time_us == 40.1);
}

TEST_CASE("measured CSV: our own table of an all-reduce is read with its ranks, sizes and times") {
  const Cluster cluster = parse_cluster_line("node:2 gpu:4xA100 nvswitch:300GBps nic:4x200Gbps:ib");
  const std::vector<Bytes> sizes = {Bytes(1 << 20), Bytes(16 << 20), Bytes(256 << 20)};
  const AllReduceTable table = all_reduce_table(cluster, {}, sizes);
  const MeasuredLog log = parse_log(allreduce_csv(table));
  CHECK(log.ranks == 8);  // busbw is 1.75 times algbw
  REQUIRE(log.points.size() == 3);
  for (std::size_t k = 0; k < 3; ++k) {
    CHECK(log.points[k].size == sizes[k]);
    CHECK(log.points[k].time_us == doctest::Approx(table.rows[k].time.microseconds()));
  }
  CHECK(parse_log(allreduce_csv(table), JobShape{2, 4}).shape() == JobShape{2, 4});
  CHECK(mentions(refusal_of_log(allreduce_csv(table), JobShape{2, 2}),
                 "2x2 are 4 ranks, but busbw / algbw implies 8"));
  const AllReduceTable gather = all_reduce_table(cluster, {}, sizes, CollectiveKind::all_gather);
  CHECK(mentions(refusal_of_log(allreduce_csv(gather)),
                 "is of \"all-gather\", not of an "
                 "all-reduce"));
  CHECK(parse_log("collective,size,time_us\nall_reduce,8,10\n").points.size() == 1);
}

TEST_CASE("row checks: sizes, times and rates at their limits") {
  constexpr std::int64_t kLargest = std::int64_t{1} << 50;
  CHECK(wrong(row(kLargest, 1e11)) == "");
  CHECK(mentions(wrong(row(kLargest + 1, 1e11)), "size is"));
  CHECK(mentions(wrong(row(-1, 1)), "size is -1 bytes"));
  CHECK(wrong(row(8, 1e12)) == "");
  CHECK(mentions(wrong(row(8, 1.01e12)), "time is"));
  CHECK(mentions(wrong(row(8, 0)), "is above 0"));
  CHECK(mentions(wrong(row(8, -1)), "is above 0"));
  CHECK(wrong(row(100'000'000, 1)) == "");  // 1e5 GB/s
  CHECK(mentions(wrong(row(100'000'001, 1)), "which no machine does"));
  RawRow in_place = row(8, 5);
  in_place.in_place_us = exactly(0);
  CHECK(mentions(wrong(in_place), "the time in place is 0 us"));
}

TEST_CASE("row checks: bandwidths without a time") {
  CHECK(checked_point(row(3'000'000, {}, 2), 4, "log").time_us == doctest::Approx(1500));
  CHECK(checked_point(row(3'000'000, {}, {}, 3), 4, "log").time_us == doctest::Approx(1500));
  CHECK(mentions(wrong(row(8, {}, {}, 3), 1), "has only busbw"));
  CHECK(wrong(row(8, {}, {}, 3), 2) == "");
  CHECK(wrong(row(8, {}, 1e5)) == "");
  CHECK(mentions(wrong(row(8, {}, 1.01e5)), "the bandwidth is"));
  CHECK(mentions(wrong(row(8, {}, -0.1)), "the bandwidth is"));
  CHECK(mentions(wrong(row(8, {})), "neither a time nor a bandwidth"));
  // A bandwidth known to 2 % tells the time; a less exact one does not.
  RawRow coarse = row(1'000'000, {}, 5);
  coarse.algbw_gbps->half_unit = 0.1;
  CHECK(checked_point(coarse, 4, "log").time_us == doctest::Approx(200));
  coarse.algbw_gbps->half_unit = 0.11;
  CHECK(checked_point(coarse, 4, "log").time_us == 0);
}

TEST_CASE("row checks: algbw is size over time, within two in a hundred") {
  // 4 MB in 1000 us: 4 GB/s.
  const auto said = [](double algbw) { return wrong(row(4'000'000, 1000, algbw)); };
  CHECK(said(4.07) == "");
  CHECK(said(3.93) == "");
  CHECK(mentions(said(4.09), "algbw is 4.09 GB/s, but 4000000 bytes in 1000 us are 4 GB/s"));
  CHECK(mentions(said(3.91), "algbw is 3.91"));
  CHECK(mentions(said(4000), "Is this time in nanoseconds, or algbw in MB/s?"));
  CHECK(mentions(said(0.004), "Is this time in milliseconds?"));
  CHECK(mentions(said(32), "Is this algbw in Gbit/s?"));
  CHECK(mentions(said(3.7252), "Is this algbw in GiB/s?"));  // 4e9 / 2^30
  CHECK_FALSE(mentions(said(16), "Is this"));
  // Rounded values may be off by more.
  RawRow rounded = row(4'000'000, 1000, 4.5);
  rounded.algbw_gbps->half_unit = 0.5;
  CHECK(wrong(rounded) == "");
  rounded = row(4'000'000, 1100, 4);
  rounded.time_us->half_unit = 100;
  CHECK(wrong(rounded) == "");
}

TEST_CASE("rank count: busbw over algbw is 2(n - 1)/n") {
  const auto range = [](double busbw, double half_unit = 0) {
    RawRow one = row(1'000'000, {}, 10, busbw);
    one.busbw_gbps->half_unit = half_unit;
    return rank_range({one});
  };
  CHECK(range(10).only() == 2);
  CHECK(range(15).only() == 4);
  CHECK(range(17.5).only() == 8);
  CHECK(range(0).low == 1);
  // 17.5 to 18 means 8 to 10 ranks.
  CHECK(range(17.75, 0.25).low == 8);
  CHECK(range(17.75, 0.25).high == 10);
  CHECK_FALSE(range(17.75, 0.25).only().has_value());
  CHECK(range(17.75, 0.25).has(9));
  CHECK_FALSE(range(17.75, 0.25).has(11));
  CHECK_FALSE(range(17.75, 0.25).has(7));
  CHECK_FALSE(range(20).high.has_value());  // two, without an upper bound
  CHECK(range(20).has(1'000'000'000));
}

TEST_CASE("rank count: rows narrow each other, and one that cannot be among them is named") {
  RawRow coarse = row(1'000'000, {}, 10, 17.75);
  coarse.busbw_gbps->half_unit = 0.25;
  CHECK(rank_range({coarse, row(1, {}, 10, 17.5)}).only() == 8);
  CHECK(rank_range({coarse, row(0, {}, 10, 10)}).high == 10);  // a row of zero size tells nothing
  RawRow other = row(1, {}, 10, 15);
  other.place = "line 2";
  CHECK(rank_range({coarse, other}).contradiction == "line 2");
  // If time and size give algbw more exactly, they count: 10 +- 0.5 would allow 8 to 10.
  RawRow timed = row(1'000'000, 100, 10, 17.5);
  timed.algbw_gbps->half_unit = 0.5;
  CHECK(rank_range({timed}).only() == 8);
}
