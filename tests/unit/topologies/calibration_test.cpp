// The calibration of a cluster file, and the messages for impossible values.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "complaint.hpp"
#include "ddpsim/formats/files.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/sim/values/collective.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "description.hpp"
#include "mentions.hpp"
#include "round_costs.hpp"

using namespace ddpsim;

namespace {

const std::string kGoodCluster = R"({"schema": "ddpsim.cluster/1", "name": "lab", "nodes": 1,
 "node": {"gpus": 2, "gpu": "A100", "interconnect": {"kind": "nvswitch", "per_gpu": "300GBps"}},
 "calibration": {
  "constants": {"launch_us": 5, "start_us": [0, 36, 38], "local_us": [1, 2, 4], "hop_us": [5, 13, 30],
   "rendezvous_us": 0, "channel_us": 0.3, "local_share": 0.8, "nic_share": 0.9, "single_gpu_per_node": 0.66,
   "ll_gbps": 1.5, "ll128_gbps": 8, "nvls_start_us": 31, "nvls_wave_us": 2.3, "nvls_share": 0.7,
   "overlap": 2.5},
  "residual_deviation": {"small": 0.1, "middle": 0.2, "large": 0.1},
  "logs": [{"source": "a.txt", "nodes": 1, "gpus_per_node": 2, "smallest_bytes": 8,
            "largest_bytes": 1024}],
  "correction": [{"nodes": 1, "gpus_per_node": 2, "points": [[8, "ring", "LL", 0.5, 0]]}]}})";

std::string good_with(const std::string& from, const std::string& to) {
  std::string text = kGoodCluster;
  const std::size_t at = text.find(from);
  if (at == std::string::npos) return "";
  return text.replace(at, from.size(), to);
}

std::string cluster_complaint(const std::string& text) {
  return complaint_of([&] { parse_cluster(text, "lab.json"); });
}

}  // namespace

TEST_CASE("calibration of a cluster file: all values are read") {
  const Cluster cluster = parse_cluster(kGoodCluster, "lab.json");
  REQUIRE(cluster.calibration);
  CHECK(cluster.verified);
  CHECK(constants_of(cluster).launch_us == 5);
  CHECK(cluster.calibration->correction.size() == 1);
}

TEST_CASE("calibration of a cluster file: fields of later versions are read and may be absent") {
  const Cluster before = parse_cluster(kGoodCluster, "lab.json");
  CHECK(before.calibration->constants.per_channel_start_us == 0);
  CHECK(before.calibration->constants.tree_share == 1);
  CHECK(before.calibration->selection.ll128_between_nodes);
  const std::string later = good_with(
      "\"overlap\": 2.5},",
      "\"overlap\": 2.5, \"per_channel_start_us\": 0.7, \"ring_ends\": 0.5, \"tree_share\": 0.9, "
      "\"ll_share\": 0.3, \"hop_growth\": [0.1, -0.2, 0.3]},"
      "\"selection\": {\"tree_factor\": 0.9, \"ll128_between_nodes\": false},"
      "\"repeatability\": {\"small\": 0.2, \"middle\": 0.3, \"large\": 0.04},");
  const Cluster after = parse_cluster(later, "lab.json");
  CHECK(after.calibration->constants.hop_growth[1] == -0.2);
  CHECK(after.calibration->constants.tree_share == 0.9);
  CHECK(before.calibration->constants.ll_share == 1);
  CHECK(after.calibration->constants.ll_share == 0.3);
  CHECK(after.calibration->selection.tree_factor == 0.9);
  CHECK(after.calibration->repeatability.middle == 0.3);
  CHECK(before.calibration->repeatability.middle == 0);
  CHECK(before.calibration->shapes.front().fault.empty());
  CHECK_FALSE(after.calibration->selection.ll128_between_nodes);
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string text = later;
    return cluster_complaint(text.replace(text.find(from), from.size(), to));
  };
  CHECK(mentions(refused("\"per_channel_start_us\": 0.7", "\"per_channel_start_us\": -1"),
                 "per_channel_start_us"));
  CHECK(mentions(refused("\"ring_ends\": 0.5", "\"ring_ends\": 2"), "ring_ends"));
  CHECK(mentions(refused("\"tree_share\": 0.9", "\"tree_share\": 0"), "tree_share"));
  CHECK(mentions(refused("\"ll_share\": 0.3", "\"ll_share\": 1.5"), "ll_share"));
  CHECK(mentions(refused("[0.1, -0.2, 0.3]", "[0.1, -0.2]"), "has 2 values"));
  CHECK(mentions(refused("\"tree_factor\": 0.9", "\"tree_factor\": 0"), "tree_factor"));
}

TEST_CASE("calibration of a cluster file: a written calibration is read back exactly") {
  Calibration written = *parse_cluster(kGoodCluster, "lab.json").calibration;
  written.constants.per_channel_start_us = 0.7;
  written.constants.ring_ends = 0.25;
  written.constants.hop_growth = {0.1, -0.2, 1.0 / 3};
  written.selection = {.tree_factor = 0.875, .ll128_between_nodes = false};
  written.repeatability = {0.01, 0.02, 0.03};
  written.residual_deviation = {0.11, 0.12, 0.13};
  written.shapes = {{2, 2, Bytes(8), Bytes(1 << 20), "older.txt", "", NcclVersion{2, 18, 3}},
                    {2, 2, Bytes(16), Bytes(1 << 30), "newer.txt",
                     "its large sizes take 2.1 times the cost model's", NcclVersion{2, 21, 5}},
                    {1, 1, Bytes(16), Bytes(1 << 30), "silent.txt", "", std::nullopt}};
  const OperatingPoint place{2, 2, Bytes(1 << 16), Algorithm::tree, Protocol::ll128};
  OperatingPoint older = place;
  older.nccl = NcclVersion{2, 18, 3};
  OperatingPoint newer = place;
  newer.nccl = NcclVersion{2, 21, 5};
  written.correction = {{older, 1.0 / 3, -0.5}, {newer, -2.0 / 7, 0.25}};

  written.shapes[1].left_out_error = 0.125;
  written.shapes[1].published = true;

  const std::string text =
      calibrated_cluster_file("node:2 gpu:2xA100 nvswitch:300GBps nic:1x100Gbps:ib", written);
  const Calibration read = *parse_cluster(text, "lab.json").calibration;
  CHECK_FALSE(read.shapes[0].left_out_error);
  CHECK(read.shapes[1].left_out_error == 0.125);
  CHECK(of_several_releases(read));
  CHECK(read.constants.per_channel_start_us == written.constants.per_channel_start_us);
  CHECK(read.constants.ring_ends == written.constants.ring_ends);
  CHECK(read.constants.hop_growth == written.constants.hop_growth);
  CHECK(read.constants.start_us == written.constants.start_us);
  CHECK(read.selection.tree_factor == written.selection.tree_factor);
  CHECK_FALSE(read.selection.ll128_between_nodes);
  CHECK(read.repeatability.large == written.repeatability.large);
  CHECK(read.residual_deviation.middle == written.residual_deviation.middle);
  REQUIRE(read.shapes.size() == written.shapes.size());
  for (std::size_t i = 0; i < read.shapes.size(); ++i) {
    CHECK(read.shapes[i].source == written.shapes[i].source);
    CHECK(read.shapes[i].fault == written.shapes[i].fault);
    CHECK(read.shapes[i].nccl == written.shapes[i].nccl);
    CHECK(read.shapes[i].published == written.shapes[i].published);
    CHECK(read.shapes[i].smallest == written.shapes[i].smallest);
    CHECK(read.shapes[i].largest == written.shapes[i].largest);
  }
  REQUIRE(read.correction.size() == 2);
  for (const OperatingPoint& at : {older, newer, place})
    CHECK(correction_at(read, at) == correction_at(written, at));
  CHECK(correction_at(read, older) != correction_at(read, newer));
}

TEST_CASE("calibration of a cluster file: impossible values are refused with their place") {
  CHECK(mentions(cluster_complaint(good_with("\"launch_us\": 5", "\"launch_us\": -5")),
                 "/calibration/constants/launch_us"));
  CHECK(mentions(cluster_complaint(good_with("\"local_share\": 0.8", "\"local_share\": 0")),
                 "local_share"));
  CHECK(mentions(cluster_complaint(good_with("\"local_share\": 0.8", "\"local_share\": 1.2")),
                 "local_share"));
  CHECK(mentions(cluster_complaint(good_with("\"ll_gbps\": 1.5", "\"ll_gbps\": 0")), "ll_gbps"));
  CHECK(mentions(cluster_complaint(good_with("\"ll_gbps\": 1.5, ", "")), "ll_gbps"));
  CHECK(mentions(cluster_complaint(good_with("[1, 2, 4]", "[1, 2]")),
                 "/calibration/constants/local_us: has 2 values. Expected one each for"));
  CHECK(mentions(cluster_complaint(good_with("\"overlap\": 2.5", "\"overlap\": 0.5")), "overlap"));
  CHECK(mentions(cluster_complaint(good_with("\"overlap\": 2.5", "\"overlapp\": 2.5")), "overlap"));
  CHECK(mentions(cluster_complaint(
                     good_with("[8, \"ring\", \"LL\", 0.5, 0]", "[8, \"rign\", \"LL\", 0.5, 0]")),
                 "ring"));
  CHECK(mentions(cluster_complaint(
                     good_with("[8, \"ring\", \"LL\", 0.5, 0]", "[0, \"ring\", \"LL\", 0.5, 0]")),
                 "points/0"));
  CHECK(mentions(cluster_complaint(good_with("[8, \"ring\", \"LL\", 0.5, 0]",
                                             "[8, \"ring\", \"LL\", 0.5, 0, 0]")),
                 "has 6 values"));
  CHECK(mentions(cluster_complaint(good_with("\"largest_bytes\": 1024", "\"largest_bytes\": 4")),
                 "smallest_bytes"));
  CHECK(mentions(cluster_complaint(good_with("\"nodes\": 1, \"gpus_per_node\": 2, \"smallest",
                                             "\"nodes\": 0, \"gpus_per_node\": 2, \"smallest")),
                 "/calibration/logs/0/nodes"));
  CHECK(mentions(cluster_complaint(good_with("\"residual_deviation\": {\"small\": 0.1",
                                             "\"residual_deviation\": {\"small\": \"0.1\"")),
                 "residual_deviation"));
}

TEST_CASE("calibration of a cluster file: every constant is written and read in its place") {
  Calibration written;
  written.constants = round_costs::constants();
  written.constants.ring_ends = 0.75;
  written.constants.hop_growth = {0.1, 0.2, 0.3};
  written.shapes = {{3, 2, Bytes(8), Bytes(1024), "log"}};
  for (const Algorithm algorithm :
       {Algorithm::tree, Algorithm::ring, Algorithm::collnet_direct, Algorithm::collnet_chain,
        Algorithm::nvls, Algorithm::nvls_tree})
    for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple})
      written.correction.push_back({{3, 2, Bytes(64), algorithm, protocol}, 0.25, -0.5});
  const std::string text =
      calibrated_cluster_file("node:3 gpu:2xA100 nvswitch:300GBps nic:1x100Gbps:ib", written);
  const Calibration read = *parse_cluster(text, "lab.json").calibration;
  const PathConstants& in = written.constants;
  const PathConstants& out = read.constants;
  CHECK(out.launch_us == in.launch_us);
  CHECK(out.start_us == in.start_us);
  CHECK(out.local_us == in.local_us);
  CHECK(out.hop_us == in.hop_us);
  CHECK(out.rendezvous_us == in.rendezvous_us);
  CHECK(out.channel_us == in.channel_us);
  CHECK(out.local_share == in.local_share);
  CHECK(out.nic_share == in.nic_share);
  CHECK(out.single_gpu_per_node == in.single_gpu_per_node);
  CHECK(out.ll_gbps == in.ll_gbps);
  CHECK(out.ll128_gbps == in.ll128_gbps);
  CHECK(out.nvls_start_us == in.nvls_start_us);
  CHECK(out.nvls_wave_us == in.nvls_wave_us);
  CHECK(out.nvls_share == in.nvls_share);
  CHECK(out.overlap == in.overlap);
  CHECK(out.per_channel_start_us == in.per_channel_start_us);
  CHECK(out.ring_ends == in.ring_ends);
  CHECK(out.tree_share == in.tree_share);
  CHECK(out.ll_share == in.ll_share);
  CHECK(out.hop_growth == in.hop_growth);
  REQUIRE(read.shapes.size() == 1);
  CHECK(read.shapes[0].nodes == 3);
  CHECK(read.shapes[0].gpus_per_node == 2);
  CHECK(read.shapes[0].smallest == Bytes(8));
  CHECK(read.shapes[0].largest == Bytes(1024));
  REQUIRE(read.correction.size() == written.correction.size());
  for (std::size_t i = 0; i < read.correction.size(); ++i) {
    CAPTURE(i);
    const CorrectionPoint& point = read.correction[i];
    CHECK(point.at.nodes == 3);
    CHECK(point.at.gpus_per_node == 2);
    CHECK(point.at.size == Bytes(64));
    CHECK(point.at.algorithm == written.correction[i].at.algorithm);
    CHECK(point.at.protocol == written.correction[i].at.protocol);
    CHECK(point.weight == 0.25);
    CHECK(point.within_shape == -0.5);
  }
}

TEST_CASE(
    "calibration of a cluster file: one measured at this shape includes the placement of nodes") {
  const auto open = [](int nodes, int gpus_per_node) {
    Calibration calibration;
    calibration.constants = round_costs::constants();
    calibration.shapes = {{nodes, gpus_per_node, Bytes(8), Bytes(1024), "log"}};
    const std::string text = calibrated_cluster_file(
        "node:2 gpu:4xA100 nvswitch:300GBps nic:4x100Gbps:ib oversubscription:4", calibration);
    return parse_cluster(text, "lab.json").loads_under_one_leaf != nullptr;
  };
  CHECK_FALSE(open(2, 4));
  CHECK(open(4, 2));
  CHECK(open(4, 4));
}

TEST_CASE("cluster writer: a line that is written as a file describes the same cluster") {
  Calibration calibration;
  calibration.constants = round_costs::constants();
  calibration.shapes = {{1, 1, Bytes(8), Bytes(1024), "log"}};
  for (const char* line : {
           "node:1 gpu:1xT4",
           "node:1 gpu:2xV100 nvlink:6x25GBps:pair",
           "node:2 gpu:3xV100 nvlink:6x25GBps:mesh nic:2x100Gbps:roce latency:2.5us",
           "node:2 gpu:8xV100 nvlink:6x25GBps:cube nic:4x100Gbps:efa",
           "node:3 gpu:4xA100 pcie:31.5GBps nic:1x25Gbps:tcp-vm oversubscription:2.5",
           "node:2 gpu:4xA100 pcie:20GBps nic:1x25Gbps:tcp connection:4Gbps",
           "node:2 gpu:8xH100 nvswitch:450GBps nic:8x200Gbps:tcpx",
           "node:2 gpu:4xA100 nvswitch:300GBps nic:2x200Gbps:slingshot",
       }) {
    CAPTURE(line);
    const Cluster read = parse_cluster(calibrated_cluster_file(line, calibration), "written.json");
    const Cluster meant = parse_cluster_line(line);
    CHECK(read.name == meant.name);
    CHECK(read.nodes == meant.nodes);
    CHECK(read.gpus_per_node == meant.gpus_per_node);
    CHECK(read.gpu.name == meant.gpu.name);
    CHECK(read.cpu == meant.cpu);
    CHECK(read.intra.kind == meant.intra.kind);
    CHECK(read.intra.per_gpu == meant.intra.per_gpu);
    CHECK(read.intra.links_per_gpu == meant.intra.links_per_gpu);
    CHECK(read.network.kind == meant.network.kind);
    CHECK(read.network.sockets == meant.network.sockets);
    CHECK(read.network.nics_per_node == meant.network.nics_per_node);
    CHECK(read.network.per_nic == meant.network.per_nic);
    CHECK(read.network.latency == meant.network.latency);
    CHECK(read.network.connection == meant.network.connection);
    CHECK(read.network.oversubscription == meant.network.oversubscription);
    CHECK(read.ring.channels == meant.ring.channels);
    CHECK(read.ring.intra == meant.ring.intra);
    CHECK(read.tree.intra == meant.tree.intra);
  }
}

TEST_CASE("cluster writer: a file keeps its text, but stated channels are dropped for more nodes") {
  const auto path = std::filesystem::temp_directory_path() /
                    ("ddpsim-writer-" + std::to_string(::getpid()) + ".json");
  write_file(path, R"({"schema": "ddpsim.cluster/1", "name": "lab", "summary": "kept",
      "node": {"gpus": 2, "gpu": "V100", "interconnect": {"kind": "pcie", "per_gpu": "12GBps"}},
      "network": {"kind": "ib", "nics_per_node": 1, "per_nic": "100Gbps"},
      "nccl": {"search_channels": 3, "per_channel": "5GBps"}})");
  Calibration calibration;
  calibration.constants = round_costs::constants();
  calibration.shapes = {{1, 2, Bytes(8), Bytes(1024), "log"}};
  const std::string one = calibrated_cluster_file(path.string(), calibration);
  const std::string four = calibrated_cluster_file(path.string() + "@4", calibration);
  const std::string beside = calibrated_cluster_file(path.string() + " latency:7us", calibration);
  std::filesystem::remove(path);
  CHECK(parse_cluster(beside, "beside.json").network.latency ==
        Duration::microseconds(7));  // calibration of the file
  CHECK(mentions(one, "\"summary\": \"kept\""));
  CHECK(mentions(one, "search_channels"));
  CHECK_FALSE(mentions(one, "\"nodes\": 4"));
  CHECK_FALSE(mentions(four, "search_channels"));
  CHECK(parse_cluster(one, "one.json").ring.channels == 3);
  CHECK(parse_cluster(four, "four.json").nodes == 4);
}

TEST_CASE("calibration of a cluster file: words about the network describe another cluster") {
  const std::string text = good_with(
      "\"calibration\"",
      R"("network": {"kind": "tcp", "nics_per_node": 1, "per_nic": "100Gbps"}, "calibration")");
  const auto calibrated = [&](const std::string& words) {
    return describe_source(text, "lab.json", words).calibration.has_value();
  };
  CHECK(calibrated(""));
  CHECK(calibrated("node:2"));
  for (const char* word :
       {"nic:1x10Gbps:ib", "oversubscription:2", "latency:3us", "connection:5Gbps"}) {
    CAPTURE(word);
    CHECK_FALSE(calibrated(word));
  }
}

namespace {

const std::string kGoodGloo = R"({"schema": "ddpsim.cluster/1", "name": "lab", "nodes": 1,
 "node": {"gpus": 2, "gpu": "A100", "interconnect": {"kind": "nvswitch", "per_gpu": "300GBps"}},
 "gloo": {"constants": {"process_gbps": 2.25, "step_us": 21.5, "cache_mb": 64},
  "deviation": {"small": 0.3, "middle": 0.2, "large": 0.1},
  "logs": [{"source": "a.json", "nodes": 1, "gpus_per_node": 2, "smallest_bytes": 8, "largest_bytes": 1024}]}})";

std::string gloo_with(const std::string& from, const std::string& to) {
  std::string text = kGoodGloo;
  const std::size_t at = text.find(from);
  return at == std::string::npos ? "" : text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("calibration of gloo: fitted constants are read, and the others keep their defaults") {
  const Cluster cluster = parse_cluster(kGoodGloo, "lab.json");
  REQUIRE(cluster.gloo);
  const GlooLinks& links = cluster.gloo->links;
  CHECK(links.process == Bandwidth::gigabytes_per_second(2.25));
  CHECK(links.step == Duration::microseconds(21.5));
  CHECK(links.cache == Bytes(64'000'000));
  CHECK(links.host == GlooLinks{}.host);
  CHECK(cluster.gloo->fitted.size() == 3);
  CHECK_FALSE(cluster.gloo->other_ranks_deviation);
  CHECK_FALSE(cluster.calibration);
}

TEST_CASE("calibration of gloo: writing it keeps NCCL's calibration, and vice versa") {
  namespace fs = std::filesystem;
  const fs::path path =
      fs::temp_directory_path() / ("gloo-" + std::to_string(::getpid()) + ".json");
  write_file(path, kGoodCluster);
  GlooCalibration gloo = *parse_cluster(kGoodGloo, "lab.json").gloo;
  gloo.other_ranks_deviation = SizeSpread{0.1, 0.2, 1.0 / 3};
  write_file(path, gloo_calibrated_cluster_file(path.string(), gloo));
  const Cluster both = parse_cluster(read_file(path, 1 << 20), "both.json");
  REQUIRE(both.calibration);
  REQUIRE(both.gloo);
  CHECK(both.calibration->correction.size() == 1);
  CHECK(both.gloo->links.process == gloo.links.process);
  CHECK(both.gloo->other_ranks_deviation->large == 1.0 / 3);
  const Cluster again =
      parse_cluster(calibrated_cluster_file(path.string(), *both.calibration), "again.json");
  CHECK(again.gloo != nullptr);
  // Words about the network describe another cluster.
  CHECK(
      load_cluster({.text = path.string() + " nic:1x10Gbps:tcp", .nodes = {}, .gpus_per_node = {}})
          .gloo == nullptr);
  fs::remove(path);
}

TEST_CASE("calibration of gloo: impossible values are refused with their place") {
  struct Case {
    const char *from, *to, *says;
  };
  for (const Case& one : {
           Case{"2.25", "0", "/gloo/constants/process_gbps"},
           Case{"\"step_us\": 21.5", "\"step\": 21.5", "step_us"},
           Case{"\"large\": 0.1", "\"large\": -1", "/gloo/deviation/large"},
           Case{"\"large\": 0.1", "\"larg\": 1", "larg"},
           Case{"[{\"source\"", "[], \"x\": [{\"source\"", "x"},
           Case{"\"largest_bytes\": 1024", "\"largest_bytes\": 4", "smallest_bytes"},
           Case{"\"constants\": {\"process_gbps\": 2.25, \"step_us\": 21.5, \"cache_mb\": 64},", "",
                "constants"},
       }) {
    INFO(one.to);
    CHECK(mentions(cluster_complaint(gloo_with(one.from, one.to)), one.says));
  }
}
