// Files with more than one table of nccl-tests: other collectives, invalid tables, rows and lists
// that are cut off.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "ddpsim/calibrate/logs/measured_log.hpp"
#include "log_texts.hpp"
#include "mentions.hpp"

using namespace ddpsim;

namespace {

/// A row with both places; busbw = factor x algbw.
std::string row(std::int64_t size, double us, double factor) {
  const double algbw = static_cast<double>(size) / us / 1e3;
  return fmt::format("{} {} float sum -1 {:.2f} {:.2f} {:.2f} 0 {:.2f} {:.2f} {:.2f} 0\n", size,
                     size / 4, us, algbw, algbw * factor, us, algbw, algbw * factor);
}

std::string devices(int ranks, int per_node) {
  std::string list = "# nThread 1 nGpus 1 minBytes 8 maxBytes 64\n";
  for (int rank = 0; rank < ranks; ++rank)
    list += fmt::format("#  Rank {} Group 0 Pid {} on node{} device {} [0x07] NVIDIA X\n", rank,
                        100 + rank, rank / per_node, rank % per_node);
  return list;
}

constexpr double kOf16 = 1.875;

}  // namespace

TEST_CASE("several programs in one file: only the table of all_reduce_perf is used") {
  const std::string text = "=== sendrecv_perf ===\n" + devices(16, 8) + row(1 << 20, 50, 1) +
                           "%%%all_reduce_perf%%%\n" + devices(16, 8) + row(1 << 20, 500, kOf16) +
                           "+ mpirun ./all_gather_perf -b 8\n" + devices(16, 8) +
                           row(1 << 20, 300, 0.9375);
  const MeasuredLog log = parse_log(text);
  REQUIRE(log.points.size() == 1);
  CHECK(log.points.front().time_us == 500);
  CHECK(log.nodes == 2);
  CHECK(mentions(log.recognised.at(1), "sendrecv_perf"));
}

TEST_CASE("several programs in one file: a line that lists them names none") {
  const MeasuredLog log = parse_log("tests = all_gather_perf all_reduce_perf sendrecv_perf\n" +
                                    devices(16, 8) + row(1 << 20, 500, kOf16));
  CHECK(log.ranks == 16);
  // Without a name, busbw = algbw on more than two ranks is not an all-reduce.
  CHECK(mentions(refusal_of_log(devices(16, 8) + row(1 << 20, 50, 1)), "sendrecv"));
}

TEST_CASE("an invalid table is left out next to a valid one, and refused alone") {
  const std::string unsound = devices(16, 8) + row(1 << 20, 500, kOf16) + row(2 << 20, 600, 1.5);
  CHECK_FALSE(refusal_of_log(unsound).empty());
  const auto logs = parse_measured_logs(unsound + devices(8, 8) + row(1 << 20, 100, 1.75), "log");
  REQUIRE(logs.size() == 1);
  CHECK(logs.front().ranks == 8);
  CHECK(mentions(fmt::format("{}", fmt::join(logs.front().warnings, "; ")), "is left out"));
}

TEST_CASE("a row that is cut off is left out, wherever it ends") {
  const std::string whole = devices(2, 2) + row(1 << 20, 100, 1);
  const std::string next = row(2 << 20, 200, 1);
  for (std::size_t length = 30; length + 3 < next.size(); ++length) {
    CAPTURE(next.substr(0, length));
    const MeasuredLog log = parse_log(whole + next.substr(0, length));
    // After "#wrong" of the first place, that place is complete.
    CHECK(log.points.back().time_us == (log.points.size() == 2 ? 200 : 100));
    CHECK_FALSE((log.points.size() == 2 && log.points.back().in_place_us));
  }
  CHECK(parse_log(whole + next).points.size() == 2);
}

TEST_CASE("a list of devices with only the last rank tells the ranks but not the nodes") {
  const MeasuredLog log =
      parse_log("#  Rank 71 Group 0 Pid 1 on nodea device 3 [0x01] NVIDIA X\n" +
                row(1 << 28, 1800, 2.0 * 71 / 72) + row(1 << 30, 3100, 2.0 * 71 / 72));
  CHECK(log.ranks == 72);
  CHECK_FALSE(log.nodes.has_value());
  CHECK(mentions(fmt::format("{}", fmt::join(log.warnings, "; ")), "LOG@NxG"));
}

TEST_CASE("times in milliseconds are detected by algbw, and thousands by their places") {
  const MeasuredLog old = parse_log(
      "1048576 262144 float sum 0.110 9.53 16.68 1e-06 0.111 9.44 16.52 1e-06\n"
      "4194304 1048576 float sum 0.180 23.30 40.78 1e-06 0.182 23.07 40.37 1e-06\n");
  CHECK(old.points.front().time_us == doctest::Approx(110));
  const MeasuredLog pasted = parse_log(
      "1,073,741,824 268,435,456 float sum -1 8,200.0 130.94 229.15 0 8,210.0 130.78 228.87 0\n");
  CHECK(pasted.points.front().time_us == 8200);
  // "8,200", from a locale in which it is 8.2, fits no algbw.
  CHECK_FALSE(
      refusal_of_log("1073741824 268435456 float sum -1 8,200 130944.1 229152.2 0\n").empty());
}

TEST_CASE("several runs of one shape: each has the settings printed for it") {
  const std::string ring = devices(8, 8) + row(1 << 20, 100, 1.75) + row(4 << 20, 200, 1.75) +
                           "# Avg bus bandwidth : 1\n";
  const std::string tree = devices(8, 8) + row(1 << 20, 150, 1.75) + row(4 << 20, 300, 1.75) +
                           "# Avg bus bandwidth : 1\n";
  using Settings = decltype(MeasuredLog::settings);
  const auto both = [&](const std::string& first, const std::string& second) {
    const auto logs = parse_measured_logs(first + ring + second + tree, "log");
    REQUIRE(logs.size() == 2);
    CHECK(logs[0].points.front().time_us == 100);
    CHECK(logs[1].points.front().time_us == 150);
    return std::pair(logs[0].settings, logs[1].settings);
  };
  const Settings is_ring = {{"NCCL_ALGO", "Ring"}};
  const Settings is_tree = {{"NCCL_ALGO", "Tree"}};
  const std::string command = "./all_reduce_perf -b 1M -g 8\n";
  CHECK(both("+ NCCL_ALGO=Ring " + command, "+ NCCL_ALGO=Tree " + command) ==
        std::pair(is_ring, is_tree));
  CHECK(both("+ export NCCL_ALGO=Ring\n", "+ export NCCL_ALGO=Tree\n") ==
        std::pair(is_ring, is_tree));
  const std::string nccl = "h:1:2 [0] NCCL INFO NCCL_ALGO set by environment to ";
  CHECK(both(nccl + "Ring\n", nccl + "Tree\n") == std::pair(is_ring, is_tree));
  CHECK(both("+ NCCL_ALGO=Ring " + command, "+ " + command) == std::pair(is_ring, Settings()));
  CHECK(both(command, "+ export NCCL_ALGO=Tree\n") == std::pair(Settings(), is_tree));
  CHECK(both("export NCCL_ALGO=Ring\n", "unset NCCL_ALGO\n") == std::pair(is_ring, Settings()));
  // An export stays in force. If the printed settings change no time, the tables are merged.
  const auto one = parse_measured_logs(
      "export NCCL_ALGO=Ring\n" + ring + "+ NCCL_DEBUG=INFO " + command + ring, "log");
  REQUIRE(one.size() == 1);
  CHECK(one.front().points.size() == 4);
  CHECK(one.front().settings == is_ring);
  CHECK(mentions(
      refusal_of_log("+ NCCL_ALGO=Ring " + command + ring + "+ NCCL_ALGO=Tree " + command + tree),
      "one under NCCL_ALGO=Ring, one under NCCL_ALGO=Tree"));
}

TEST_CASE("several runs of one shape: NCCL's choices belong to the run that printed them") {
  const auto chose = [](const char* algorithm) {
    return fmt::format(
        "h:1:1 [0] NCCL INFO AllReduce: 1048576 Bytes -> Algo {} proto SIMPLE "
        "channel{{Lo..Hi}}={{0..7}}\n",
        algorithm);
  };
  const auto logs = parse_measured_logs("export NCCL_ALGO=Ring\n" + devices(8, 8) + chose("RING") +
                                            row(1 << 20, 100, 1.75) + "# Avg bus bandwidth : 1\n" +
                                            "export NCCL_ALGO=Tree\n" + chose("TREE") +
                                            devices(8, 8) + row(1 << 20, 150, 1.75),
                                        "log");
  REQUIRE(logs.size() == 2);
  REQUIRE(logs[0].decisions.size() == 1);
  CHECK(logs[0].decisions.front().algorithm == Algorithm::ring);
  REQUIRE(logs[1].decisions.size() == 1);
  CHECK(logs[1].decisions.front().algorithm == Algorithm::tree);
}

TEST_CASE("several runs of one shape: times that differ much are reported") {
  const auto warned = [](double second_us) {
    const MeasuredLog log = parse_log(devices(8, 8) + row(1 << 20, 100, 1.75) + devices(8, 8) +
                                      row(1 << 20, second_us, 1.75));
    CHECK(log.points.size() == 2);
    return mentions(fmt::format("{}", fmt::join(log.warnings, "; ")), "their times differ by 30 %");
  };
  CHECK(warned(130));
  CHECK(warned(100 / 1.3));
  CHECK_FALSE(warned(109));
}
