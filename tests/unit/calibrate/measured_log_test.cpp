// Logs of all_reduce_perf: every open log against its extracted numbers, and small logs of our own
// for forms that occur elsewhere.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "ddpsim/calibrate/logs/health.hpp"
#include "ddpsim/calibrate/logs/measured_log.hpp"
#include "ddpsim/formats/input_error.hpp"

#include "complaint.hpp"
#include "data_files.hpp"
#include "ddpsim/formats/log_words.hpp"
#include "log_texts.hpp"
#include "mentions.hpp"

using namespace ddpsim;

namespace {

/// The extracted numbers have six digits.
bool agrees(double value, const std::string& printed) {
  const auto figure = figure_of(printed);
  return figure && (value == figure->value ||
                    (figure->value >= 1e6 && std::abs(value - figure->value) <= figure->half_unit));
}

constexpr const char* kColumns =
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time "
    "  "
    "algbw   busbw #wrong\n";
constexpr const char* kRow =
    "     1048576        262144     float     sum      -1    40.00   26.21   39.32      0    39.50 "
    "  "
    "26.55   39.82      0\n";
constexpr const char* kDevices =
    "#  Rank  0 Group  0 Pid    101 on  hostA device  0 [0000:07:00] NVIDIA X\n"
    "#  Rank  1 Group  0 Pid    102 on  hostA device  1 [0000:08:00] NVIDIA X\n"
    "#  Rank  2 Group  0 Pid    101 on  hostB device  0 [0000:07:00] NVIDIA X\n"
    "#  Rank  3 Group  0 Pid    102 on  hostB device  1 [0000:08:00] NVIDIA X\n";

std::string all(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) text += sentence + "\n";
  return text;
}

/// Reads the shape from names such as "abci-v100-n8g4" and "p3dn-nonet-n2g1-modified".
JobShape shape_of_name(const std::string& name) {
  std::size_t at = name.find("-n");
  while (name.find_first_of("0123456789", at) != at + 2) at = name.find("-n", at + 1);
  return {std::stoi(name.substr(at + 2)), std::stoi(name.substr(name.find('g', at) + 1))};
}

}  // namespace

TEST_CASE("measured log: every open log equals its extracted numbers") {
  const std::filesystem::path folder = files::shared_file("data/nccl-tests");
  if (!std::filesystem::exists(folder)) {
    MESSAGE("skipped: the measured logs are not here");
    return;
  }
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  CHECK(files.size() >= 44);
  std::size_t points = 0;
  for (const std::filesystem::path& path : files) {
    CAPTURE(path.filename().string());
    const MeasuredLog log = read_nccl_tests_log(path);
    std::string shown = log.recognised.front();
    for (const std::string& warning : log.warnings) shown += "\n    " + warning;
    MESSAGE(path.stem().string() << ": " << shown);
    std::ifstream csv(std::filesystem::path(path).replace_extension(".csv"));
    REQUIRE(csv.good());
    std::string line;
    std::getline(csv, line);
    std::size_t row = 0;
    for (; std::getline(csv, line); ++row) {
      std::vector<std::string> cells;
      std::istringstream in(line);
      for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
      REQUIRE(row < log.points.size());
      CHECK(log.points[row].size.count() == std::stoll(cells[0]));
      CHECK(agrees(log.points[row].time_us, cells[1]));
      if (cells.size() > 4 && !cells[4].empty()) {
        REQUIRE(log.points[row].in_place_us);
        CHECK(agrees(*log.points[row].in_place_us, cells[4]));
      }
    }
    CHECK(row == log.points.size());
    points += row;
    const JobShape named = shape_of_name(path.stem().string());
    CHECK(read_nccl_tests_log(path, named).shape() == named);
  }
  MESSAGE(files.size() << " logs, " << points << " points");
}

TEST_CASE("measured log: an impossibly long line is left out and reported") {
  const std::string long_line(std::size_t{2} << 20, 'x');
  const std::string text = std::string(kDevices) + kColumns + long_line + "\n" + kRow;
  const MeasuredLog log = parse_nccl_tests_log(text, "log.txt");
  CHECK(log.points.size() == 1);
  CHECK(mentions(log.warnings, "line 6: ignored, because it is longer than 1 MiB"));
}

TEST_CASE("measured log: prefixes and debug lines between its lines change nothing") {
  const std::filesystem::path folder = files::shared_file("data/nccl-tests");
  if (!std::filesystem::exists(folder)) {
    MESSAGE("skipped: the measured logs are not here");
    return;
  }
  std::size_t logs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".txt") continue;
    CAPTURE(entry.path().filename().string());
    std::ifstream in(entry.path());
    std::string noisy;
    int number = 0;
    for (std::string line; std::getline(in, line); ++number) {
      noisy += "[1," + std::to_string(number % 3) + "]<stdout>: " + line + "\r\n";
      if (number % 2 == 0) {
        noisy += "hostA:101:120 [" + std::to_string(number % 8) +
                 "] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC\n";
      }
    }
    const MeasuredLog plain = read_nccl_tests_log(entry.path());
    const MeasuredLog read = parse_log(noisy);
    CHECK(read.shape() == plain.shape());
    CHECK(read.ranks == plain.ranks);
    CHECK(read.gpu == plain.gpu);
    CHECK(read.nccl == plain.nccl);
    REQUIRE(read.points.size() == plain.points.size());
    for (std::size_t i = 0; i < read.points.size(); ++i) {
      CHECK(read.points[i].size == plain.points[i].size);
      CHECK(read.points[i].time_us == plain.points[i].time_us);
      CHECK(read.points[i].in_place_us == plain.points[i].in_place_us);
    }
    ++logs;
  }
  CHECK(logs >= 44);
}

TEST_CASE("measured log: nodes, GPUs and ranks by the list of devices") {
  const MeasuredLog log =
      parse_log(std::string("# nThread 1 nGpus 1 minBytes 8\n") + kDevices + kColumns + kRow);
  CHECK(log.shape() == JobShape{2, 2});
  CHECK(log.ranks == 4);
  CHECK(log.gpu == "NVIDIA X");
  REQUIRE(log.points.size() == 1);
  CHECK(log.points[0].size == Bytes(1048576));
  CHECK(log.points[0].time_us == 40);
  CHECK(log.points[0].in_place_us == 39.5);
  CHECK(log.points[0].place == "line 7");
  CHECK(log.warnings.empty());
  CHECK(log.recognised.front() ==
        "nccl-tests text: 1 size from 1 MiB to 1 MiB, out of place and in place, 2 nodes x 2 GPUs, "
        "NVIDIA X");
}

TEST_CASE("measured log: prefixes that launchers add to a line") {
  for (const std::string prefix :
       {"[0] ", "[1,0]<stdout>:", "[1,0]<stdout>: ", "node1: ", "0: ", "launcher-abc12 ",
        "2026-01-02T03:04:05.678Z ", "[2026-01-02 03:04:05] ", "\x1b[32m[0]\x1b[0m "}) {
    CAPTURE(prefix);
    std::string text;
    std::istringstream lines(std::string("# nThread 1 nGpus 1\n") + kDevices + kColumns + kRow);
    for (std::string line; std::getline(lines, line);) text += prefix + line + "\r\n";
    const MeasuredLog log = parse_log(text);
    CHECK(log.shape() == JobShape{2, 2});
    REQUIRE(log.points.size() == 1);
    CHECK(log.points[0].size == Bytes(1048576));
    CHECK(log.points[0].time_us == 40);
  }
  // A size so wide that no blank precedes it.
  const MeasuredLog wide =
      parse_log("[1,0]<stdout>:1048576 262144 float sum -1 40.00 26.21 39.32 0\n");
  CHECK(wide.points.front().size == Bytes(1048576));
}

TEST_CASE("measured log: tables of every version") {
  SUBCASE("no header: columns by their order") {
    CHECK(parse_log(kRow).points.front().in_place_us == 39.5);
    CHECK(parse_log("1048576 262144 float sum 40.00 26.21 39.32 2e-07 39.50 26.55 39.82 1e-07\n")
              .points.front()
              .in_place_us == 39.5);
  }
  SUBCASE("error in place of #wrong, no root, out of place alone") {
    const MeasuredLog log = parse_log(
        "#       size         count    type   redop     time   algbw   busbw  error     time   "
        "algbw   busbw  error\n"
        "     1048576        262144   float     sum    40.00   26.21   39.32    N/A\n");
    CHECK(log.points.front().time_us == 40);
    CHECK_FALSE(log.points.front().in_place_us);
    CHECK(log.ranks == 4);
  }
  SUBCASE("-I and time stamps") {
    const MeasuredLog log = parse_log(
        "# size count type redop root time algbw busbw #wrong i_min i_max i_p99 i_cv% time algbw "
        "busbw #wrong i_min i_max i_p99 i_cv% timestamp\n"
        "1048576 262144 float sum -1 40.00 26.21 39.32 0 38.1 44.0 43.9 2.51 39.50 26.55 39.82 0 "
        "38.0 41.1 41.0 1.2 2026-01-02 03:04:05\n");
    CHECK(log.points.front().time_us == 40);
    CHECK(log.points.front().in_place_us == 39.5);
  }
  SUBCASE("times too wide for the column") {
    const MeasuredLog log =
        parse_log("17179869184 4294967296 float sum -1 1.2e+07 1.43 2.15 0 1.2e+07 1.43 2.15 0\n");
    CHECK(log.points.front().time_us == 1.2e7);
    CHECK(log.ranks == 4);
  }
  SUBCASE("size 0 is no measurement") {
    const MeasuredLog log =
        parse_log(std::string("0 0 float sum -1 3.91 0.00 0.00 0 0.02 0.00 0.00 0\n") + kRow);
    CHECK(log.points.size() == 1);
  }
  SUBCASE("other types and operations of one run") {
    const MeasuredLog log =
        parse_log(std::string("1048576 524288 half sum -1 41.00 25.58 38.36 0\n") + kRow +
                  "1048576 262144 float max -1 42.00 24.97 37.45 0\n");
    REQUIRE(log.points.size() == 1);
    CHECK(log.points.front().time_us == 40);
    CHECK(mentions(all(log.recognised), "left out: 2 rows of other types and operations"));
  }
  SUBCASE("rccl-tests") {
    const MeasuredLog log = parse_log(
        std::string("# rccl-tests version 2.12.10\nRCCL version : 2.22.3-HEAD:9e3c2a0\n") +
        "#   Rank  0 Pid  11 on  hostA device  0 [0000:c1:00.0] AMD Instinct MI300X\n"
        "#   Rank  1 Pid  11 on  hostA device  1 [0000:c2:00.0] AMD Instinct MI300X\n" +
        kColumns + "1048576 262144 float sum -1 40.00 26.21 26.21 0 39.50 26.55 26.55 0\n");
    CHECK(log.nccl == NcclVersion{2, 22, 3});
    CHECK(log.gpu == "AMD Instinct MI300X");
    CHECK(mentions(log.recognised.front(), "RCCL 2.22.3"));
  }
  SUBCASE("nccl-tests 2.17 says which library it runs") {
    const MeasuredLog log = parse_log(
        std::string("# nccl-tests version 2.17.6 nccl-headers=22602 nccl-library=22602\n") + kRow);
    CHECK(log.nccl == NcclVersion{2, 26, 2});
  }
}

TEST_CASE("measured log: ranks follow from busbw / algbw if no device is listed") {
  const std::string rows =
      "1048576 262144 float sum 40.00 26.21 49.15 0\n"
      "67108864 16777216 float sum 2000.0 33.55 62.91 0\n";
  const MeasuredLog log = parse_log(rows);
  CHECK(log.ranks == 16);
  CHECK_FALSE(log.nodes);
  CHECK(mentions(all(log.warnings), "LOG@NxG"));
  CHECK(parse_log(rows, JobShape{2, 8}).shape() == JobShape{2, 8});
  CHECK(parse_log(rows, JobShape{2, 8}).warnings.empty());
  // One process cannot leave its node.
  CHECK(parse_log("# nThread 2 nGpus 8 minBytes 8\n" + rows).shape() == JobShape{1, 16});
  // NCCL states it.
  CHECK(parse_log(
            "h:1:2 [0] NCCL INFO comm 0x5 rank 0 nRanks 16 nNodes 4 localRanks 4 localRank 0\n" +
            rows)
            .shape() == JobShape{4, 4});
  // A list that is cut off, as a process with many GPUs does.
  const MeasuredLog cut = parse_log("#  Rank  0 Pid 1 on hostA device 0 [0x07] X\n...\n" + rows);
  CHECK(cut.ranks == 16);
  CHECK_FALSE(cut.nodes);
  CHECK(mentions(all(cut.warnings), "cut off"));
}

TEST_CASE("measured log: a stated job shape agrees with a shorter list, not with another one") {
  const std::string run = std::string("# nThread 1 nGpus 1 minBytes 8\n");
  // Containers whose hosts share a name, each seeing its GPUs from 0.
  std::string shared;
  for (const int rank : {0, 1, 2, 3})
    shared += "#  Rank  " + std::to_string(rank) + " Group  0 Pid 1 on node device  " +
              std::to_string(rank % 2) + " [0x07] NVIDIA X\n";
  CHECK(parse_log(run + shared + kColumns + kRow, JobShape{2, 2}).shape() == JobShape{2, 2});
  CHECK_THROWS_AS(parse_log(run + shared + kColumns + kRow, JobShape{4, 1}), InputError);
  // Device numbers that no host has cannot separate hosts.
  const auto numbered = [&](const char* one, const char* other) {
    std::string list;
    for (const int rank : {0, 1})
      list += "#  Rank  " + std::to_string(rank) + " Group  0 Pid 1 on node device  " +
              (rank == 0 ? one : other) + " [0x07] NVIDIA X\n";
    return run + list + kColumns +
           "1048576 262144 float sum -1 30.00 34.95 34.95 0 30.00 34.95 34.95 0\n";
  };
  CHECK(parse_log(numbered("4096", "4097"), JobShape{2, 1}).shape() == JobShape{2, 1});
  CHECK_THROWS_AS(parse_log(numbered("4094", "4095"), JobShape{2, 1}), InputError);
  // A line that ends after the device names no GPU.
  const std::string named = numbered("0", "1");
  std::string cut = named;
  for (std::size_t at = 0; (at = cut.find(" [0x07] NVIDIA X")) != std::string::npos;)
    cut.erase(at, 16);
  CHECK(parse_log(named).gpu == "NVIDIA X");
  CHECK(parse_log(cut).gpu.empty());
  // The list decides between two tables with equal numbers of ranks.
  std::string one_node;
  for (const int rank : {0, 1, 2, 3})
    one_node += "#  Rank  " + std::to_string(rank) + " Group  0 Pid 1 on node device  " +
                std::to_string(rank) + " [0x07] NVIDIA X\n";
  const std::string both = run + one_node + kColumns + kRow + run + kDevices + kColumns + kRow;
  CHECK(parse_log(both, JobShape{2, 2}).points.size() == 1);
}

TEST_CASE("measured log: several tables in one file") {
  const std::string row = kRow;
  const std::string run = std::string("# nThread 1 nGpus 1 minBytes 8\n") + kDevices + kColumns;
  const MeasuredLog same = parse_log(run + row + run + row);
  CHECK(same.points.size() == 2);
  CHECK(mentions(same.recognised.front(), "in 2 tables"));
  const std::string two_ranks =
      "# nThread 1 nGpus 2 minBytes 8\n1048576 262144 float sum -1 30.00 34.95 34.95 0\n";
  const std::vector<MeasuredLog> both = parse_measured_logs(run + row + two_ranks, "log.txt");
  REQUIRE(both.size() == 2);
  CHECK(both[0].shape() == JobShape{2, 2});
  CHECK(both[1].shape() == JobShape{1, 2});
  // A stated shape selects its table.
  CHECK(parse_log(run + row + two_ranks, JobShape{1, 2}).points.front().time_us == 30);
  CHECK(parse_log("nodes,gpus_per_node,size_bytes,time_us\n2,8,8,163\n4,8,8,201\n", JobShape{4, 8})
            .points.front()
            .time_us == 201);
  // Another collective in the same file.
  const MeasuredLog beside = parse_log(
      "# Collective test starting: all_gather_perf\n# nThread 1 nGpus 1\n"
      "1048576 262144 float none -1 40.00 26.21 19.66 0\n"
      "# Collective test starting: all_reduce_perf\n" +
      run + row);
  CHECK(beside.points.size() == 1);
  CHECK(mentions(all(beside.recognised), "all_gather_perf"));
}

TEST_CASE("measured log: rows interrupted by other output are left out and reported") {
  const MeasuredLog log =
      parse_log(std::string(kRow) +
                "     2097152        524288     float     sum      -1hostA:1:2 [0] "
                "NCCL INFO x\n"
                "     4194304       1048576     float     sum      -1    90.00\n");
  CHECK(log.points.size() == 1);
  CHECK(
      mentions(all(log.warnings), "line 2: a row of the table is left out, because it is cut off"));
  CHECK(
      mentions(all(log.warnings), "line 3: a row of the table is left out, because it is cut off"));
}

TEST_CASE("measured log: NCCL's debug lines are read") {
  const std::string debug =
      "hostA:101:120 [0] NCCL INFO NCCL_ALGO set by environment to RING.\n"
      "hostA:101:120 [0] NCCL INFO Using network AWS Libfabric\n"
      "NCCL version 2.23.4+cuda12.6\n"
      "hostA:101:120 [0] NCCL INFO comm 0x5 rank 0 nRanks 4 nNodes 2 localRanks 2 localRank 0\n"
      "hostA:101:120 [0] NCCL INFO Channel 00/0 : 1[1] -> 2[0] [send] via NET/Libfabric/0/GDRDMA\n"
      "hostA:101:120 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n"
      "hostA:101:120 [0] NCCL INFO 8 coll channels, 8 collnet channels, 0 nvls channels\n"
      "hostA:101:101 [0] NCCL INFO AllGather: 64 Bytes -> Algo RING proto LL "
      "channel{Lo..Hi}={0..0}\n"
      "hostA:101:101 [0] NCCL INFO AllReduce: 1048576 Bytes -> Algo RING proto SIMPLE "
      "channel{Lo..Hi}={0..7}\n"
      "hostA:101:101 [0] NCCL INFO AllReduce: 1048576 Bytes -> Algo RING proto SIMPLE "
      "channel{Lo..Hi}={0..7}\n"
      "hostA:101:101 [0] NCCL INFO AllReduce: 8 Bytes -> Algo 0 proto 1 time 12.5\n";
  const MeasuredLog log = parse_log(debug + kRow);
  CHECK(log.nccl == NcclVersion{2, 23, 4});
  CHECK(log.transport == "NET/OFI");
  CHECK(log.shape() == JobShape{2, 2});
  CHECK(log.channels == 8);
  CHECK(log.settings == decltype(log.settings){{"NCCL_ALGO", "RING"}});
  REQUIRE(log.decisions.size() == 2);
  CHECK(log.decisions[0].size == Bytes(8));
  CHECK(log.decisions[0].algorithm == Algorithm::tree);
  CHECK(log.decisions[0].protocol == Protocol::ll128);
  CHECK(log.decisions[1].algorithm == Algorithm::ring);
  CHECK(log.decisions[1].channels == 8);
  CHECK(mentions(all(log.recognised), "GPUDirect RDMA"));

  const MeasuredLog staged = parse_log(debug.substr(0, debug.find("/GDRDMA")) + "\n" + kRow);
  CHECK(staged.transport == "NET/OFI");
  CHECK_FALSE(mentions(all(staged.recognised), "GPUDirect"));

  const std::vector<MeasuredLog> alone = parse_measured_logs(debug, "debug.txt");
  REQUIRE(alone.size() == 1);
  CHECK(alone.front().points.empty());
  CHECK(alone.front().shape() == JobShape{2, 2});
  CHECK(mentions(all(alone.front().warnings), "no table"));
}

TEST_CASE("measured log: JSON of nccl-tests -J") {
  const std::string text = R"({"version":2,"start_time":"2026-01-02 03:04:05",
    "args":["build\/all_reduce_perf","-b","8"],"env":["PATH=x","NCCL_ALGO=RING"],
    "nccl_version":22705,
    "config":{"nthreads":1,"ngpus":2,"step_factor":2,
      "devices":[{"rank":0,"group":0,"pid":1,"hostname":"hostA","device":0,"device_hex":"0000:07:00",
                  "device_info":"NVIDIA X"},
                 {"rank":2,"group":0,"pid":1,"hostname":"hostB","device":0,"device_hex":"0000:07:00",
                  "device_info":"NVIDIA X"}]},
    "results":[
      {"size":1048576,"count":262144,"type":"float","redop":"sum","root":"    -1",
       "out_of_place":{"time":40.0,"alg_bw":26.2144,"bus_bw":39.3216,"nwrong":0.0},
       "in_place":{"time":39.5,"alg_bw":26.546228,"bus_bw":39.819342,"nwrong":null},
       "actual_iterations":20,"experiment_name":"AllReduce"}],
    "out_of_bounds":{"count":0,"okay":"true"},
    "average_bus_bandwidth":{"bandwidth":39.57,"okay":"unchecked"},"errors":[],
    "end_time":"2026-01-02 03:04:06"})";
  const MeasuredLog log = parse_log(text);
  CHECK(log.shape() == JobShape{2, 2});
  CHECK(log.nccl == NcclVersion{2, 27, 5});
  CHECK(log.gpu == "NVIDIA X");
  CHECK(log.settings == decltype(log.settings){{"NCCL_ALGO", "RING"}});
  REQUIRE(log.points.size() == 1);
  CHECK(log.points[0].time_us == 40);
  CHECK(log.points[0].in_place_us == 39.5);
  CHECK(log.points[0].place == "/results/0");
  CHECK(mentions(log.recognised.front(), "nccl-tests JSON"));
}

TEST_CASE("measured log: a measurement of ddpsim-real") {
  const auto document = [](const std::string& backend, const std::string& table) {
    return R"({"schema":"ddpsim.measurement/1","ranks":4,"setup":{"hosts":"a a b b","backend":")" +
           backend + R"("},"configurations":[{"name":"default","bucket_cap_mb":null,
      "iteration_us":{"median":1000},"buckets":[{"bytes":4096,"start_us":{"median":10},
      "last_arrival_us":{"median":20},"end_us":{"median":60}}]}],"all_reduces":[)" +
           table + "]}";
  };
  const std::string row = R"({"size_bytes":1048576,"time_us":{"median":40.5}})";
  const MeasuredLog log = parse_log(document("nccl", row));
  CHECK(log.shape() == JobShape{2, 2});
  REQUIRE(log.points.size() == 1);
  CHECK(log.points[0].time_us == 40.5);
  CHECK(log.warnings.empty());
  CHECK(mentions(all(parse_log(document("gloo", row)).warnings), "nothing about NCCL"));
  CHECK(parse_log(document("gloo", row)).backend == "gloo");
  // A backend of torch is a program. What carried the bytes is stated separately.
  const auto torch = [&](const std::string& communication) {
    return parse_log(
        document(R"(torch","device":"NVIDIA A100, sm_80","communication":")" + communication, row));
  };
  CHECK(torch("NCCL 2.27.3").backend.empty());
  CHECK(torch("NCCL 2.27.3").gpu == "NVIDIA A100");
  CHECK(torch("ProcessGroupGloo of PyTorch 2.8").backend == "ProcessGroupGloo of PyTorch 2.8");
  // The transfer of a bucket begins when the last rank is ready.
  const MeasuredLog buckets = parse_log(document("nccl", ""));
  REQUIRE(buckets.points.size() == 1);
  CHECK(buckets.points[0].time_us == 40);
  CHECK(mentions(all(buckets.warnings), "during compute"));
}

TEST_CASE("measured log: CSV") {
  const MeasuredLog timed = parse_log("size_bytes,time_us\n1024,10.5\n2048,11\n", JobShape{1, 8});
  CHECK(timed.points.size() == 2);
  CHECK(timed.shape() == JobShape{1, 8});
  const MeasuredLog curve =
      parse_log("size_bytes,algbw_gbps,busbw_gbps\n64,0.01,0.02\n1048576,26.21,39.32\n");
  CHECK(curve.points.size() == 1);
  CHECK(curve.ranks == 4);
  CHECK(curve.points.front().time_us == doctest::Approx(40).epsilon(1e-3));
  CHECK(mentions(all(curve.warnings), "1 sizes are left out"));
  const std::vector<MeasuredLog> shapes = parse_measured_logs(
      "nodes,gpus_per_node,size_bytes,time_us\n2,8,8,163\n2,8,16,163\n4,8,8,201\n", "x.csv");
  REQUIRE(shapes.size() == 2);
  CHECK(shapes[1].shape() == JobShape{4, 8});
}

TEST_CASE("measured log: a job shape stated with the file") {
  CHECK(parse_log_argument("a/b.txt").path == "a/b.txt");
  CHECK_FALSE(parse_log_argument("a/b.txt").stated);
  CHECK(parse_log_argument("user@host.txt@2x8").path == "user@host.txt");
  CHECK(parse_log_argument("user@host.txt@2x8").stated == JobShape{2, 8});
  CHECK_THROWS_AS(parse_log_argument("log.txt@2"), InputError);
  CHECK_THROWS_AS(parse_log_argument("log.txt@0x8"), InputError);
  CHECK_THROWS_AS(parse_log_argument("log.txt@2x8x1"), InputError);
  CHECK_THROWS_AS(parse_log_argument("log.txt@2x8,1x8"), InputError);
}

TEST_CASE("measured log: NCCL's settings stated with the file") {
  const LogArgument both = parse_log_argument("log.txt@2x8,NCCL_ALGO=Ring,NCCL_VERSION=2.10.3");
  CHECK(both.stated == JobShape{2, 8});
  MeasuredLog log{.source = "log.txt"};
  state_settings(both, log);
  CHECK(log.nccl == NcclVersion{2, 10, 3});
  CHECK(tuning_of(log, {}).algorithms == Algorithm::ring);
  state_settings(both, log);  // as printed: no contradiction
  CHECK(log.settings.size() == 1);
  const LogArgument alone = parse_log_argument("log.txt@NCCL_ALGO=Tree");
  CHECK(alone.path == "log.txt");
  CHECK_FALSE(alone.stated);
  CHECK(mentions(complaint_of([&] { state_settings(alone, log); }),
                 "prints NCCL_ALGO Ring, but Tree is stated"));
  const LogArgument newer = parse_log_argument("log.txt@NCCL_VERSION=2.21.5");
  CHECK(mentions(complaint_of([&] { state_settings(newer, log); }),
                 "prints NCCL 2.10.3, but 2.21.5 is stated"));
  CHECK(mentions(complaint_of([] { parse_log_argument("log.txt@NCCL_ALG=Ring"); }),
                 "Did you mean \"NCCL_ALGO\"?"));
  CHECK(mentions(complaint_of([] { parse_log_argument("log.txt@NCCL_VERSION=new"); }),
                 "is not a valid setting"));
  CHECK(mentions(complaint_of([] { parse_log_argument("log.txt@NCCL_ALGO="); }),
                 "is not a valid setting"));
  CHECK(mentions(complaint_of([] { parse_log_argument("log.txt@1x8,NCCL_ALGO"); }),
                 "is not a valid setting"));
  CHECK(mentions(complaint_of([] { parse_log_argument("log.txt@NCCL_ALGO=Foo"); }),
                 "is not a valid setting"));
  CHECK(mentions(complaint_of([] { parse_log_argument("log.txt@NCCL_MAX_NCHANNELS=0"); }),
                 "is not a valid setting"));
  for (const char* senseless : {"NCCL_BUFFSIZE=banana", "NCCL_NVLS_ENABLE=maybe"}) {
    const std::string text = std::string("log.txt@") + senseless;
    CHECK(mentions(complaint_of([&] { parse_log_argument(text); }), "is not a valid setting"));
  }
  state_settings(parse_log_argument("log.txt@NCCL_ALGO=RING"), log);  // NCCL accepts either case
}
