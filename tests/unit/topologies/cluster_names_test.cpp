// Names in a CLUSTER argument: a bundled cluster, a file, an archive, with a size or ":spec". Also
// groups of its ranks.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "complaint.hpp"
#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "mentions.hpp"
#include "tar_text.hpp"
#include "trace_files.hpp"

using namespace ddpsim;

namespace {

const std::string kLab = R"({"schema": "ddpsim.cluster/1", "name": "lab", "nodes": 2,
  "node": {"gpus": 4, "gpu": "V100", "interconnect": {"kind": "nvswitch", "per_gpu": "150GBps"}},
  "network": {"kind": "ib", "nics_per_node": 1, "per_nic": "100Gbps"}})";

std::string packed_job() {
  return test::tar_entry(
             "top/manifest.json",
             R"({"schema": "ddpsim.collect/1", "ranks": 1, "nodes": 1, "members": []})") +
         test::tar_end();
}

using Shape = std::pair<int, int>;

std::vector<Shape> groups_in(const std::string& text, const std::vector<GroupSize>& sizes) {
  std::vector<Shape> shapes;
  for (const auto& group : load_cluster({text, {}, {}, sizes}).groups)
    shapes.emplace_back(group->nodes, group->gpus_per_node);
  return shapes;
}

}  // namespace

TEST_CASE("cluster names: an archive is named by its path, with a size and further words") {
  const files::TemporaryFolder folder;
  const std::string job = folder.file("job.tar", packed_job()).string();
  const std::string lab = folder.file("lab.json", kLab).string();
  for (const std::string& text : {job, job + "@2", job + " node:2", job + "@2 gpu:V100"}) {
    CAPTURE(text);
    CHECK(archive_named(text) == job);
    CHECK(is_cluster(text));
  }
  // With ":spec", its all-reduces are not used. Other names are not archives.
  for (const std::string& text : {job + ":spec", lab, std::string("dgx1v"), std::string("dgx1v@2"),
                                  std::string("nosuch.tar"), std::string()})
    CHECK_FALSE(archive_named(text));
  CHECK(is_cluster(job + ":spec"));
}

TEST_CASE("cluster names: texts that can only mean a cluster") {
  const files::TemporaryFolder folder;
  const std::string lab = folder.file("lab.json", kLab).string();
  const std::string trace = folder.file("trace.json", "{\"traceEvents\": []}").string();
  const std::string xml = folder.file("topo.xml", "<system version=\"1\"></system>").string();
  const std::string page = folder.file("page.xml", "<html></html>").string();
  for (const std::string& text :
       {std::string("dgx1v"), std::string("dgx1v@16"), std::string("dgx1v:spec"),
        std::string("dgx1v:spec@16"), std::string("node:2 gpu:8xV100"), std::string("nvswitch:x"),
        lab, lab + "@3", lab + ":spec", lab + " nic:200Gbps", xml}) {
    CAPTURE(text);
    CHECK(is_cluster(text));
  }
  for (const std::string& text : {std::string("resnet50-v100-b32"), std::string("104ms"), trace,
                                  page, std::string(), std::string("nodes:2"), lab + "x"}) {
    CAPTURE(text);
    CHECK_FALSE(is_cluster(text));
  }
}

TEST_CASE("cluster names: `:spec` may occur once and drops the calibration") {
  CHECK(load_cluster({"dgx1v", {}, {}}).calibration == nullptr);
  const std::vector<BundledCluster> all = bundled_clusters();
  const auto calibrated = std::ranges::find_if(
      all, [](const BundledCluster& cluster) { return !cluster.calibrated_nodes.empty(); });
  REQUIRE(calibrated != all.end());
  const int nodes = calibrated->calibrated_nodes.front();
  const Cluster measured = load_cluster({calibrated->name, nodes, {}});
  const Cluster specified = load_cluster({calibrated->name + ":spec", nodes, {}});
  CHECK(measured.calibration != nullptr);
  CHECK(specified.calibration == nullptr);
  CHECK_FALSE(specified.verified);
  CHECK(specified.name == measured.name + ":spec");
  CHECK(mentions(complaint_of([] {
                   load_cluster({"dgx1v:spec:spec", {}, {}});
                 }),
                 "\"dgx1v:spec:spec\" says \":spec\" twice. Write \"dgx1v:spec\""));
}

TEST_CASE("cluster names: sizes from one node to a million, stated once") {
  CHECK(load_cluster({"node:3 gpu:1xV100 nic:1x100Gbps:ib", {}, {}}).nodes == 3);
  CHECK(load_cluster({"dgx1v@3", 3, {}}).nodes == 3);
  CHECK(mentions(complaint_of([] {
                   load_cluster({"dgx1v@3", 4, {}});
                 }),
                 "\"dgx1v@3\" and --nodes 4 disagree"));
  for (const char* text :
       {"dgx1v@0", "dgx1v@1000001", "dgx1v@-1", "dgx1v@", "dgx1v@2x", "dgx1v@2.5"})
    CHECK(mentions(complaint_of([&] {
                     load_cluster({text, {}, {}});
                   }),
                   "which is not a number of nodes"));
  CHECK(load_cluster_at("dgx1v@4", 2, 3).ranks() == 6);
}

TEST_CASE("cluster names: groups of ranks are the first nodes and GPUs, never the whole cluster") {
  const std::string text = "node:4 gpu:8xV100 nvswitch:150GBps nic:1x100Gbps:ib";
  CHECK(groups_in(text, {{1, {}}, {2, {}}, {4, 1}, {1, 2}}) ==
        std::vector<Shape>{{1, 8}, {2, 8}, {4, 1}, {1, 2}});
  CHECK(groups_in(text, {{4, {}}, {4, 8}, {9, {}}, {9, 99}}).empty());
  CHECK(groups_in(text, {{9, 2}, {2, 99}}) == std::vector<Shape>{{4, 2}, {2, 8}});
}
