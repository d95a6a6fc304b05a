// Health of a log on both sides of each limit, on clusters with round link rates.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "ddpsim/calibrate/logs/health.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "mentions.hpp"
#include "selection_fit.hpp"

using namespace ddpsim;

namespace {

/// `factor` times the cost model's times at these sizes.
MeasuredLog times_modelled(const Cluster& cluster, double factor,
                           const std::vector<std::int64_t>& sizes) {
  MeasuredLog log;
  log.ranks = cluster.ranks();
  for (const std::int64_t size : sizes) {
    const auto choice = select_algorithm(CollectiveKind::all_reduce, Bytes(size), cluster, {});
    const double us = cost(CollectiveKind::all_reduce, choice, Bytes(size), cluster).microseconds();
    log.points.push_back(
        {.size = Bytes(size), .time_us = factor * us, .in_place_us = {}, .place = ""});
  }
  return log;
}

constexpr std::int64_t kMebi = 1 << 20;
const std::vector<std::int64_t> kLargeSizes = {64 * kMebi, 128 * kMebi, 256 * kMebi};

std::vector<std::string> faults(const Cluster& cluster, double factor) {
  return health(times_modelled(cluster, factor, kLargeSizes), cluster, {}).faults;
}

}  // namespace

TEST_CASE("health: twice the cost model is too slow, or 1.5 times within one NVLink node") {
  const Cluster nodes = parse_cluster_line("node:2 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib");
  const Cluster pcie = parse_cluster_line("node:1 gpu:4xA100 pcie:25GBps");
  for (const Cluster& cluster : {nodes, pcie}) {
    CHECK(faults(cluster, 1.99).empty());
    CHECK(mentions(faults(cluster, 2.01), "large sizes take 2.0 times"));
  }
  for (const char* line :
       {"node:1 gpu:8xA100 nvswitch:300GBps", "node:1 gpu:4xV100 nvlink:6x25GBps:mesh"}) {
    const Cluster node = parse_cluster_line(line);
    CHECK(faults(node, 1.49).empty());
    CHECK(mentions(faults(node, 1.51), "large sizes take 1.5 times"));
  }
}

TEST_CASE("health: a factor of three hundred means another unit, which is named") {
  const Cluster cluster = parse_cluster_line("node:2 gpu:1xA100 nic:1x100Gbps:ib");
  const auto told = [&](double factor) {
    const LogHealth found = health(times_modelled(cluster, factor, kLargeSizes), cluster, {});
    return found.other_unit ? found.faults.at(0) : "";
  };
  CHECK(told(299) == "");
  CHECK(told(301).find("301 times what the cluster should take") != std::string::npos);
  CHECK(told(301).find("nanoseconds") != std::string::npos);
  CHECK(told(31'000).find("another unit") != std::string::npos);
  CHECK(told(1.0 / 299) == "");
  CHECK(told(1.0 / 301).find("1/301 of what") != std::string::npos);
  CHECK(told(1.0 / 301).find("milliseconds") != std::string::npos);
  CHECK(told(1e-6).find("look like seconds") != std::string::npos);
}

TEST_CASE("health: judged by the sizes from 1 MiB within a factor of eight of the largest") {
  const Cluster cluster = parse_cluster_line("node:2 gpu:1xA100 nic:1x100Gbps:ib");
  const auto range = [&](const std::vector<std::int64_t>& sizes) {
    const LogHealth found = health(times_modelled(cluster, 1, sizes), cluster, {});
    CHECK(found.slowdown.value() == doctest::Approx(1));
    return std::pair(found.from.count() / kMebi, found.to.count() / kMebi);
  };
  CHECK(range({31 * kMebi, 32 * kMebi, 256 * kMebi}) ==
        std::pair<std::int64_t, std::int64_t>(32, 256));
  CHECK(range({kMebi - 1, kMebi, 2 * kMebi}) == std::pair<std::int64_t, std::int64_t>(1, 2));
  const LogHealth small = health(times_modelled(cluster, 1, {kMebi / 2, kMebi - 1}), cluster, {});
  CHECK_FALSE(small.slowdown.has_value());
  CHECK(mentions(small.notes, "no size of 1 MiB or more"));
}

TEST_CASE("health: nothing is faster than the links, except for 5 % of rounding") {
  // What each node or GPU must send of 1.25 GB, at the rate of its links.
  struct Known {
    const char* line;
    double least_us;
  };
  const Known known[] = {
      {"node:2 gpu:1xA100 nic:1x100Gbps:ib", 100'000},                  // 2 x 1/2 at 12.5 GB/s
      {"node:5 gpu:1xA100 nic:1x100Gbps:ib", 160'000},                  // 2 x 4/5
      {"node:2 gpu:4xA100 nvswitch:300GBps nic:4x100Gbps:ib", 25'000},  // four NICs
      {"node:1 gpu:4xA100 pcie:25GBps", 75'000},                        // 2 x 3/4 at 25 GB/s
      {"node:1 gpu:4xH100 nvswitch:450GBps", 1'250'000.0 / 450},        // the switch sums up
  };
  for (const Known& row : known) {
    CAPTURE(row.line);
    const Cluster cluster = parse_cluster_line(row.line);
    const auto beats = [&](double us) {
      MeasuredLog log;
      log.ranks = cluster.ranks();
      log.points.push_back(
          {.size = Bytes(1'250'000'000), .time_us = us, .in_place_us = {}, .place = ""});
      return mentions(health(log, cluster, {}).faults, "faster than the cluster's links can carry");
    };
    CHECK_FALSE(beats(row.least_us / 1.049));
    CHECK(beats(row.least_us / 1.051));
  }
}

TEST_CASE("health: a larger size in 0.6 of a smaller one's time is uneven") {
  const Cluster cluster = parse_cluster_line("node:2 gpu:1xA100 nic:1x100Gbps:ib");
  const auto noted = [&](const std::vector<double>& us, bool same_size = false) {
    MeasuredLog log;
    log.ranks = 2;
    for (std::size_t k = 0; k < us.size(); ++k)
      log.points.push_back({.size = Bytes(same_size ? 8 : 8 << k),
                            .time_us = us[k],
                            .in_place_us = {},
                            .place = ""});
    for (const std::string& note : health(log, cluster, {}).notes)
      if (note.starts_with("uneven")) return note;
    return std::string();
  };
  CHECK(noted({100, 60.1}) == "");
  CHECK(noted({100, 60}).find("8 bytes took 100 us, 16 bytes 60 us") != std::string::npos);
  CHECK(noted({100, 60}, true) == "");  // repeats of one size
  CHECK(noted({100, 50, 100, 50}).find(", 2 times in all") != std::string::npos);
}

TEST_CASE("health: a log's own statements count on clusters where they matter") {
  const Cluster ib = parse_cluster_line("node:2 gpu:1xA100 nic:1x100Gbps:ib");
  const Cluster tcp = parse_cluster_line("node:2 gpu:1xA100 nic:1x100Gbps:tcp");
  const auto told = [](const Cluster& cluster, const std::string& transport,
                       const std::string& setting, const std::string& value) {
    MeasuredLog log = times_modelled(cluster, 1, kLargeSizes);
    log.transport = transport;
    if (!setting.empty()) log.settings = {{setting, value}};
    return !health(log, cluster, {}).healthy();
  };
  CHECK_FALSE(told(ib, "NET/IB", "", ""));
  CHECK(told(ib, "NET/Socket", "", ""));
  CHECK_FALSE(told(tcp, "NET/Socket", "", ""));
  CHECK(told(ib, "", "NCCL_NET", "Socket"));
  CHECK(told(ib, "", "NCCL_NET", "socket"));  // NCCL ignores the case
  CHECK_FALSE(told(ib, "", "NCCL_NET", "IB"));
  CHECK_FALSE(told(ib, "", "NCCL_P2P_DISABLE", "1"));
  CHECK(told(ib, "", "NCCL_IB_DISABLE", "2"));  // NCCL takes any number but 0 as on
  CHECK_FALSE(told(ib, "", "NCCL_IB_DISABLE", "true"));
  CHECK_FALSE(told(tcp, "", "NCCL_NET", "Socket"));
  CHECK(
      told(parse_cluster_line("node:2 gpu:1xA100 nic:1x100Gbps:roce"), "", "NCCL_IB_DISABLE", "1"));
  CHECK_FALSE(
      told(parse_cluster_line("node:2 gpu:1xA100 nic:1x100Gbps:efa"), "", "NCCL_IB_DISABLE", "1"));
  CHECK_FALSE(told(parse_cluster_line("node:1 gpu:2xA100 pcie:25GBps"), "NET/Socket", "", ""));
}

TEST_CASE("health: TCP is one fault, whatever caused it") {
  const Cluster ib = parse_cluster_line("node:2 gpu:1xA100 nic:1x100Gbps:ib");
  MeasuredLog log = times_modelled(ib, 1, kLargeSizes);
  log.transport = "NET/Socket";
  log.settings = {{"NCCL_IB_DISABLE", "1"}};
  const std::vector<std::string> faults = health(log, ib, {}).faults;
  REQUIRE(faults.size() == 1);
  CHECK(mentions(faults, "NCCL used TCP (NET/Socket)"));
}

TEST_CASE("health: slow GPUDirect-TCPX is not TCP sockets if those would be far slower") {
  const Cluster tcpx = parse_cluster_line("node:2 gpu:8xH100 nvswitch:450GBps nic:8x200Gbps:tcpx");
  CHECK(mentions(faults(tcpx, 2.1), "large sizes take 2.1 times"));
  CHECK_FALSE(mentions(faults(tcpx, 2.1), "TCP sockets"));
}

TEST_CASE("NCCL's settings: lists, exceptions and counts, each at its limits") {
  const auto tuning = [](const std::string& name, const std::string& value) {
    MeasuredLog log;
    log.settings = {{name, value}};
    return tuning_of(log, {2, 20, 5});
  };
  CHECK_FALSE(tuning("NCCL_ALGO", "nonsense").algorithms.has_value());
  CHECK(tuning("NCCL_ALGO", "allreduce:ring").algorithms->has(Algorithm::ring));
  CHECK_FALSE(tuning("NCCL_ALGO", "allreduce:ring").algorithms->has(Algorithm::tree));
  CHECK(tuning("NCCL_ALGO", "^ring").algorithms->has(Algorithm::tree));
  CHECK_FALSE(tuning("NCCL_ALGO", "^ring").algorithms->has(Algorithm::ring));
  CHECK(tuning("NCCL_PROTO", "LL,Simple").protocols->has(Protocol::simple));
  CHECK_FALSE(tuning("NCCL_PROTO", "LL,Simple").protocols->has(Protocol::ll128));
  CHECK(tuning("NCCL_MIN_NCHANNELS", "64").min_channels == 64);
  CHECK_FALSE(tuning("NCCL_MIN_NCHANNELS", "65").min_channels.has_value());
  CHECK(tuning("NCCL_MAX_NCHANNELS", "1").max_channels == 1);
  CHECK_FALSE(tuning("NCCL_MAX_NCHANNELS", "0").max_channels.has_value());
  CHECK(tuning("NCCL_BUFFSIZE", "8192").buffer == Bytes(8192));
  CHECK(tuning("NCCL_BUFFSIZE", "8191").buffer == CollectiveTuning().buffer);
  CHECK(tuning("NCCL_BUFFSIZE", "1073741824").buffer == Bytes(1 << 30));
  CHECK(tuning("NCCL_BUFFSIZE", "1073741825").buffer == CollectiveTuning().buffer);
  CHECK(tuning("NCCL_NVLS_ENABLE", "1").nvls);
  CHECK_FALSE(tuning("NCCL_NVLS_ENABLE", "0").nvls);
  CHECK(tuning("NCCL_COLLNET_ENABLE", "1").collnet);
  CHECK_FALSE(tuning("NCCL_COLLNET_ENABLE", "0").collnet);
  MeasuredLog own;
  own.nccl = NcclVersion{2, 11, 4};
  CHECK(tuning_of(own, {2, 20, 5}).nccl == NcclVersion{2, 11, 4});
}

TEST_CASE("selection: what the logs say about NCCL's choice, in words") {
  const auto note = [](double tree_factor, bool ll128) {
    return note_of({.tree_factor = tree_factor, .ll128_between_nodes = ll128});
  };
  const std::string end =
      ". This explains the logs best, so predictions use it. A log with NCCL_DEBUG=INFO "
      "NCCL_DEBUG_SUBSYS=TUNING would settle it";
  CHECK(note(1, true) == "");
  CHECK(note(1, false) == "NCCL seems not to use LL128 between nodes" + end);
  CHECK(note(0.8, true) ==
        "NCCL seems to use trees more readily than its table says (factor 0.8 on its estimate)" +
            end);
  CHECK(note(1.2, false) ==
        "NCCL seems not to use LL128 between nodes, and to use trees less readily than its table "
        "says (factor 1.2 on its estimate)" +
            end);
}
