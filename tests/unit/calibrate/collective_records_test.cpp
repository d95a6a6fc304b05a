// NCCL's inspector and PyTorch's flight recorder: what jobs recorded of their all-reduces, and
// which of that counts as a transfer.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "complaint.hpp"
#include "ddpsim/calibrate/fit/fit.hpp"
#include "ddpsim/calibrate/logs/health.hpp"
#include "ddpsim/calibrate/logs/measured_log.hpp"
#include "ddpsim/calibrate/validate/validation.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/topologies/topology.hpp"
#include "mentions.hpp"
#include "trace_files.hpp"

using namespace ddpsim;

namespace {

struct Noted {
  int rank = 0;
  std::int64_t number = 0;
  std::int64_t bytes = 1 << 20;
  int us = 100;
  std::string coll = "AllReduce";
  int ranks = 2;
  std::string algbw = "";
};

std::string record_line(const Noted& one) {
  return fmt::format(
      R"({{"header":{{"id":"0x7f","rank":{},"n_ranks":{},"nnodes":1}},"metadata":{{"hostname":"a"}},)"
      R"("coll_perf":{{"coll":"{}","coll_sn":{},"coll_msg_size_bytes":{},"coll_exec_time_us":{}{}}}}})"
      "\n",
      one.rank, one.ranks, one.coll, one.number, one.bytes, one.us, one.algbw);
}

std::string flight_entry(const std::string& sizes, const std::string& type,
                         const std::string& duration, const std::string& name = "nccl:all_reduce",
                         const std::string& group = "0") {
  return fmt::format(
      R"({{"profiling_name":"{}","process_group":["{}","default_pg"],"input_sizes":{},)"
      R"("input_dtypes":["{}"],"state":"completed"{}}})",
      name, group, sizes, type, duration.empty() ? "" : ",\"duration_ms\":" + duration);
}

std::string flight_recording(const std::vector<std::string>& entries) {
  return fmt::format(
      R"({{"entries":[{}],"pg_config":{{"0":{{"name":"0","ranks":"[0, 1, 2, 3]"}}}},"nccl_version":"2.21.5"}})",
      fmt::join(entries, ","));
}

MeasuredLog only_log(const std::string& text) {
  const std::vector<MeasuredLog> logs = parse_measured_logs(text, "f");
  REQUIRE(logs.size() == 1);
  return logs.front();
}

std::string records_complaint(const std::string& text) {
  return complaint_of([&] { parse_measured_logs(text, "f"); });
}

}  // namespace

TEST_CASE("inspector: the shortest time of a collective on all ranks is the transfer") {
  std::string text;
  for (const auto& [number, early, late] :
       {std::tuple(1, 900, 100), {2, 120, 300}, {3, 140, 140}}) {
    text += record_line({.rank = 0, .number = number, .us = early});
    text += record_line({.rank = 1, .number = number, .us = late});
  }
  text += record_line({.rank = 0, .number = 4, .us = 5000});  // the other's record is cut off
  text += record_line({.rank = 0, .number = 5, .coll = "Broadcast"});
  const MeasuredLog log = only_log(text);
  REQUIRE(log.points.size() == 1);
  CHECK(log.points[0].time_us == 120);  // median of 100, 120 and 140
  CHECK(log.timed_by == TimedBy::joined_ranks);
  CHECK(log.shape() == JobShape{1, 2});
  CHECK(mentions(log.recognised, "NCCL inspector"));
  CHECK(mentions(log.recognised,
                 "3 all-reduces on all 2 ranks: the shortest time of each is its transfer; 1 more "
                 "lack some ranks and were left out"));
  CHECK(mentions(log.recognised, "left out: 1 records of other collectives"));
  CHECK(mentions(log.warnings, "recorded while a job ran"));
}

TEST_CASE("inspector: times of one rank are upper bounds, and the smallest of each size is used") {
  std::string text;
  for (const int us : {400, 200, 300}) text += record_line({.number = us, .us = us});
  text += record_line({.number = 9, .bytes = 2 << 20, .us = 500});
  const MeasuredLog log = only_log(text);
  REQUIRE(log.points.size() == 2);
  CHECK(log.points[0].time_us == 200);
  CHECK(log.timed_by == TimedBy::one_rank);
  CHECK(mentions(log.warnings, "each is an upper bound"));
}

TEST_CASE("inspector: impossible records are refused with file and line") {
  const std::string good = record_line({});
  CHECK(mentions(records_complaint(good + "{\"header\": 3}\n"), "f:line 2"));
  CHECK(mentions(records_complaint(good + "{"), "f:line 2"));
  CHECK(mentions(records_complaint(record_line({.rank = 2})), "/header/rank"));
  CHECK(mentions(records_complaint(record_line({.us = -1})), "coll_exec_time_us"));
  CHECK(mentions(records_complaint(record_line({.algbw = R"(,"coll_algobw_gbs":0.010486)"})),
                 "algbw is"));
  CHECK(mentions(records_complaint(record_line({.coll = "AllGather"})),
                 "it contains no all-reduce that took time. Give the inspector's files"));
}

TEST_CASE("flight recorder: sizes of all inputs, the version, the ranks of its group") {
  const MeasuredLog log = only_log(flight_recording(
      {flight_entry("[[262144]]", "Float", "0.5"), flight_entry("[[262144]]", "Float", "0.25"),
       flight_entry("[[4, 8]]", "BFloat16", "0.125"),
       flight_entry("[[8]]", "Float", "9", "nccl:broadcast"),
       flight_entry("[[8]]", "Float", "9", "nccl:all_reduce", "1"),
       flight_entry("[[8]]", "Float", ""), flight_entry("[[8]]", "Opaque", "9")}));
  REQUIRE(log.points.size() == 2);
  CHECK(log.points[0].size == Bytes(64));
  CHECK(log.points[0].time_us == 125);
  CHECK(log.points[1].size == Bytes(1 << 20));
  CHECK(log.points[1].time_us == 250);
  CHECK(log.timed_by == TimedBy::one_rank);
  CHECK(log.ranks == 4);
  CHECK(log.nccl == NcclVersion{2, 21, 5});
  CHECK(mentions(log.recognised, "left out: 1 all-reduces of process group \"1\""));
}

TEST_CASE("flight recorder: without times, or without an all-reduce, it says what to do") {
  CHECK(mentions(records_complaint(flight_recording({flight_entry("[[8]]", "Float", "")})),
                 "1 all-reduces, none with duration_ms. Run with TORCH_NCCL_ENABLE_TIMING=1"));
  CHECK(mentions(records_complaint(flight_recording({})), "it contains no all-reduce"));
  CHECK(mentions(records_complaint(flight_recording({flight_entry("[[-1]]", "Float", "1")})),
                 "/entries/0/input_sizes"));
}

TEST_CASE("upper bounds are fitted only where the cost model exceeds them") {
  const ClusterAt at = [](JobShape shape) {
    return load_cluster(
        {.text = "2xv100-nvlink", .nodes = shape.nodes, .gpus_per_node = shape.gpus_per_node});
  };
  std::string text;
  for (int i = 0; i < 6; ++i)
    text += record_line({.number = i, .bytes = 1 << (18 + i), .us = 16 + 6 * (1 << i)});
  MeasuredLog bounds = only_log(text);
  bounds.points.back().time_us *= 1000;
  const Cluster cluster = at({1, 2});
  const CollectiveTuning tuning = tuning_of(bounds, NcclVersion{2, 20, 5});
  CHECK(mentions(slower_than_bounds(bounds, cluster, tuning), "the cost model takes longer at"));
  const Fit fit = fit_calibration({bounds}, at, {.nccl = NcclVersion{2, 20, 5}});
  CHECK(mentions(fit.notes, "the cost model takes longer at"));
  REQUIRE_FALSE(fit.residuals.empty());
  CHECK(fit.residuals.size() < bounds.points.size());  // only those shorter than predicted
  for (const FitResidual& row : fit.residuals) {
    CHECK(row.calibrated_us < modelled_us(row.size, cluster, tuning));
    CHECK(row.measured_us < modelled_us(row.size, cluster, tuning));
  }
  CHECK(fit.calibration.shapes.front().timed_by == TimedBy::one_rank);
  for (MeasuredPoint& point : bounds.points) point.time_us *= 1000;
  CHECK(slower_than_bounds(bounds, cluster, tuning).empty());
  const std::string complaint = complaint_of([&] {
    fit_calibration({bounds}, at, {.nccl = NcclVersion{2, 20, 5}});
  });
  CHECK(mentions(complaint, "no log is left to fit: its times include the wait for other ranks"));
  CHECK(mentions(complaint, "Give the traces of all ranks"));  // nothing says that it is faulty
}

TEST_CASE("validate reads the values of a job's own records") {
  const files::TemporaryFolder folder;
  const std::string path =
      folder.file("flight.json", flight_recording({flight_entry("[[262144]]", "Float", "0.5")}))
          .string();
  const Figures figures = read_figures(path);
  REQUIRE(figures.rows.size() == 1);
  CHECK(figures.rows[0].name == "all_reduce 1048576 B");
  CHECK(figures.kind == "all-reduces of a job");
  CHECK(mentions(figures.warnings, "upper bound"));
}

TEST_CASE("debug lines alone are compared with the cluster: channels and transport") {
  const auto at = [](const char* text) {
    return load_cluster({.text = text, .nodes = 2, .gpus_per_node = {}});
  };
  const std::string text =
      "h:1:2 [0] NCCL INFO comm 0x1 rank 0 nRanks 16 nNodes 2 localRanks 8\n"
      "h:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0\n"
      "h:1:2 [0] NCCL INFO 2 coll channels, 0 collnet channels, 0 nvls channels, 2 p2p channels\n";
  const MeasuredLog log = only_log(text);
  REQUIRE(log.points.empty());
  const LogHealth found = health(log, at("dgxa100"), tuning_of(log, NcclVersion{2, 20, 5}));
  CHECK(mentions(found.faults, "used TCP (NET/Socket)"));
  CHECK(mentions(found.notes, "NCCL set up 2 channels,"));
}
