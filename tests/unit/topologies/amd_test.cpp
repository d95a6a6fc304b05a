// AMD's GPUs: xGMI in every form of a cluster, and notes about values taken from NVIDIA.
#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "complaint.hpp"
#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/sim/values/calibration.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "ddpsim/topologies/kind_words.hpp"
#include "ddpsim/topologies/plausible.hpp"
#include "ddpsim/topologies/topology.hpp"
#include "description.hpp"
#include "nccl_xml.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

const std::string kMi300x = "node:1 gpu:8xMI300X xgmi:7x64GBps";

std::string line_complaint(const std::string& line) {
  return complaint_of([&] { parse_cluster_line(line); });
}

std::string file_with(const std::string& node) {
  return R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": )" + node + "}";
}

std::string node_complaint(const std::string& node) {
  return complaint_of([&] { parse_cluster(file_with(node), "lab.json"); });
}

/// The XML of two GPUs with this link between them.
std::string pair_xml(const std::string& link, const std::string& gcn = "gfx942") {
  std::string text = R"(<system><cpu arch="x86_64" vendor="AuthenticAMD">)";
  for (const char* ends : {"12", "21"}) {
    const std::string own(1, ends[0]);
    const std::string other(1, ends[1]);
    text += "<pci busid=\"" + own + R"(" class="0x120000"><gpu dev=")" + own +
            R"(" sm="94" gcn=")" + gcn + R"("><)" + link + " target=\"" + other +
            R"(" count="1" tclass="0x120000"/></gpu></pci>)";
  }
  return text + "</cpu></system>";
}

constexpr const char* kJoined =
    R"(AMD's GPUs are joined by xgmi: "xgmi:7x64GBps" in a line, "kind": "xgmi" in a file)";
constexpr const char* kJoinedNvidia = "xGMI joins AMD's GPUs; write nvlink, nvswitch or pcie";

}  // namespace

TEST_CASE("xgmi: eight GPUs form a mesh, a ring uses every link, and RCCL counts 48 of 64 GB/s") {
  const Topology topology = load_topology({kMi300x, {}, {}});
  const Cluster& cluster = topology.cluster;
  CHECK(cluster.intra.kind == IntraKind::nvlink);
  CHECK(kind_word(cluster.intra.kind, cluster.gpu.vendor) == "xgmi");
  CHECK(cluster.intra.links_per_gpu == 7);
  CHECK(cluster.intra.per_gpu.gigabytes_per_second() == doctest::Approx(448));
  CHECK(cluster.ring.channels * cluster.ring.intra.gigabytes_per_second() ==
        doctest::Approx(7 * 48));
  CHECK(cluster.nvls_channels == 0);
  const NodeType& node = topology.node_types.front();
  const ConnectionMatrix matrix = connection_matrix(node.graph, node.gpu.vendor);
  for (std::size_t other = 1; other < 8; ++other) CHECK(matrix.cells[0][other] == "XGMI");
  CHECK(implausible_figures(cluster).empty());
  const Topology pair = load_topology({"node:1 gpu:2xMI250X xgmi:4x50GBps", {}, {}});
  CHECK(connection_matrix(pair.node_types.front().graph, GpuVendor::amd).cells[0][1] == "4×XGMI");
  CHECK(pair.cluster.intra.per_gpu.gigabytes_per_second() == doctest::Approx(200));
}

TEST_CASE("xgmi: NVIDIA's words for AMD's GPUs, and vice versa, are refused with a hint") {
  CHECK(line_complaint("node:1 gpu:8xMI300X nvlink:7x64GBps") ==
        std::string("cluster:nvlink:7x64GBps: MI300X has no NVLink. ") + kJoined);
  CHECK(line_complaint("nvswitch:448GBps node:1 gpu:8xMI250X") ==
        std::string("cluster:nvswitch:448GBps: MI250X has no NVSwitch. ") + kJoined);
  CHECK(line_complaint("node:1 gpu:8xH100 xgmi:7x64GBps") ==
        std::string("cluster:xgmi:7x64GBps: H100 has no xGMI. ") + kJoinedNvidia);
  CHECK(line_complaint("node:1 gpu:8xMI300X xgmi:7x64GBps:cube") ==
        "cluster:xgmi:7x64GBps:cube: \"cube\" is not a layout of xGMI; expected pair or mesh");
  CHECK(line_complaint("node:1 gpu:8xMI300X xgmi:6x64GBps") ==
        "cluster:xgmi:6x64GBps: 6 links per GPU cannot be shared evenly by the 7 other GPUs of a "
        "mesh");
  CHECK(line_complaint("node:1 gpu:8xMI300X xgmi:64GBps") ==
        "cluster:xgmi:64GBps: \"64GBps\" is not LINKSxBANDWIDTH, such as \"7x64GBps\"");
  CHECK(line_complaint("node:1 gpu:8xMI300X") ==
        "cluster: missing how the GPUs of a node are joined. Add one of \"xgmi:7x64GBps\", "
        "\"pcie:25GBps\"");
  CHECK(line_complaint("node:1 gpu:8xMI300X pcie:50GBps") == "");
}

TEST_CASE("xgmi: a cluster file can state it as an interconnect or link by link") {
  const Cluster line = parse_cluster_line(kMi300x);
  const Cluster file = parse_cluster(file_with(R"({"gpus": 8, "gpu": "MI300X", "interconnect":
          {"kind": "xgmi", "links_per_gpu": 7, "per_link": "64GBps"}})"),
                                     "lab.json");
  CHECK(file.ring.channels == line.ring.channels);
  CHECK(file.intra.per_gpu == line.intra.per_gpu);
  const std::string wired = R"({"gpu": "MI250X", "wiring": {"vertices": [
      {"name": "gpu0", "kind": "gpu"}, {"name": "gpu1", "kind": "gpu"}], "links": [
      {"between": ["gpu0", "gpu1"], "kind": "xgmi", "links": 4, "per_link": "50GBps"}]}})";
  CHECK(parse_cluster(file_with(wired), "lab.json").intra.per_gpu.gigabytes_per_second() ==
        doctest::Approx(200));
  const auto joined = [](const std::string& gpu, const std::string& kind) {
    return R"({"gpus": 8, "gpu": ")" + gpu + R"(", "interconnect": {"kind": ")" + kind +
           R"(", "links_per_gpu": 7, "per_link": "64GBps", "layout": "mesh"}})";
  };
  CHECK(node_complaint(joined("MI300X", "nvlink")) ==
        std::string("lab.json:/node/interconnect/kind: MI300X has no NVLink. ") + kJoined);
  CHECK(node_complaint(joined("V100", "xgmi")) ==
        std::string("lab.json:/node/interconnect/kind: V100 has no xGMI. ") + kJoinedNvidia);
  std::string nvlink = wired;
  nvlink.replace(nvlink.find("xgmi"), 4, "nvlink");
  CHECK(node_complaint(nvlink) ==
        std::string("lab.json:/node/wiring/links/0/kind: MI250X has no NVLink. ") + kJoined);
  std::string hub = wired;
  hub.replace(hub.find(R"("kind": "gpu"})", hub.find("gpu1")), 14, R"("kind": "nvswitch"})");
  CHECK(node_complaint(hub) ==
        std::string("lab.json:/node/wiring/vertices/1: MI250X has no NVSwitch. ") + kJoined);
}

TEST_CASE("xgmi: a written file can be read again") {
  const Calibration calibration = {
      .constants = constants_of(parse_cluster_line(kMi300x)),
      .shapes = {{.nodes = 1, .gpus_per_node = 8, .smallest = 8_B, .largest = 64_MiB}}};
  const std::string text = calibrated_cluster_file(kMi300x, calibration);
  CHECK(text.find(R"("kind": "xgmi")") != std::string::npos);
  const Cluster again = parse_cluster(text, "again.json");
  CHECK(again.gpu.name == "MI300X");
  CHECK(again.intra.links_per_gpu == 7);
}

TEST_CASE("xgmi: RCCL's topology file has xgmi instead of NVLink") {
  const XmlNode node = parse_nccl_xml(pair_xml("xgmi"), "t.xml", find_gpu("MI300X"));
  CHECK(connection_matrix(node.graph, GpuVendor::amd).cells[0][1] == "XGMI");
  CHECK(complaint_of([] { parse_nccl_xml(pair_xml("nvlink"), "t.xml", find_gpu("MI300X")); }) ==
        "t.xml:line 1: <nvlink>, and the GPUs are MI300X. Name the GPU that the node has");
  CHECK(complaint_of([] { parse_nccl_xml(pair_xml("xgmi"), "t.xml", find_gpu("A100")); }) ==
        "t.xml:line 1: <xgmi>, and the GPUs are A100. Name the GPU that the node has");
  const XmlNode by_gcn = parse_nccl_xml(pair_xml("xgmi"), "t.xml", {});
  CHECK(by_gcn.gpu->name == "MI300X");
}

TEST_CASE("amd: nodes of NVIDIA in the same cluster are refused") {
  const std::string text = R"({"schema": "ddpsim.cluster/1", "name": "lab", "node_types": [
      {"name": "a", "count": 1, "node": {"gpus": 1, "gpu": "MI300X"}},
      {"name": "b", "count": 1, "node": {"gpus": 1, "gpu": "H100"}}],
      "network": {"kind": "ib", "nics_per_node": 1, "per_nic": "400Gbps"}})";
  CHECK(complaint_of([&] { parse_cluster(text, "lab.json"); }) ==
        "lab.json: nodes of MI300X and of H100 in one cluster. NCCL and RCCL do not talk to each "
        "other: keep to one vendor");
}

TEST_CASE("amd: notes name the tables that are used, and what counts as a GPU of an MI250X") {
  CHECK(assumed_of_amd(parse_cluster_line("node:1 gpu:8xH100 nvswitch:450GBps")).empty());
  Cluster cluster = parse_cluster_line(kMi300x);
  CHECK(assumed_of_amd(cluster) ==
        "MI300X: NCCL's tables for sm_90 are used instead of RCCL's. The cost model was fitted to "
        "NVIDIA GPUs");
  cluster.calibration = std::make_shared<const Calibration>();
  CHECK(assumed_of_amd(cluster) == "MI300X: NCCL's tables for sm_90 are used instead of RCCL's");
  CHECK(assumed_of_amd(parse_cluster_line("node:1 gpu:2xMI250X xgmi:4x50GBps")) ==
        "MI250X: NCCL's tables for sm_80 are used instead of RCCL's. The cost model was fitted to "
        "NVIDIA GPUs. Each of the two dies (GCDs) of a card counts as a GPU, as in PyTorch");
}

TEST_CASE("plausible: links that a GPU does not have are questioned") {
  const auto doubts = [](const std::string& line) {
    const auto found = implausible_figures(parse_cluster_line(line));
    return found.empty() ? "" : found.front();
  };
  CHECK(doubts("node:1 gpu:8xL40S nvswitch:300GBps") ==
        "L40S has no NVLink. Was \"pcie:31.5GBps\" meant?");
  CHECK(doubts("node:1 gpu:2xRTX5090 nvlink:4x25GBps") ==
        "RTX5090 has no NVLink. Was \"pcie:63GBps\" meant?");
  CHECK(doubts("node:1 gpu:2xA40 nvlink:4x14GBps") == "");
  CHECK(doubts("node:1 gpu:8xL40S pcie:31.5GBps") == "");
}

TEST_CASE("xgmi: the GPU follows from RCCL's number of its instruction set") {
  const auto gpu = [](const std::string& gcn) {
    return describe_source(pair_xml("xgmi", gcn), "t.xml", "").types.front().gpu.name;
  };
  CHECK(gpu("gfx90a") == "MI250X");
  CHECK(gpu("90a") == "MI250X");
  CHECK(gpu("910") == "MI250X");
  CHECK(gpu("940") == "MI300A");
  CHECK(gpu("942") == "MI300X");
}
