// Files from real machines: how they identify GPUs, which NICs count, and where a matrix may be.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "complaint.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "ddpsim/topologies/plausible.hpp"
#include "ddpsim/topologies/topology.hpp"
#include "description.hpp"
#include "matrix_text.hpp"
#include "mentions.hpp"
#include "nccl_xml.hpp"
#include "nic_list.hpp"
#include "nvidia_matrix.hpp"
#include "pci_ids.hpp"
#include "rocm_json.hpp"
#include "rocm_matrix.hpp"
#include "switch_list.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

/// `gpus` GPUs below one CPU. `ids` holds the PCI attributes of each, `inner` its content, and
/// `nics` the NICs.
std::string system_xml(int gpus, const std::string& ids, const std::string& inner,
                       const std::string& nics = "") {
  std::string text = R"(<system><cpu numaid="0" arch="x86_64">)";
  for (int i = 0; i < gpus; ++i) {
    std::string gpu = inner;
    for (std::size_t at = gpu.find('#'); at != gpu.npos; at = gpu.find('#'))
      gpu.replace(at, 1, std::to_string(i));
    text += R"(<pci busid=")" + std::to_string(i) +
            R"(" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16" )" + ids + ">" + gpu +
            "</pci>";
  }
  return text + nics + "</cpu></system>";
}

constexpr const char* kA100Ids = R"(vendor="0x10de" device="0x20b2")";
constexpr const char* kDumpedGpu = R"(<gpu dev="#" rank="#" sm="80"/>)";

Topology described_machine(const std::string& text, const std::string& words) {
  return resolve(describe_source(text, "node.xml", words));
}

std::string joined_lines(const std::vector<std::string>& lines) {
  std::string all;
  for (const std::string& line : lines) all += line + '\n';
  return all;
}

ListedNic listed_nic(const std::string& name, double rate, double slot = 0,
                     std::size_t device = 0) {
  return {name, "1", Bandwidth::gigabytes_per_second(rate), Bandwidth::gigabytes_per_second(slot),
          device};
}

std::string counted_names(const std::vector<ListedNic>& listed) {
  std::vector<std::string> doubts;
  std::string names;
  for (const std::size_t place : nics_that_count(listed, doubts))
    names += (names.empty() ? "" : " ") + listed[place].name;
  return names;
}

std::string doubts_of(const std::vector<ListedNic>& listed) {
  std::vector<std::string> doubts;
  nics_that_count(listed, doubts);
  return joined_lines(doubts);
}

const std::string kTwoGpuMatrix =
    "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV4\t0-15\nGPU1\tNV4\t X \t0-15\n";

std::vector<std::string> matrix_row(const std::string& text) {
  return connection_matrix(parse_nvidia_matrix(text, "m.txt", *find_gpu("A100"))).cells.front();
}

}  // namespace

TEST_CASE("pci ids: every GPU is in the catalogue or has a name for messages") {
  CHECK(pci_gpu("0x10de", "0x2324")->name == "H800-SXM");
  CHECK(pci_gpu("0x10DE", "0x26BA")->name == "L20");
  CHECK(pci_gpu("0x1002", "0x74a0")->name == "MI300A");
  CHECK(pci_gpu("0x10de", "0x1db1")->name == "V100-16GB");
  CHECK(pci_gpu("0x10de", "0x20b0")->name == "A100-40GB");
  CHECK(pci_gpu("0x10de", "0x2331")->name == "H100-PCIE");
  CHECK(pci_gpu("0x10de", "0x20f1")->card);
  CHECK_FALSE(pci_gpu("0x10de", "0x20b2")->card);
  CHECK_FALSE(pci_gpu("0x10de", "0xffff"));
  CHECK_FALSE(pci_gpu("", "0x2324"));
  CHECK_FALSE(pci_gpu("0x10de", "2324"));
  CHECK(pci_nic("0x17db", "0x0501")->network == NetworkKind::slingshot);
}

TEST_CASE("NCCL topology XML: the PCI device id overrides sm, and the user's word overrides both") {
  const std::string text =
      system_xml(2, R"(vendor="0x10de" device="0x2329")", R"(<gpu dev="#" rank="#" sm="90"/>)");
  const XmlNode by_id = parse_nccl_xml(text, "t.xml", {});
  CHECK(by_id.gpu->name == "H20");
  CHECK(by_id.doubts.empty());
  const XmlNode by_word = parse_nccl_xml(text, "t.xml", find_gpu("H100"));
  CHECK(by_word.gpu->name == "H100");
  CHECK(mentions(joined_lines(by_word.doubts), "H20 by their PCI device id"));
  const std::string smaller = system_xml(2, R"(vendor="0x10de" device="0x20b0")", kDumpedGpu);
  CHECK(parse_nccl_xml(smaller, "t.xml", {}).gpu->stated() == "A100-40GB");
  const XmlNode left_open = parse_nccl_xml(smaller, "t.xml", find_gpu("A100"));
  CHECK(left_open.gpu->stated() == "A100-40GB");
  CHECK(left_open.doubts.empty());
  const XmlNode other = parse_nccl_xml(smaller, "t.xml", find_gpu("A100-80GB"));
  CHECK(other.gpu->stated() == "A100-80GB");
  CHECK(mentions(joined_lines(other.doubts), "A100-40GB by their PCI device id, but"));
  const std::string unknown = system_xml(2, R"(vendor="0x10de" device="0x2abc")", kDumpedGpu);
  CHECK(mentions(joined_lines(parse_nccl_xml(unknown, "t.xml", {}).doubts),
                 "A100 is assumed because of sm=\"80\""));
  const std::string none = system_xml(2, "", kDumpedGpu);
  CHECK(mentions(joined_lines(parse_nccl_xml(none, "t.xml", {}).doubts), "A800, A30"));
  const std::string missing = system_xml(2, R"(vendor="0x10de" device="0x29bc")", kDumpedGpu);
  CHECK(mentions(complaint_of([&] { parse_nccl_xml(missing, "t.xml", {}); }),
                 "the GPUs are B100 (PCI device 0x29bc), which ddpsim does not know"));
}

TEST_CASE("NCCL_TOPO_FILE: is not read as a PCIe machine without a note") {
  const std::string eight = system_xml(8, kA100Ids, "");
  const Topology usual = described_machine(eight, "");
  CHECK(usual.cluster.intra.kind == IntraKind::nvswitch);
  CHECK(mentions(joined_lines(usual.cluster.doubts), "assuming nvswitch:300GBps"));
  const Topology stated = described_machine(eight, "nvswitch:200GBps nic:8x200Gbps:ib");
  CHECK(stated.cluster.intra.per_gpu.gigabytes_per_second() == doctest::Approx(200));
  CHECK(stated.cluster.doubts.empty());
  CHECK(usual.cluster.name == "node");  // the name of its file
  CHECK(described_machine(eight, "pcie:25GBps").cluster.intra.kind == IntraKind::pcie);
  const Topology cube = described_machine(system_xml(8, "", ""), "gpu:V100");
  CHECK(cube.cluster.intra.kind == IntraKind::nvlink);
  CHECK(cube.cluster.intra.per_gpu.gigabytes_per_second() == doctest::Approx(150));
  CHECK(described_machine(system_xml(4, "", ""), "gpu:T4").cluster.intra.kind == IntraKind::pcie);
  CHECK(mentions(complaint_of([&] { described_machine(system_xml(4, "", ""), "gpu:A40"); }),
                 "does not say how its 4 A40 are joined"));
}

TEST_CASE("NCCL topology XML: a missing NVLink in a dump is noted and can be added") {
  const std::string dump = system_xml(8, kA100Ids, kDumpedGpu);
  CHECK(mentions(joined_lines(described_machine(dump, "").cluster.doubts), "the file shows none"));
  CHECK(described_machine(dump, "nvswitch:300GBps").cluster.intra.kind == IntraKind::nvswitch);
  const std::string card = system_xml(2, R"(vendor="0x10de" device="0x20f1")", kDumpedGpu);
  CHECK(described_machine(card, "").cluster.doubts.empty());
  const std::string own = system_xml(
      2, kA100Ids, R"(<gpu dev="#" rank="#" sm="80"><nvlink target="#" count="12"/></gpu>)");
  CHECK(mentions(joined_lines(described_machine(own, "").cluster.doubts),
                 "lead back to the same GPU"));
  const std::string joined = system_xml(
      2, kA100Ids,
      R"(<gpu dev="#" rank="#" sm="80"><nvlink target="fffffff" count="12" tclass="0x068000"/></gpu>)");
  CHECK(mentions(complaint_of([&] { described_machine(joined, "nvswitch:300GBps"); }),
                 "node.xml states how its GPUs are joined"));
}

TEST_CASE("NCCL topology XML: GPUs are numbered by rank") {
  const std::string text =
      R"(<system><cpu><pci busid="a" class="0x030200" link_width="8">)"
      R"(<gpu dev="0" rank="1" sm="70"/></pci><pci busid="b" class="0x030200">)"
      R"(<gpu dev="1" rank="0" sm="70"/></pci></cpu></system>)";
  const XmlNode node = parse_nccl_xml(text, "t.xml", {});
  CHECK(node.graph.vertices[0].name == "gpu0");
  CHECK(node.graph.vertices[1].name == "gpu1");
  for (const Wire& wire : node.graph.wires)
    if (wire.a == 1) CHECK(wire.nccl.gigabytes_per_second() == doctest::Approx(6));
  CHECK(mentions(joined_lines(node.doubts), "GPU0 is device 1"));
}

TEST_CASE("NCCL topology XML: a GPU without <gpu> is not used if others have it") {
  const std::string text = R"(<system><cpu><pci busid="a" class="0x030200"><gpu dev="0" sm="70"/>)"
                           R"(</pci><pci busid="b" class="0x030200"/></cpu></system>)";
  const XmlNode node = parse_nccl_xml(text, "t.xml", {});
  CHECK(node.graph.all(VertexKind::gpu).size() == 1);
  CHECK(mentions(joined_lines(node.doubts), "GPUs without <gpu> do not count"));
}

TEST_CASE("NCCL topology XML: a GPU's slot is not faster than the GPU") {
  const std::string text =
      R"(<system><cpu><pci busid="a" class="0x030200" link_speed="64.0 GT/s PCIe">)"
      R"(<gpu dev="0" sm="70"/></pci></cpu></system>)";
  const XmlNode node = parse_nccl_xml(text, "t.xml", {});
  CHECK(node.graph.wires.front().nominal.gigabytes_per_second() == doctest::Approx(15.75));
  CHECK(mentions(joined_lines(node.doubts), "V100 reaches only 15.8"));
}

TEST_CASE("NCCL topology XML: an impossible NIC rate is not used, and a note asks for it") {
  const std::string cassini =
      R"(<pci busid="n" class="0x020000" vendor="0x17db" device="0x0501"><nic>)"
      R"(<net name="cxi0" speed="200000000"/></nic></pci>)";
  const std::string text = system_xml(2, "", R"(<gpu dev="#" rank="#" sm="70"/>)", cassini);
  const Cluster one = described_machine(text, "").cluster;
  CHECK(one.network.per_nic == Bandwidth());
  CHECK(mentions(joined_lines(one.doubts), "nic:200Gbps:slingshot"));
  const Cluster two = described_machine(text, "nic:200Gbps:slingshot node:2").cluster;
  CHECK(two.network.per_nic.gigabytes_per_second() == doctest::Approx(25));
  CHECK_FALSE(mentions(joined_lines(two.doubts), "200000000"));
  CHECK(mentions(complaint_of([&] { described_machine(text, "node:2"); }),
                 "the rate of cxi0 is not stated"));
}

TEST_CASE("NICs: ports of a device share its slot, in one <nic> or as PCI functions") {
  const auto slots = [](const std::string& nics) {
    const XmlNode node = parse_nccl_xml(system_xml(1, kA100Ids, kDumpedGpu, nics), "t.xml", {});
    std::vector<double> rates;
    for (const Wire& wire : node.graph.wires)
      if (node.graph.vertices[wire.a].kind == VertexKind::nic)
        rates.push_back(wire.nominal.gigabytes_per_second());
    return rates;
  };
  const std::string slot = R"(class="0x020700" link_speed="16.0 GT/s PCIe" link_width="8">)";
  for (const std::string& nics :
       {R"(<pci busid="0:18:00.0" )" + slot +
            R"(<nic><net name="mlx5_0"/><net name="mlx5_1"/></nic></pci>)",
        R"(<pci busid="0:18:00.0" )" + slot + R"(<nic><net name="mlx5_0"/></nic></pci>)" +
            R"(<pci busid="0:18:00.1" )" + slot + R"(<nic><net name="mlx5_1"/></nic></pci>)"}) {
    const std::vector<double> rates = slots(nics);
    REQUIRE(rates.size() == 2);
    for (const double rate : rates) CHECK(rate == doctest::Approx(7.877).epsilon(1e-3));
  }
}

TEST_CASE("NICs: interfaces made by software do not count") {
  for (const char* name :
       {"lo", "docker0", "br-1a2b", "veth12ab", "cali0", "tunl0", "virbr0", "cni0", "flannel.1",
        "tun0", "tap3", "dummy0", "vxlan.calico", "kube-ipvs0", "lxdbr0", "vnet1", "wg0"}) {
    CAPTURE(name);
    CHECK(is_virtual_interface(name));
  }
  for (const char* name : {"eth0", "eno1", "enp3s0", "ens5", "ib0", "mlx5_0", "mlx5_bond_0",
                           "bond0", "hsn0", "cxi0", "rdmap0s6", "bnxt_re0", "loop1", "p1p1"}) {
    CAPTURE(name);
    CHECK_FALSE(is_virtual_interface(name));
  }
}

TEST_CASE("NICs: each device that is too slow is named, with all its ports") {
  const std::string rest =
      " too slow compared with the other NICs and not used (NCCL_IB_HCA=^mlx5_1 keeps NCCL from "
      "using it too)\n";
  CHECK(doubts_of({listed_nic("mlx5_0", 25, 31, 1), listed_nic("mlx5_1", 3.1, 16, 2)}) ==
        "mlx5_1 in a PCIe slot of 16 GB/s is" + rest);
  CHECK(doubts_of({listed_nic("mlx5_0", 25, 63, 1), listed_nic("mlx5_1", 25, 4, 2),
                   listed_nic("mlx5_2", 25, 4, 2)}) ==
        "mlx5_1, mlx5_2 share one device in a PCIe slot of 4 GB/s and are" + rest);
  CHECK(doubts_of({listed_nic("mlx5_0", 25, 31, 1), listed_nic("mlx5_1", 3.1, 16, 2),
                   listed_nic("mlx5_2", 3.1, 0, 3)}) ==
        "mlx5_1 in a PCIe slot of 16 GB/s is" + rest +
            "mlx5_2 is too slow compared with the other NICs and not used (NCCL_IB_HCA=^mlx5_2 "
            "keeps NCCL from using it too)\n");
}

TEST_CASE("NICs: a device counts once, and a slow device does not count") {
  CHECK(counted_names({listed_nic("eth0", 3), listed_nic("eth1", 3), listed_nic("bond0", 6)}) ==
        "bond0");
  CHECK(counted_names({listed_nic("eth0", 3), listed_nic("eth1", 3), listed_nic("bond0", 3)}) ==
        "bond0");
  CHECK(counted_names({listed_nic("eth0", 3), listed_nic("eth1", 2), listed_nic("bond0", 6)}) ==
        "eth0 eth1 bond0");
  CHECK(counted_names({listed_nic("mlx5_0", 25, 63, 1), listed_nic("mlx5_bond_0", 50, 63, 1),
                       listed_nic("mlx5_1", 25, 63, 1), listed_nic("mlx5_2", 50, 63, 2)}) ==
        "mlx5_bond_0 mlx5_2");
  CHECK(counted_names({listed_nic("eth0", 3), listed_nic("eth0.100", 3)}) == "eth0");
  CHECK(counted_names({listed_nic("mlx5_0", 50, 63, 1), listed_nic("mlx5_0_dma", 50, 63, 2)}) ==
        "mlx5_0");
  CHECK(counted_names({listed_nic("mlx5_0", 25, 31, 1), listed_nic("mlx5_1", 12.5, 16, 2)}) ==
        "mlx5_0 mlx5_1");
  CHECK(counted_names({listed_nic("mlx5_0", 25, 31, 1), listed_nic("mlx5_1", 3.1, 16, 2)}) ==
        "mlx5_0");
  CHECK(counted_names({listed_nic("mlx5_0", 25, 63, 1), listed_nic("mlx5_1", 25, 4, 2),
                       listed_nic("mlx5_2", 25, 4, 2)}) == "mlx5_0");
  // Without rates, only slots can be compared.
  CHECK(counted_names({listed_nic("mlx5_0", 0, 126, 1), listed_nic("mlx5_1", 0, 16, 2)}) ==
        "mlx5_0 mlx5_1");
  CHECK(counted_names({listed_nic("mlx5_0", 0, 126, 1), listed_nic("mlx5_1", 0, 3.9, 2)}) ==
        "mlx5_0");
}

TEST_CASE("nvidia-smi matrix: is found anywhere in a text") {
  const std::vector<std::string> expected = {"X", "NV4"};
  CHECK(matrix_row(kTwoGpuMatrix) == expected);
  CHECK(matrix_row("$ nvidia-smi topo -m\n" + kTwoGpuMatrix + "\n$ ") == expected);
  CHECK(matrix_row("GPU Topology:\n```\n" + kTwoGpuMatrix + "```\n") == expected);
  CHECK(matrix_row(std::string(8192, 'x') + "\n" + kTwoGpuMatrix) == expected);
  CHECK(matrix_row("GPU0 and GPU1 are ours:\n" + kTwoGpuMatrix) == expected);
  CHECK(matrix_row(
            "| | GPU0 | GPU1 | CPU Affinity |\n|---|:---:|---|---|\n| GPU0 | X | NV4 | 0-15 |\n"
            "| GPU1 | NV4 | X | 0-15 |\n") == expected);
  for (const std::string prefix : {"node1: ", "0: ", "[1,0]<stdout>:", "> "}) {
    CAPTURE(prefix);
    std::string text;
    for (std::string rest = kTwoGpuMatrix; !rest.empty();) {
      const std::size_t end = rest.find('\n') + 1;
      text += prefix + rest.substr(0, end) + "other: something else\r\n";
      rest.erase(0, end);
    }
    CHECK(looks_like_nvidia_matrix(text));
    CHECK(matrix_row(text) == expected);
  }
  CHECK(matrix_row("09:01 a] \tGPU0\tGPU1\n09:02 b] GPU0\t X \tNV4\n09:03 c] GPU1\tNV4\t X \n") ==
        expected);
  CHECK_FALSE(looks_like_nvidia_matrix("GPU0 and GPU1 are joined\nGPU0 is fine\n"));
}

TEST_CASE("nvidia-smi matrix: rows of NICs may be missing, or the last one cut") {
  const std::string gpus =
      "\tGPU0\tGPU1\tNIC0\tNIC1\nGPU0\tX\tNV4\tPIX\tSYS\nGPU1\tNV4\tX\tSYS\tPIX\n";
  const std::vector<std::string> expected = {"X", "NV4", "PIX", "SYS"};
  CHECK(matrix_row(gpus) == expected);
  CHECK(matrix_row(gpus + "\nNIC Legend:\n\n  NIC0: mlx5_0\n") == expected);
  CHECK(matrix_row(gpus + "NIC0\tPIX\tSYS\tX\tSYS\nNIC1\tSYS\tP") == expected);
}

TEST_CASE("nvidia-smi matrix: the first of several different ones is read, with a note") {
  std::string other = kTwoGpuMatrix;
  for (std::size_t at = other.find("NV4"); at != other.npos; at = other.find("NV4"))
    other.replace(at, 3, "SYS");
  std::vector<std::string> doubts;
  parse_nvidia_matrix(kTwoGpuMatrix + kTwoGpuMatrix, "m.txt", *find_gpu("A100"), &doubts);
  CHECK(mentions(joined_lines(doubts), "2 matrices are the same, so they describe one node"));
  parse_nvidia_matrix(kTwoGpuMatrix + other, "m.txt", *find_gpu("A100"), &doubts);
  CHECK(mentions(joined_lines(doubts), "line 4 differs"));
}

TEST_CASE("matrix: a GPU named in the text is used, and cannot be contradicted") {
  using Names = std::set<std::string>;
  CHECK(gpus_named_beside(
            "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-1)\nGPU 1: NVIDIA A100-SXM4-80GB\n") ==
        Names{"A100-80GB"});
  CHECK(gpus_named_beside("GPU 0: NVIDIA A100-SXM4-40GB\nGPU 1: NVIDIA A100\n") ==
        Names{"A100-40GB"});
  const std::string two = "GPU 0: NVIDIA A100-SXM4-80GB\nGPU 1: Tesla T4\n";
  CHECK(gpus_named_beside(two) == Names{"A100-80GB", "T4"});
  CHECK(gpus_named_beside("GPU[0]\t\t: Card Series: \t\tAMD Instinct MI300X OAM\n") ==
        Names{"MI300X"});
  CHECK(
      gpus_named_beside("|   0  NVIDIA GeForce RTX 4090        Off |   00000000:01:00.0 Off |\n"
                        "| 30%   31C    P8             21W /  350W |       1MiB /  24576MiB |\n") ==
      Names{"RTX4090"});
  CHECK(gpus_named_beside("GPU models and configuration: \n").empty());
  const std::string one = "GPU 0: NVIDIA A100-SXM4-80GB\n" + kTwoGpuMatrix;
  CHECK(mentions(complaint_of([&] { described_machine(two + kTwoGpuMatrix, "gpu:A100"); }),
                 "names GPUs of several models: A100-80GB, T4"));
  CHECK(mentions(complaint_of([&] { described_machine(one, "gpu:H100"); }),
                 "names A100-80GB, but you wrote gpu:H100"));
  CHECK(mentions(complaint_of([&] { described_machine(one, "gpu:A100-40GB"); }),
                 "names A100-80GB, but you wrote gpu:A100-40GB"));
  const GpuModel gpu = described_machine(one, "gpu:A100").cluster.gpu;
  CHECK(gpu.name == "A100");
  CHECK(gpu.stated() == "A100-80GB");
}

TEST_CASE("matrix: one cut on the right, and one without NVLink in its legend") {
  const std::string cut = "\tGPU0\tGPU1\nGPU0\tX\tSYS\nGPU1\tSYS\tX\nGPU2\tSYS\tSYS\n";
  CHECK(mentions(complaint_of([&] { described_machine(cut, "gpu:A100"); }),
                 "this line is the row of GPU2, but the matrix has columns for only 2 devices. The "
                 "matrix was cut off on the right"));
  const std::string plain = "\tGPU0\tGPU1\nGPU0\tX\tSYS\nGPU1\tSYS\tX\n\nLegend:\n\n";
  const std::string pix = "  PIX  = Connection traversing at most a single PCIe bridge\n";
  const std::string nv = "  NV#  = Connection traversing a bonded set of # NVLinks\n";
  CHECK(mentions(complaint_of([&] { described_machine(plain + pix, "gpu:A100"); }),
                 "topo -mp` leaves them out"));
  CHECK(described_machine(plain + pix + nv, "gpu:A100").cluster.gpus_per_node == 2);
  CHECK(described_machine(plain + pix, "gpu:T4").cluster.gpus_per_node == 2);
}

TEST_CASE("matrix: names of NICs tell the kind of network unless the word does") {
  const auto kind = [](const std::string& nic, const std::string& word) {
    const std::string matrix =
        "\tGPU0\tNIC0\nGPU0\tX\tPIX\nNIC0\tPIX\tX\n\nNIC Legend:\n\n  NIC0: " + nic + "\n";
    return described_machine(matrix, "gpu:A100 node:2 nic:" + word).cluster.network.kind;
  };
  CHECK(kind("bnxt_re0", "400Gbps") == NetworkKind::roce);
  CHECK(kind("rdmap16s27", "100Gbps") == NetworkKind::efa);
  CHECK(kind("mlx5_0", "200Gbps") == NetworkKind::infiniband);
  CHECK(kind("bnxt_re0", "400Gbps:ib") == NetworkKind::infiniband);
}

TEST_CASE("implausible: rates of both directions together, as in data sheets") {
  const auto doubts = [](const std::string& line) {
    return joined_lines(implausible_figures(load_cluster({line, std::nullopt, std::nullopt})));
  };
  for (const std::string line :
       {"node:2 gpu:8xA100 nvswitch:600GBps nic:8x200Gbps:ib", "node:1 gpu:8xH100 nvswitch:900GBps",
        "node:1 gpu:8xB200 nvswitch:1.8TBps", "node:1 gpu:4xA100 nvlink:24x25GBps:mesh",
        "node:1 gpu:8xL40S pcie:64GBps"})
    CHECK_MESSAGE(mentions(doubts(line), "data sheets state both directions together"), line);
  for (const std::string line :
       {"node:2 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib", "node:1 gpu:8xH100 nvswitch:450GBps",
        "node:1 gpu:8xB200 nvswitch:900GBps", "node:1 gpu:4xA100 nvlink:12x25GBps:mesh",
        "node:1 gpu:8xL40S pcie:31.5GBps"})
    CHECK_MESSAGE(doubts(line).empty(), line);
}

TEST_CASE("NVLink: behind a switch, the GPU with the fewest links sets the rate") {
  const std::string counts[] = {"12", "10", "12"};
  std::string text = R"(<system><cpu numaid="0" arch="x86_64">)";
  for (int i = 0; i < 3; ++i)
    text +=
        fmt::format(R"(<pci busid="{0}" class="0x030200" {1}><gpu dev="{0}" rank="{0}" sm="80">)"
                    R"(<nvlink target="fffffff" count="{2}" tclass="0x068000"/></gpu></pci>)",
                    i, kA100Ids, counts[i]);
  const Cluster cluster = described_machine(text + "</cpu></system>", "").cluster;
  CHECK(cluster.intra.kind == IntraKind::nvswitch);
  CHECK(cluster.intra.per_gpu.gigabytes_per_second() == doctest::Approx(250));
}

TEST_CASE("NVLink: a GPU without links, or with fewer links, is reported as a fault") {
  const std::string lost =
      "\tGPU0\tGPU1\tGPU2\nGPU0\tX\tNV12\tSYS\nGPU1\tNV12\tX\tSYS\nGPU2\tSYS\tSYS\tX\n";
  CHECK(
      mentions(joined_lines(described_machine(lost, "gpu:A100").cluster.doubts),
               "GPU2 has no NVLink, where 2 of the node's GPUs have it: a fault, or a bridge that "
               "is missing (`nvidia-smi nvlink --status`)"));
  const std::string fewer =
      "\tGPU0\tGPU1\tGPU2\nGPU0\tX\tNV12\tNV10\nGPU1\tNV12\tX\tNV10\nGPU2\tNV10\tNV10\tX\n";
  CHECK(mentions(
      joined_lines(described_machine(fewer, "gpu:A100").cluster.doubts),
      "GPUs with fewer NVLinks than others at the same switch, which is a fault: GPU2 (10 of 12) "
      "(`nvidia-smi nvlink --status`)"));
}

NodeGraph rocm_node(const std::string& text, std::string_view gpu = "MI300X") {
  return draw_rocm_node(read_rocm_tables(text, "r.txt"), "r.txt", *find_gpu(gpu));
}

TEST_CASE("rocm-smi and amd-smi: xGMI by the table of link types") {
  const std::string rocm =
      "==== Link Type between two GPUs ====\n       GPU0  GPU1\nGPU0   0     XGMI\nGPU1   XGMI  0\n"
      "GPU[0]\t\t: (Topology) Numa Node: 0\nGPU[1]\t\t: (Topology) Numa Node: 1\n";
  const std::string amd =
      "LINK TYPE TABLE:\n             0000:0c:00.0 0000:22:00.0\n0000:0c:00.0 SELF         XGMI\n"
      "0000:22:00.0 XGMI         SELF\n";
  for (const std::string& text : {rocm, amd}) {
    CHECK(looks_like_rocm_matrix(text));
    const NodeGraph graph = rocm_node(text);
    CHECK(connection_matrix(graph, GpuVendor::amd).cells[0][1] == "XGMI");
  }
  CHECK(connection_matrix(rocm_node(rocm, "MI250X"), GpuVendor::amd).cells[0][1] == "4×XGMI");
  const std::string far =
      "==== Hops between two GPUs ====\n GPU0 GPU1\nGPU0 0 2\nGPU1 2 0\n" + rocm;
  CHECK(connection_matrix(rocm_node(far), GpuVendor::amd).cells[0][1] == "SYS");
  const auto complaint = [](const std::string& text) {
    return complaint_of([&] { rocm_node(text); });
  };
  CHECK(complaint("LINK TYPE TABLE:\n") ==
        "r.txt:line 2: no GPUs below the title of the table. The table was cut off");
  CHECK(complaint("LINK TYPE TABLE:\n GPU0 GPU1\nGPU0 0 XGMI\n") ==
        "r.txt:line 4: 1 rows for 2 columns. The table was cut off");
  CHECK(complaint("LINK TYPE TABLE:\n GPU0 GPU1\nGPU0 0 LINK\nGPU1 LINK 0\n") ==
        "r.txt: \"LINK\" between GPU0 and GPU1 is no link. Expected XGMI or PCIE");
  CHECK(complaint("LINK TYPE TABLE:\n GPU0 GPU1\nGPU0 0 XGMI XGMI\nGPU1 XGMI 0\n") ==
        "r.txt:line 3: 3 cells for 2 columns");
}

TEST_CASE("rocm-smi and amd-smi: JSON and tables give the same node") {
  const std::string rocm =
      R"({"card0": {"Card Series": "AMD Instinct MI300X OAM", "(Topology) Numa Node": "0"}, "card1": {"(Topology) Numa Node": 1},
          "system": {"(Topology) Weight between DRM devices 0 and 1": "15", "(Topology) Hops between DRM devices 0 and 1": "1",
                     "(Topology) Link type between DRM devices 0 and 1": "XGMI"}})";
  const std::string old =
      R"([{"gpu": 0, "weight": {"gpu_0": 0, "gpu_1": 15}, "hops": {"gpu_0": 0, "gpu_1": 1}, "link_type": {"gpu_0": "SELF", "gpu_1": "XGMI"}},
          {"gpu": 1, "weight": {"gpu_0": 15, "gpu_1": 0}, "hops": {"gpu_0": 1, "gpu_1": 0}, "link_type": {"gpu_0": "XGMI", "gpu_1": "SELF"}}])";
  const auto links = [](const std::string& type, int hops) {
    const std::string rest =
        fmt::format(R"("weight": 15, "link_status": "DISABLED", "link_type": "{}", "num_hops": {})",
                    type, hops);
    return fmt::format(
        R"([{{"gpu": 0, "links": [{{"gpu": 0, "link_type": "SELF", "colour": 1}}, {{"gpu": 1, {0}}}]}},
                           {{"gpu": 1, "links": [{{"gpu": 0, {0}}}, {{"gpu": 1, "num_hops": 0}}]}}])",
        rest);
  };
  const auto joined = [](const std::string& text) {
    return connection_matrix(rocm_node(text), GpuVendor::amd).cells[0][1];
  };
  for (const std::string& text :
       {rocm, old, links("XGMI", 1),
        "$ amd-smi topology --json\n{\"gpu_data\": " + links("XGMI", 1) + "}\n$"}) {
    CHECK(looks_like_rocm_json(text));
    CHECK(joined(text) == "XGMI");
  }
  CHECK(joined(links("PCIE", 2)) == "PHB");
  CHECK(read_rocm_tables(rocm, "r.txt").model == "AMD Instinct MI300X OAM");
  std::vector<std::string> doubts;
  draw_rocm_node(read_rocm_tables(links("PCIE", 2), "r.txt"), "r.txt", *find_gpu("MI300X"),
                 &doubts);
  CHECK(mentions(joined_lines(doubts), "not used: colour"));
  CHECK(mentions(joined_lines(doubts), "GPU0 and GPU1"));
  CHECK(mentions(joined_lines(doubts), "pcie:RATE:no-p2p"));
  const auto complaint = [](const std::string& text) {
    return complaint_of([&] { rocm_node(text); });
  };
  CHECK(complaint(R"({"card0": {"Voltage": "812"}})") ==
        "r.txt: is JSON of rocm-smi without its table of link types. Give the output of `rocm-smi "
        "--showtopo --json`");
  CHECK(complaint(R"([{"gpu": 0, "asic": {"market_name": "MI300X"}}])") ==
        "r.txt: is JSON of amd-smi without its table of link types. Give the output of `amd-smi "
        "topology --json`");
  CHECK(mentions(complaint(links("N/A", 1)), "is no link"));
  CHECK(mentions(complaint(links("XGMI", 0)), "rocm-smi --showtopotype"));
  CHECK(mentions(complaint(R"([{"gpu": 0, "links": [{"gpu": 1, "link_type": "XGMI"}]}])"),
                 "no link_type between GPU1 and GPU0"));
  CHECK(mentions(
      complaint(
          R"([{"gpu": 0, "links": [{"gpu": 1, "link_type": "XGMI"}, {"gpu": 1, "link_type": "PCIE"}]}])"),
      "/0/links/1/link_type"));
  CHECK(looks_like_rocm_json("[\n  {\n    \"gpu\": 0"));
  CHECK_FALSE(looks_like_rocm_json(R"([{"name": "gpu"}])"));
  CHECK_FALSE(looks_like_rocm_json(R"({"schema": "ddpsim.cluster/1", "card0": 1})"));
}

TEST_CASE("matrix: if peer access is not stated, the matrix shows what NCCL does") {
  const std::string head = "\tGPU0\tGPU1\tGPU2\tGPU3\tNUMA Affinity\n";
  const auto matrix = [&](const std::string& near, const std::string& far) {
    std::string text = head;
    for (int row = 0; row < 4; ++row) {
      text += fmt::format("GPU{}", row);
      for (int column = 0; column < 4; ++column)
        text += "\t" + (row == column ? "X" : row / 2 == column / 2 ? near : far);
      text += fmt::format("\t{}\n", row / 2);
    }
    return text;
  };
  const auto intra = [&](const std::string& text, const std::string& words) {
    return described_machine(text, words).cluster.intra;
  };
  const std::string a100 = "gpu:A100 pcie:31.5GBps";
  const Interconnect sockets = intra(matrix("PIX", "SYS"), a100);
  CHECK(sockets.peers == PeerAccess::sockets);
  CHECK(sockets.peers_assumed);
  CHECK(sockets.per_gpu == 31.5_GBps);  // not NCCL's rate between CPUs
  CHECK(sockets.to_host == 15.75_GBps);
  CHECK(intra(matrix("PIX", "PXB"), a100).peers == PeerAccess::one_root);
  CHECK(intra(matrix("NODE", "SYS"), a100).to_host == 31.5_GBps);
  const Interconnect geforce = intra(matrix("PIX", "SYS"), "gpu:RTX4090 pcie:31.5GBps");
  CHECK(geforce.peers == PeerAccess::host);
  CHECK(geforce.to_host == 15.75_GBps);
  CHECK_FALSE(geforce.roots_assumed);
}
