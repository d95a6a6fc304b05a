// Dumps and lists from real machines, read as graphs.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "data_files.hpp"
#include "ddpsim/formats/files.hpp"
#include "ddpsim/topologies/topology.hpp"
#include "nccl_xml.hpp"
#include "nvidia_matrix.hpp"
#include "switch_list.hpp"

using namespace ddpsim;

namespace {

std::string fixture(const std::string& name) {
  return files::fixture_file("topologies/") + name;
}

Topology load_fixture(const std::string& text) {
  return load_topology({text, {}, {}});
}

}  // namespace

TEST_CASE("nvidia-smi matrix: four GPUs with four links per pair, underlined header and legend") {
  const Topology topology =
      load_fixture(fixture("four-a100.txt") + " gpu:4xA100 node:2 nic:200Gbps:ib");
  const Cluster& cluster = topology.cluster;
  CHECK(cluster.ranks() == 8);
  CHECK(cluster.intra.kind == IntraKind::nvlink);
  CHECK(cluster.intra.per_gpu.gigabytes_per_second() == doctest::Approx(300));
  CHECK(cluster.network.nics_per_node == 2);
  CHECK(cluster.ring.channels == 2);
  const ConnectionMatrix matrix = connection_matrix(topology.node_types.front().graph);
  // The matrix is printed as it was read. NODE and PHB count as the same.
  const std::vector<std::vector<std::string>> expected = {
      {"X", "NV4", "NV4", "NV4", "PIX", "SYS"}, {"NV4", "X", "NV4", "NV4", "PXB", "SYS"},
      {"NV4", "NV4", "X", "NV4", "SYS", "PHB"}, {"NV4", "NV4", "NV4", "X", "SYS", "PHB"},
      {"PIX", "PXB", "SYS", "SYS", "X", "SYS"}, {"SYS", "SYS", "PHB", "PHB", "SYS", "X"}};
  CHECK(matrix.cells == expected);
  CHECK(topology.node_types.front().graph.vertices[4].name == "mlx5_0");
}

TEST_CASE("nvidia-smi matrix: more links than a GPU has mean an NVSwitch, with columns by spaces") {
  const Topology topology = load_fixture(fixture("eight-h100.txt") + " gpu:H100");
  CHECK(topology.cluster.intra.kind == IntraKind::nvswitch);
  CHECK(topology.cluster.ring.channels == 12);
  CHECK(topology.cluster.ring.intra.gigabytes_per_second() == doctest::Approx(30));
  CHECK(topology.cluster.nvls_channels == 16);
  CHECK(load_cluster({"dgxh100", {}, {}}).intra.per_gpu == topology.cluster.intra.per_gpu);
}

TEST_CASE("nvidia-smi matrix: NVLink in pairs, PCIe between them") {
  const std::string text =
      "\tGPU0\tGPU1\tGPU2\tGPU3\nGPU0\tX\tNV4\tSYS\tSYS\nGPU1\tNV4\tX\tSYS\tSYS\n"
      "GPU2\tSYS\tSYS\tX\tNV4\nGPU3\tSYS\tSYS\tNV4\tX\n";
  const NodeGraph graph = parse_nvidia_matrix(text, "m.txt", *find_gpu("A100"));
  CHECK(graph.all(VertexKind::cpu).size() == 2);
  const ConnectionMatrix matrix = connection_matrix(graph);
  CHECK(matrix.cells[0] == std::vector<std::string>{"X", "NV4", "SYS", "SYS"});
}

TEST_CASE("NCCL topology XML: the reference's node, GPUs numbered by rank") {
  const Topology topology = load_fixture(fixture("two-v100.xml"));
  const NodeType& type = topology.node_types.front();
  CHECK(topology.cluster.gpu.name == "V100");
  CHECK(topology.cluster.cpu == CpuVendor::intel);
  CHECK(topology.cluster.network.kind == NetworkKind::infiniband);
  CHECK(type.graph.vertices[0].name == "gpu0");
  CHECK(type.graph.vertices[1].name == "gpu1");
  CHECK(topology.cluster.intra.per_gpu.gigabytes_per_second() == doctest::Approx(50));
  const Cluster bundled = load_cluster({"2xv100-nvlink", {}, {}});
  CHECK(topology.cluster.ring.channels == bundled.ring.channels);
  CHECK(topology.cluster.ring.intra == bundled.ring.intra);
  for (const Wire& wire : type.graph.wires) {
    if (wire.kind != LinkKind::pcie) continue;
    CHECK(wire.nominal.gigabytes_per_second() == doctest::Approx(15.754).epsilon(1e-4));
    CHECK(wire.nccl.gigabytes_per_second() == doctest::Approx(12));
  }
  const Topology nodes = load_fixture(fixture("two-v100.xml") + " node:4");
  CHECK(nodes.cluster.ring.channels == 1);
  CHECK(nodes.cluster.ring.inter.gigabytes_per_second() == doctest::Approx(12));
}

TEST_CASE("NCCL topology XML: NVSwitch targets, sockets, and a NIC that reduces") {
  std::string text = R"(<?xml version="1.0"?>
<system version="1" colour="unknown attributes are passed over">)";
  for (int cpu = 0; cpu < 2; ++cpu) {
    text += R"(<cpu numaid=")" + std::to_string(cpu) +
            R"(" arch="x86_64" vendor="AuthenticAMD" familyid="175" modelid="1">)";
    for (int i = 0; i < 4; ++i) {
      const std::string n = std::to_string(4 * cpu + i);
      text += R"(<pci busid="0000:)" + n +
              R"(0:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" )"
              R"(link_width="16"><pci busid="0000:)" +
              n +
              R"(1:00.0" class="0x030200" )"
              R"(link_speed="16.0 GT/s PCIe" link_width="16"><gpu dev=")" +
              n + R"(" sm="80" rank=")" + n +
              R"(" gdr="1"><nvlink target="fffffff:ffff:ff" count="12" tclass="0x068000"/></gpu>)"
              R"(</pci><pci busid="0000:)" +
              n +
              R"(2:00.0" class="0x020700" )"
              R"(link_speed="16.0 GT/s PCIe" link_width="16"><nic><net name="mlx5_)" +
              n + R"(" dev=")" + n + R"(" speed="200000" gdr="1" coll="1"/></nic></pci></pci>)";
    }
    text += "</cpu>";
  }
  const XmlNode node = parse_nccl_xml(text + "</system>", "t.xml", {});
  CHECK(node.gpu->name == "A100");
  CHECK(node.cpu == CpuVendor::amd);
  CHECK(node.collnet);
  CHECK(node.graph.all(VertexKind::nvswitch).size() == 1);
  const ConnectionMatrix matrix = connection_matrix(node.graph);
  CHECK(matrix.cells[0][7] == "NV12");
  CHECK(matrix.cells[0][8] == "PIX");
  CHECK(matrix.cells[0][9] == "PHB");
  CHECK(matrix.cells[0][15] == "SYS");
}

TEST_CASE("NCCL topology XML: a user's file without <gpu> elements needs the model") {
  const std::string text =
      R"(<system><cpu numaid="0" arch="x86_64"><pci busid="1" class="0x060400" link_speed="" )"
      R"(link_width="0"><pci busid="2" class="0x030200"/><pci busid="3" class="0x030200"/>)"
      R"(<pci busid="4" class="0x020000"/></pci></cpu></system>)";
  const XmlNode node = parse_nccl_xml(text, "t.xml", find_gpu("A100"));
  CHECK(node.graph.all(VertexKind::gpu).size() == 2);
  CHECK(node.graph.all(VertexKind::nic).size() == 1);
  CHECK(node.graph.wires.front().nccl.gigabytes_per_second() == doctest::Approx(12));  // Gen3 x16
}

TEST_CASE("NCCL topology XML: a file without NVLinks has none") {
  const std::string text =
      R"(<system><cpu arch="x86_64"><pci busid="1" class="0x030200"><gpu sm="80" dev="0">)"
      R"(<nvlink target="2" count="0"/></gpu></pci><pci busid="2" class="0x030200">)"
      R"(<gpu sm="80" dev="1"><nvlink target="1" count="0"/></gpu></pci></cpu></system>)";
  const XmlNode node = parse_nccl_xml(text, "t.xml", {});
  for (const Wire& wire : node.graph.wires) CHECK(wire.nominal > Bandwidth());
}

TEST_CASE("switch list: both forms have the same meaning") {
  const SwitchPlan plain = parse_switch_list(read_file(fixture("racks.txt"), 1 << 20), "racks.txt");
  const SwitchPlan slurm =
      parse_switch_list(read_file(fixture("topology.conf"), 1 << 20), "topology.conf");
  CHECK(plain.leaf_of_host == slurm.leaf_of_host);
  CHECK(slurm.hosts == std::vector<std::string>{"n01", "n02", "n03", "n04"});
  CHECK(plain.switches.size() == 3);
  CHECK(slurm.switches.size() == 3);
  CHECK(slurm.switches[0].above == slurm.switches[1].above);
  const Topology topology = load_fixture("dgxa100 switches:" + fixture("racks.txt"));
  CHECK(topology.cluster.nodes == 4);  // all nodes that it names
  const Fabric fabric = build_fabric(topology);
  int trunks = 0;
  for (const Link& link : fabric.links) {
    if (link.kind != LinkKind::network) continue;
    ++trunks;
    CHECK(link.bandwidth.gigabytes_per_second() == doctest::Approx(400));  // 2 x 8 x 25
  }
  CHECK(trunks == 4);
}

TEST_CASE("mixed nodes: the smallest value of each field counts for all") {
  const Topology topology = load_fixture(fixture("mixed.json"));
  CHECK(topology.cluster.ranks() == 8);
  CHECK(topology.cluster.gpu.name == "V100");
  CHECK(topology.cluster.cpu == CpuVendor::amd);
  CHECK(topology.cluster.ring.channels == 1);
  CHECK(topology.cluster.ring.inter.gigabytes_per_second() == doctest::Approx(6));
  CHECK(topology.cluster.network.per_nic.gigabytes_per_second() == doctest::Approx(6.25));
  const Fabric fabric = build_fabric(topology);
  const auto bottleneck = find_bottleneck(fabric);
  REQUIRE(bottleneck);
  // Two nodes of 6.25 GB/s are below a leaf, halved by oversubscription, over two spines. The
  // single channel uses one spine.
  CHECK(bottleneck->kind == LinkKind::network);
  CHECK(bottleneck->bandwidth.gigabytes_per_second() == doctest::Approx(3.125));
}

TEST_CASE("bottleneck: the narrowest link over its share of traffic") {
  const auto found = [](const std::string& text) {
    return *find_bottleneck(build_fabric(ClusterRequest{text, {}, {}}));
  };
  const Bottleneck inside = found("dgx1v");
  CHECK(inside.kind == LinkKind::nvlink);
  CHECK(inside.bus_bandwidth.gigabytes_per_second() == doctest::Approx(150));
  CHECK_FALSE(inside.next_kind);
  const Bottleneck between = found("dgxa100@4");
  CHECK(between.kind == LinkKind::nic);
  CHECK(between.bus_bandwidth.gigabytes_per_second() == doctest::Approx(200));
  CHECK(between.next_kind == LinkKind::pcie);
  CHECK_FALSE(find_bottleneck(build_fabric(ClusterRequest{"dgx1v", {}, 1})));
}
