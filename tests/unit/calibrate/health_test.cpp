// Which logs describe the machine that they are said to be from: all open logs, and small ones of
// our own.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "data_files.hpp"
#include "ddpsim/calibrate/logs/health.hpp"
#include "mentions.hpp"
#include "open_logs.hpp"

using namespace ddpsim;

namespace {

/// A table with the cost model's times, all multiplied by a factor.
MeasuredLog as_modelled(const Cluster& cluster, const CollectiveTuning& tuning, double factor) {
  MeasuredLog log;
  log.ranks = cluster.ranks();
  for (std::int64_t size = 1024; size <= (256 << 20); size *= 4) {
    const auto choice = select_algorithm(CollectiveKind::all_reduce, Bytes(size), cluster, tuning);
    const double us =
        cost(CollectiveKind::all_reduce, choice, Bytes(size), cluster).microseconds() * factor;
    log.points.push_back({.size = Bytes(size), .time_us = us, .in_place_us = {}, .place = ""});
  }
  return log;
}

}  // namespace

TEST_CASE("health: all open logs, given their clusters") {
  const std::filesystem::path folder = files::shared_file("data/nccl-tests");
  if (!std::filesystem::exists(folder)) {
    MESSAGE("skipped: the measured logs are not here");
    return;
  }
  const std::set<std::string> at_fault = {"rtx4090-n1g8-slow", "v100-roce-n2g1-slow",
                                          "alps-gh200-n2g4-tcp"};
  const std::set<std::string> suspect = {"abci-a100-n8g8", "p3dn-nonet-n2g1-modified"};
  std::vector<open_logs::Log> logs = open_logs::stated();
  for (open_logs::Log& log : open_logs::others()) logs.push_back(std::move(log));
  std::size_t tables = 0;
  std::size_t caught = 0;
  std::size_t false_alarms = 0;
  std::string shown;
  for (const open_logs::Log& log : logs) {
    std::filesystem::path path = folder / (log.slug + ".txt");
    if (std::filesystem::exists(path)) {
      ++tables;
    } else {
      path.replace_extension(".csv");
    }
    const JobShape shape{log.cluster.nodes, log.cluster.gpus_per_node};
    const LogHealth found = health(read_nccl_tests_log(path, shape), log.cluster, log.tuning());
    shown +=
        fmt::format("{:32} {}{}\n", log.slug,
                    found.slowdown ? fmt::format("{:5.2f} x the cost model", *found.slowdown) : "-",
                    found.healthy() ? "" : "   FLAGGED");
    for (const std::string& fault : found.faults) shown += "      " + fault + "\n";
    for (const std::string& note : found.notes) shown += "      (" + note + ")\n";
    if (found.healthy()) continue;
    if (at_fault.count(log.slug) > 0) {
      ++caught;
    } else if (suspect.count(log.slug) == 0) {
      ++false_alarms;
    }
  }
  MESSAGE(tables << " logs\n" << shown);
  CHECK(tables >= 44);
  CHECK(caught == at_fault.size());
  CHECK(false_alarms <= 1);
}

TEST_CASE("health: a fault that explains the times is named") {
  const CollectiveTuning tuning;
  const auto fault = [&](const Cluster& cluster, const MeasuredLog& log) {
    const LogHealth found = health(log, cluster, tuning);
    return found.faults.empty() ? std::string("healthy") : found.faults.front();
  };
  const Cluster ib = parse_cluster_line("node:2 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib");
  CHECK(fault(ib, as_modelled(ib, tuning, 1)) == "healthy");
  CHECK(fault(ib, as_modelled(ib, tuning, 1.9)) == "healthy");
  CHECK(mentions(fault(ib, as_modelled(ib, tuning, 2.1)), "large sizes take 2.1 times"));
  SUBCASE("one NVLink node is known better") {
    const Cluster node = parse_cluster_line("node:1 gpu:8xA100 nvswitch:300GBps");
    CHECK(fault(node, as_modelled(node, tuning, 1.4)) == "healthy");
    CHECK(mentions(fault(node, as_modelled(node, tuning, 1.6)), "large sizes take 1.6 times"));
  }
  SUBCASE("sizes counted in elements") {
    MeasuredLog log = as_modelled(ib, tuning, 1);
    for (MeasuredPoint& point : log.points) point.size = Bytes(point.size.count() / 4);
    CHECK(mentions(fault(ib, log), "elements of 4 bytes"));
  }
  SUBCASE("sockets in place of InfiniBand") {
    const Cluster tcp = parse_cluster_line("node:2 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:tcp");
    CHECK(mentions(fault(ib, as_modelled(tcp, tuning, 1)), "TCP sockets"));
  }
  SUBCASE("sockets in place of GPUDirect-TCPX") {
    const std::string line = "node:2 gpu:8xH100 nvswitch:450GBps nic:8x200Gbps:";
    const Cluster tcpx = parse_cluster_line(line + "tcpx");
    MeasuredLog log = as_modelled(parse_cluster_line(line + "tcp"), tuning, 1);
    CHECK(
        mentions(fault(tcpx, log), "The GPUDirect-TCPX plugin or driver was probably not loaded"));
    log.transport = "NET/Socket";
    CHECK(mentions(fault(tcpx, log), "NCCL used TCP"));
  }
  SUBCASE("one NIC of eight") {
    const Cluster one = parse_cluster_line("node:2 gpu:8xA100 nvswitch:300GBps nic:1x200Gbps:ib");
    CHECK(mentions(fault(ib, as_modelled(one, tuning, 1)), "one of the 8 NICs"));
  }
  SUBCASE("PCIe in place of NVLink") {
    const Cluster nvlink = parse_cluster_line("node:1 gpu:8xA100 nvswitch:300GBps");
    const Cluster pcie = parse_cluster_line("node:1 gpu:8xA100 pcie:31.5GBps");
    CHECK(mentions(fault(nvlink, as_modelled(pcie, tuning, 1)), "NVLink is not in use"));
    // An H100's slot is twice as fast.
    const Cluster h100 = parse_cluster_line("node:1 gpu:8xH100 nvswitch:450GBps");
    const Cluster gen5 = parse_cluster_line("node:1 gpu:8xH100 pcie:63GBps");
    CHECK(mentions(fault(h100, as_modelled(gen5, tuning, 1)), "NVLink is not in use"));
  }
  SUBCASE("host memory in place of peer to peer") {
    const std::string line = "node:1 gpu:8xRTX4090 pcie:31.5GBps";
    const Cluster peers = parse_cluster_line(line + ":p2p");
    const Cluster host = parse_cluster_line(line);
    CHECK(mentions(fault(peers, as_modelled(host, tuning, 1)), "peers do not reach each other"));
  }
  SUBCASE("times in another unit") {
    CHECK(mentions(fault(ib, as_modelled(ib, tuning, 1000)),
                   "1000 times what the cluster should take"));
    CHECK(mentions(fault(ib, as_modelled(ib, tuning, 1000)), "these look like nanoseconds"));
    CHECK(mentions(fault(ib, as_modelled(ib, tuning, 0.001)), "these look like milliseconds"));
  }
  SUBCASE("faster than the links") {
    const Cluster slow = parse_cluster_line("node:2 gpu:1xA100 nic:1x100Gbps:ib");
    CHECK(mentions(fault(slow, as_modelled(slow, tuning, 0.5)), "faster than the cluster's links"));
  }
  SUBCASE("another number of ranks") {
    const Cluster four = parse_cluster_line("node:4 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib");
    CHECK(mentions(fault(four, as_modelled(ib, tuning, 1)), "16 ranks, but the cluster has 32"));
  }
  SUBCASE("NCCL itself says that it went over sockets") {
    MeasuredLog log = as_modelled(ib, tuning, 1);
    log.transport = "NET/Socket";
    CHECK(mentions(fault(ib, log), "NET/Socket"));
  }
  SUBCASE("the log names another GPU, or that InfiniBand was off") {
    MeasuredLog log = as_modelled(ib, tuning, 1);
    log.gpu = "NVIDIA A100-SXM4-80GB";
    CHECK(fault(ib, log) == "healthy");
    log.gpu = "NVIDIA H100 80GB HBM3";
    CHECK(mentions(fault(ib, log), "the cluster has A100"));
    log.gpu = "Somebody's GPU";
    log.settings = {{"NCCL_IB_DISABLE", "0"}};
    CHECK(fault(ib, log) == "healthy");
    log.settings = {{"NCCL_IB_DISABLE", "1"}};
    CHECK(mentions(fault(ib, log), "NCCL_IB_DISABLE=1"));
  }
}

TEST_CASE("health: small sizes alone are no fault, and the note says what to measure") {
  const Cluster cluster = parse_cluster_line("node:1 gpu:8xA100 nvswitch:300GBps");
  MeasuredLog log = as_modelled(cluster, {}, 4);
  log.points.resize(3);
  const LogHealth found = health(log, cluster, {});
  CHECK(found.healthy());
  CHECK_FALSE(found.slowdown);
  REQUIRE(found.notes.size() == 1);
  CHECK(mentions(found.notes.front(), "all_reduce_perf -b 1M"));
}

TEST_CASE("health: NCCL's own choice is compared with ours") {
  const Cluster cluster = parse_cluster_line("node:1 gpu:8xA100 nvswitch:300GBps");
  const CollectiveTuning tuning;
  MeasuredLog log = as_modelled(cluster, tuning, 1);
  const auto ours = select_algorithm(CollectiveKind::all_reduce, Bytes(1024), cluster, tuning);
  log.decisions.push_back({Bytes(1024), ours.algorithm, ours.protocol, ours.channels});
  CHECK(mentions(health(log, cluster, tuning).notes.front(), "as expected at all 1 logged sizes"));
  log.decisions.push_back({Bytes(2048), Algorithm::collnet_chain, Protocol::simple, {}});
  const std::string note = health(log, cluster, tuning).notes.front();
  CHECK(mentions(note, "differently than expected at 1 of 2 logged sizes"));
  CHECK(mentions(note, "collnetchain Simple"));
}

TEST_CASE("health: NCCL's settings in a log") {
  MeasuredLog log;
  log.settings = {{"NCCL_ALGO", "Ring,NVLS_TREE"}, {"NCCL_PROTO", "^LL128"},
                  {"NCCL_MAX_NCHANNELS", "8"},     {"NCCL_NVLS_ENABLE", "0"},
                  {"NCCL_BUFFSIZE", "8388608"},    {"NCCL_MIN_NCHANNELS", "many"}};
  const CollectiveTuning tuning = tuning_of(log, {2, 20, 5});
  CHECK(tuning.nccl == NcclVersion{2, 20, 5});
  REQUIRE(tuning.algorithms);
  CHECK(tuning.algorithms->has(Algorithm::ring));
  CHECK(tuning.algorithms->has(Algorithm::nvls_tree));
  CHECK_FALSE(tuning.algorithms->has(Algorithm::tree));
  REQUIRE(tuning.protocols);
  CHECK(tuning.protocols->has(Protocol::ll));
  CHECK_FALSE(tuning.protocols->has(Protocol::ll128));
  CHECK(tuning.max_channels == 8);
  CHECK_FALSE(tuning.min_channels);
  CHECK_FALSE(tuning.nvls);
  CHECK(tuning.buffer == Bytes(8 << 20));
}

TEST_CASE("health: every message, by the real machine and the stated one") {
  struct Row {
    const char* stated;
    const char* is;
    double factor;
    const char* transport;
    const char* said;
  };
  const Row rows[] = {
      {"node:2 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib",
       "node:2 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib", 1, "", "1"},
      {"node:2 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib",
       "node:2 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib", 2.1, "",
       "2.1 | large sizes take 2.1 times what the cluster should (busbw 84.54 GB/s at best). A "
       "link is slower than stated, or another job was running"},
      {"node:2 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib",
       "node:2 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib", 1000, "",
       "1000 | the times are 1000 times what the cluster should take. Microseconds are expected, "
       "but these look like nanoseconds"},
      {"node:2 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib",
       "node:2 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib", 0.001, "",
       "0.001 | the times are 1/1000 of what the cluster should take. Microseconds are expected, "
       "but these look like milliseconds"},
      {"node:2 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib",
       "node:2 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib", 0.5, "", "0.5"},
      {"node:1 gpu:8xA100 nvswitch:300GBps", "node:1 gpu:8xA100 nvswitch:300GBps", 1.6, "",
       "1.6 | large sizes take 1.6 times what the cluster should (busbw 135.84 GB/s at best). A "
       "link is slower than stated, or another job was running"},
      {"node:2 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib",
       "node:2 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:tcp", 1, "",
       "5.632 | large sizes take 5.6 times what the cluster should (busbw 33.21 GB/s at best). "
       "TCP sockets would take no longer. The InfiniBand plugin or driver was probably not "
       "loaded, or the link is slower than stated. Look for \"NET/Socket\" with NCCL_DEBUG=INFO. "
       "Or are its sizes in elements of 4 bytes instead of bytes?"},
      {"node:2 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib",
       "node:2 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:tcp", 1, "NET/Socket",
       "5.632 | NCCL used TCP (NET/Socket), although the cluster has InfiniBand; its plugin or "
       "driver was not loaded | large sizes take 5.6 times what the cluster should (busbw 33.21 "
       "GB/s at best). TCP sockets would take no longer. The InfiniBand plugin or driver was "
       "probably not loaded, or the link is slower than stated. Look for \"NET/Socket\" with "
       "NCCL_DEBUG=INFO. Or are its sizes in elements of 4 bytes instead of bytes?"},
      {"node:2 gpu:8xH100 nvswitch:450GBps nic:8x200Gbps:tcpx",
       "node:2 gpu:8xH100 nvswitch:450GBps nic:8x200Gbps:tcp", 1, "",
       "3.444 | large sizes take 3.4 times what the cluster should (busbw 63.71 GB/s at best). "
       "TCP sockets would take no longer. The GPUDirect-TCPX plugin or driver was probably not "
       "loaded, or the link is slower than stated. Look for \"NET/Socket\" with NCCL_DEBUG=INFO. "
       "Or are its sizes in elements of 4 bytes instead of bytes?"},
      {"node:2 gpu:8xH100 nvswitch:450GBps nic:8x200Gbps:tcpx",
       "node:2 gpu:8xH100 nvswitch:450GBps nic:8x200Gbps:tcp", 1, "NET/Socket",
       "3.444 | NCCL used TCP (NET/Socket), although the cluster has GPUDirect-TCPX; its plugin "
       "or driver was not loaded | large sizes take 3.4 times what the cluster should (busbw "
       "63.71 GB/s at best). TCP sockets would take no longer. The GPUDirect-TCPX plugin or "
       "driver was probably not loaded, or the link is slower than stated. Look for "
       "\"NET/Socket\" with NCCL_DEBUG=INFO. Or are its sizes in elements of 4 bytes instead of "
       "bytes?"},
      {"node:2 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:efa",
       "node:2 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:tcp", 1, "NET/Socket",
       "4.916 | NCCL used TCP (NET/Socket), although the cluster has EFA; its plugin or driver "
       "was not loaded | large sizes take 4.9 times what the cluster should (busbw 33.21 GB/s at "
       "best). TCP sockets would take no longer. The EFA plugin or driver was probably not "
       "loaded, or the link is slower than stated. Look for \"NET/Socket\" with NCCL_DEBUG=INFO. "
       "Or are its sizes in elements of 4 bytes instead of bytes?"},
      {"node:2 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib",
       "node:2 gpu:8xA100 nvswitch:300GBps nic:1x200Gbps:ib", 1, "",
       "7.133 | large sizes take 7.1 times what the cluster should (busbw 23.33 GB/s at best). A "
       "single one of the 8 NICs of a node would explain it. Check NCCL_IB_HCA and which links "
       "are up"},
      {"node:1 gpu:8xA100 nvswitch:300GBps", "node:1 gpu:8xA100 pcie:31.5GBps", 1, "",
       "14.18 | large sizes take 14.2 times what the cluster should (busbw 14.45 GB/s at best). "
       "PCIe would explain it, so NVLink is not in use. Check `nvidia-smi nvlink --status` and "
       "NCCL_P2P_DISABLE"},
      {"node:1 gpu:8xV100 nvlink:6x25GBps:cube", "node:1 gpu:8xV100 pcie:12GBps", 1, "",
       "22.9 | large sizes take 22.9 times what the cluster should (busbw 5.51 GB/s at best). "
       "PCIe would explain it, so NVLink is not in use. Check `nvidia-smi nvlink --status` and "
       "NCCL_P2P_DISABLE"},
      {"node:1 gpu:8xH100 nvswitch:450GBps", "node:1 gpu:8xH100 pcie:63GBps", 1, "",
       "13.7 | large sizes take 13.7 times what the cluster should (busbw 28.84 GB/s at best). "
       "PCIe would explain it, so NVLink is not in use. Check `nvidia-smi nvlink --status` and "
       "NCCL_P2P_DISABLE"},
      {"node:1 gpu:8xMI300X xgmi:7x64GBps", "node:1 gpu:8xMI300X pcie:31.5GBps", 1, "",
       "21.55 | large sizes take 21.5 times what the cluster should (busbw 14.46 GB/s at best). "
       "PCIe would explain it, so xGMI is not in use. Check `rocm-smi --showtopo` and "
       "NCCL_P2P_DISABLE"},
      {"node:1 gpu:8xRTX4090 pcie:31.5GBps:p2p", "node:1 gpu:8xRTX4090 pcie:31.5GBps", 1, "",
       "3.446 | large sizes take 3.4 times what the cluster should (busbw 7.23 GB/s at best). "
       "Copies through host memory would explain it, so peers do not reach each other. Check "
       "`nvidia-smi topo -p2p r` and NCCL_P2P_DISABLE, or state pcie:BW:no-p2p. Or are its sizes "
       "in elements of 4 bytes instead of bytes?"},
      {"node:1 gpu:4xA100 pcie:31.5GBps", "node:1 gpu:4xA100 pcie:31.5GBps", 9, "",
       "9 | large sizes take 9.0 times what the cluster should (busbw 1.61 GB/s at best). Copies "
       "through host memory would explain it, so peers do not reach each other. Check `nvidia-smi "
       "topo -p2p r` and NCCL_P2P_DISABLE, or state pcie:BW:no-p2p"},
      {"node:2 gpu:1xA100 nic:1x100Gbps:ib", "node:2 gpu:1xA100 nic:1x100Gbps:ib", 0.5, "",
       "0.5 | 67108864 bytes in 2880 us are faster than the cluster's links can carry (5369 us at "
       "their nominal rate). The log comes from another machine, or from a modified NCCL"},
      {"node:4 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib",
       "node:2 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib", 1, "",
       "- | it has 16 ranks, but the cluster has 32"},
      {"node:2 gpu:1xV100 nic:1x10Gbps:tcp", "node:2 gpu:1xV100 nic:1x10Gbps:tcp", 3, "",
       "3 | large sizes take 3.0 times what the cluster should (busbw 0.30 GB/s at best). A link "
       "is slower than stated, or another job was running. Or are its sizes in elements of 4 "
       "bytes instead of bytes?"},
  };
  for (const Row& row : rows) {
    const CollectiveTuning tuning;
    MeasuredLog log = as_modelled(parse_cluster_line(row.is), tuning, row.factor);
    log.transport = row.transport;
    const LogHealth found = health(log, parse_cluster_line(row.stated), tuning);
    std::string said = found.slowdown ? fmt::format("{:.4g}", *found.slowdown) : "-";
    for (const std::string& fault : found.faults) said += " | " + fault;
    for (const std::string& note : found.notes) said += " | note: " + note;
    CAPTURE(row.is);
    CHECK(said == row.said);
  }
}
