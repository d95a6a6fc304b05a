// Dumps of NCCL and nvidia-smi, value by value: rates, lanes, names, generations.
#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "complaint.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/topologies/topology.hpp"
#include "nccl_xml.hpp"
#include "nvidia_matrix.hpp"

using namespace ddpsim;

namespace {

/// Two GPUs, each under its own CPU. `cpu` holds attributes of the CPUs, `gpu` the content of each
/// GPU, and `slot` attributes of the first GPU's slot.
XmlNode two_sockets(const std::string& cpu, const std::string& slot = "",
                    const std::string& gpu = "", const std::string& nic = "") {
  std::string text = "<system>";
  for (const char* n : {"0", "1"})
    text += std::string("<cpu numaid=\"") + n + "\" " + cpu + "><pci busid=\"" + n +
            "\" class=\"0x030200\" " + (*n == '0' ? slot : "") + "><gpu dev=\"" + n +
            "\" sm=\"80\" rank=\"" + n + "\">" + gpu + "</gpu></pci>" + (*n == '0' ? nic : "") +
            "</cpu>";
  return parse_nccl_xml(text + "</system>", "t.xml", {});
}

double wire_rate(const XmlNode& node, LinkKind kind) {
  for (const Wire& wire : node.graph.wires)
    if (wire.kind == kind) return wire.nccl.gigabytes_per_second();
  return 0;
}

}  // namespace

TEST_CASE(
    "NCCL topology XML: the rate between CPUs depends on vendor and, for Intel, on the model") {
  const auto rate = [](const std::string& cpu) {
    return wire_rate(two_sockets(cpu), LinkKind::socket);
  };
  const std::string intel = R"(arch="x86_64" vendor="GenuineIntel" familyid="6" modelid=")";
  CHECK(rate(intel + "79\"") == 6);
  CHECK(rate(intel + "84\"") == 6);
  CHECK(rate(intel + "85\"") == 10);
  CHECK(rate(intel + "142\"") == 10);
  CHECK(rate(intel + "143\"") == 22);
  CHECK(rate(intel + "206\"") == 22);
  CHECK(rate(intel + "207\"") == 40);
  CHECK(rate(R"(arch="x86_64" vendor="GenuineIntel")") == 10);
  CHECK(rate(R"(arch="x86_64" vendor="AuthenticAMD" modelid="1")") == 16);
  CHECK(rate(R"(arch="ppc64")") == 32);
  CHECK(rate(R"(arch="arm64")") == 6);
  CHECK(two_sockets(R"(arch="ppc64")").cpu == CpuVendor::power);
  CHECK(two_sockets(R"(arch="arm64")").cpu == CpuVendor::arm);
}

TEST_CASE("NCCL topology XML: a slot's rate is its lanes times the rate of their generation") {
  const auto slot = [](const std::string& speed, int width) {
    const XmlNode node = two_sockets("", "", "",
                                     R"(<pci busid="9" class="0x020700" link_speed=")" + speed +
                                         R"(" link_width=")" + std::to_string(width) +
                                         R"("><nic><net name="mlx5_0"/></nic></pci>)");
    for (const Wire& wire : node.graph.wires)
      if (node.graph.vertices[wire.a].kind == VertexKind::nic) return wire;
    return Wire{};
  };
  const std::pair<const char*, std::pair<double, double>> speeds[] = {
      {"2.5 GT/s PCIe", {4, 3}},
      {"5.0 GT/s PCIe", {8, 6}},
      {"8.0 GT/s PCIe", {15.754, 12}},
      {"8 GT/s", {15.754, 12}},
      {"16.0 GT/s PCIe", {31.508, 24}},
      {"32.0 GT/s PCIe", {63.015, 48}},
      {"64.0 GT/s PCIe", {121, 96}},
      {"Unknown", {31.5, 12}}};  // A100's generation; NCCL assumes Gen3
  for (const auto& [speed, rates] : speeds) {
    const std::string given = speed;  // clang 14 cannot capture the binding itself
    CAPTURE(given);
    CHECK(slot(speed, 16).nominal.gigabytes_per_second() ==
          doctest::Approx(rates.first).epsilon(1e-4));
    CHECK(slot(speed, 16).nccl.gigabytes_per_second() == doctest::Approx(rates.second));
    CHECK(slot(speed, 4).nccl.gigabytes_per_second() == doctest::Approx(rates.second / 4));
    CHECK(slot(speed, 0).nccl.gigabytes_per_second() == doctest::Approx(rates.second));
  }
}

TEST_CASE("NCCL topology XML: chip-to-chip links, and NVLinks to a CPU") {
  const XmlNode c2c = two_sockets("", "", R"(<c2c bw="44700" count="10"/>)");
  int found = 0;
  for (const Wire& wire : c2c.graph.wires)
    if (wire.kind == LinkKind::socket && c2c.graph.vertices[wire.a].kind == VertexKind::gpu) {
      ++found;
      CHECK(wire.nccl.gigabytes_per_second() == doctest::Approx(447));
      CHECK(c2c.graph.vertices[wire.b].kind == VertexKind::cpu);
    }
  CHECK(found == 2);
  const XmlNode power =
      two_sockets("", "", R"(<nvlink target="0004:00:00.0" count="3" tclass="0x068001"/>)");
  for (const Wire& wire : power.graph.wires) {
    if (wire.kind != LinkKind::nvlink) continue;
    CHECK(power.graph.vertices[wire.b].kind == VertexKind::cpu);
    CHECK(wire.nccl.gigabytes_per_second() == doctest::Approx(60));
    CHECK(wire.nominal.gigabytes_per_second() == doctest::Approx(75));
    CHECK(wire.lanes == 3);
  }
}

TEST_CASE("NCCL topology XML: NICs show the kind of network, rates and abilities") {
  const auto with = [](const std::string& net) {
    return two_sockets(
        "", "", "",
        R"(<pci busid="9" class="0x020700" link_width="8"><nic><net )" + net + "/></nic></pci>");
  };
  const std::pair<const char*, NetworkKind> names[] = {
      {"mlx5_0", NetworkKind::infiniband}, {"cxi0", NetworkKind::slingshot},
      {"hsn1", NetworkKind::slingshot},    {"efa_0", NetworkKind::efa},
      {"rdmap16s27", NetworkKind::efa},    {"eth0", NetworkKind::tcp},
      {"enp3s0", NetworkKind::tcp},        {"bond0", NetworkKind::tcp}};
  for (const auto& [name, kind] : names) {
    const std::string device = name;
    CAPTURE(device);
    CHECK(with("name=\"" + device + "\"").network == kind);
  }
  const XmlNode node = with(R"(name="mlx5_3" speed="200000" gdr="0" coll="1")");
  CHECK_FALSE(node.gpudirect);
  CHECK(node.collnet);
  const auto nics = node.graph.all(VertexKind::nic);
  REQUIRE(nics.size() == 1);
  CHECK(node.graph.vertices[nics[0]].name == "mlx5_3");
  CHECK(node.graph.vertices[nics[0]].port.gigabytes_per_second() == doctest::Approx(25));
  CHECK(with(R"(name="mlx5_3" gdr="1")").gpudirect);
  CHECK(with(R"(name="mlx5_3")").gpudirect);
  CHECK_FALSE(with(R"(name="mlx5_3" coll="0")").collnet);
  // A virtual NIC states a speed of -1, so its rate is unknown.
  const XmlNode unstated = with(R"(name="eth0" speed="-1")");
  REQUIRE(unstated.graph.all(VertexKind::nic).size() == 1);
  CHECK(unstated.graph.vertices[unstated.graph.all(VertexKind::nic)[0]].port == Bandwidth());
  // A <nic> without <net> and without a slot. NCCL did not use it.
  CHECK(two_sockets("", "", "", "<nic/>").graph.all(VertexKind::nic).empty());
  // Two ports of one card. The first one names the network. Eight lanes carry 6 GB/s for both.
  const XmlNode two = with(R"(name="efa0"/><net name="eth0")");
  CHECK(two.graph.all(VertexKind::nic).size() == 2);
  CHECK(two.network == NetworkKind::efa);
  for (const Wire& wire : two.graph.wires)
    if (two.graph.vertices[wire.a].kind == VertexKind::nic)
      CHECK(wire.nccl.gigabytes_per_second() == doctest::Approx(3));
}

TEST_CASE("NCCL topology XML: the model follows from sm, and is the oldest of several") {
  const auto gpu = [](const std::string& first, const std::string& second) {
    return parse_nccl_xml(R"(<system><cpu><pci busid="0" class="0x030200"><gpu sm=")" + first +
                              R"("/></pci><pci busid="1" class="0x030200"><gpu sm=")" + second +
                              R"("/></pci></cpu></system>)",
                          "t.xml", {})
        .gpu->name;
  };
  CHECK(gpu("60", "60") == "P100");
  CHECK(gpu("70", "70") == "V100");
  CHECK(gpu("80", "80") == "A100");
  CHECK(gpu("90", "90") == "H100");
  CHECK(gpu("100", "100") == "B200");
  CHECK(gpu("90", "80") == "A100");
  CHECK(gpu("70", "80") == "V100");
}

TEST_CASE("nvidia-smi matrix: too many links in a row mean an NVSwitch, by generation") {
  // Three GPUs with `links` between each pair, and twice that in a row.
  const auto kind = [](const std::string& gpu, int links) {
    const std::string nv = "\tNV" + std::to_string(links);
    const std::string text = "\tGPU0\tGPU1\tGPU2\nGPU0\tX" + nv + nv + "\nGPU1" + nv + "\tX" + nv +
                             "\nGPU2" + nv + nv + "\tX\n";
    const NodeGraph graph = parse_nvidia_matrix(text, "m.txt", *find_gpu(gpu));
    return graph.all(VertexKind::nvswitch).size();
  };
  CHECK(kind("P100", 2) == 0);
  CHECK(kind("P100", 3) == 1);
  CHECK(kind("V100", 3) == 0);
  CHECK(kind("V100", 4) == 1);
  CHECK(kind("A40", 2) == 0);
  CHECK(kind("A40", 3) == 1);
  CHECK(kind("A800", 4) == 0);
  CHECK(kind("A800", 5) == 1);
  CHECK(complaint_of([&] { kind("A10", 1); }) ==
        "m.txt: up to 2 NVLinks in one row are more than the 0 that A10 has. Behind an NVSwitch "
        "every "
        "pair shows the same number; or name the right GPU with \"gpu:MODEL\"");
  CHECK(kind("A100", 6) == 0);
  CHECK(kind("A100", 7) == 1);
  CHECK(kind("H100", 9) == 0);
  CHECK(kind("H100", 10) == 1);
}

TEST_CASE("nvidia-smi matrix: SOC means SYS, and with NVLink only, NUMA tells the CPU") {
  const auto cells = [](const std::string& text) {
    return connection_matrix(parse_nvidia_matrix(text, "m.txt", *find_gpu("V100"))).cells;
  };
  CHECK(cells("\tGPU0\tGPU1\nGPU0\tX\tSOC\nGPU1\tSOC\tX\n")[0][1] == "SYS");
  CHECK(cells("\tGPU0\tGPU1\nGPU0\tX\tPXB\nGPU1\tPXB\tX\n")[0][1] == "PXB");
  CHECK(cells("\tGPU0\tGPU1\nGPU0\tX\tPIX\nGPU1\tPIX\tX\n")[0][1] == "PIX");
  const auto cpus = [](const std::string& first, const std::string& second) {
    const std::string text = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\tX\tNV2\t" + first +
                             "\nGPU1\tNV2\tX\t" + second + "\n";
    return parse_nvidia_matrix(text, "m.txt", *find_gpu("V100")).all(VertexKind::cpu).size();
  };
  CHECK(cpus("0-15\t0", "0-15\t0") == 1);
  CHECK(cpus("0-15\t0", "16-31\t1") == 2);
  CHECK(cpus("0-15\tN/A", "16-31\tN/A") == 2);
  CHECK(cpus("0-15\t0", "16-31\t0") == 1);
  CHECK(cpus("0-15", "0-15") == 1);
  CHECK(cpus("0-15", "16-31") == 2);
}

TEST_CASE("nvidia-smi matrix: at most as many links as the GPU has, and no three digits") {
  const auto read = [](const std::string& links) {
    const std::string text = "\tGPU0\tGPU1\nGPU0\tX\t" + links + "\nGPU1\t" + links + "\tX\n";
    return parse_nvidia_matrix(text, "m.txt", *find_gpu("V100"));
  };
  CHECK_NOTHROW(read("NV1"));
  CHECK_NOTHROW(read("NV6"));
  CHECK_THROWS_WITH_AS(read("NV7"), doctest::Contains("more than the 6 that V100 has"), InputError);
  CHECK_THROWS_WITH_AS(read("NV64"), doctest::Contains("more than the 6 that V100 has"),
                       InputError);
  CHECK_THROWS_WITH_AS(read("NV0"), doctest::Contains("from 1 to 64"), InputError);
  CHECK_THROWS_WITH_AS(read("NV65"), doctest::Contains("from 1 to 64"), InputError);
  CHECK_THROWS_WITH_AS(read("NV100"), doctest::Contains("is no link"), InputError);
  CHECK_THROWS_WITH_AS(read("NV"), doctest::Contains("is no link"), InputError);
}
