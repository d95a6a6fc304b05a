// What tools print about machines, in their own layout: slow links and idle links, ports, clocks,
// power, nodes that differ.
#include "ddpsim/diagnose/evidence/machine_facts.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "evidence_text.hpp"
#include "mentions.hpp"

using namespace ddpsim;
using namespace ddpsim::evidence_text;

namespace {

Kinds machine_kinds(const std::string& text) {
  return kinds_of(problems_of(text));
}

struct SmiGpu {
  int generation = 4, best = 4, width = 16;
  std::string state = "P0";
  int busy = 97;
  std::string idle = "Not Active", thermal = "Not Active";
  double limit = 400, default_limit = 400;
  int clock = 1410;
};

/// The relevant part of `nvidia-smi -q` of driver 535.
std::string smi(const std::vector<SmiGpu>& gpus) {
  std::string text = fmt::format(
      "\n==============NVSMI LOG==============\n\nTimestamp                                 : Mon\n"
      "Driver Version                            : 535.104.05\nCUDA Version                        "
      "      "
      ": 12.2\n\nAttached GPUs                             : {}\n",
      gpus.size());
  int bus = 7;
  for (const SmiGpu& gpu : gpus)
    text += fmt::format(
        "GPU 00000000:{:02X}:00.0\n    Product Name                          : NVIDIA "
        "A100-SXM4-80GB\n"
        "    PCI\n        Bus                               : 0x07\n        GPU Link Info\n"
        "            PCIe Generation\n                Max                       : {}\n"
        "                Current                   : {}\n                Device Max                "
        ": 4\n"
        "            Link Width\n                Max                       : 16x\n"
        "                Current                   : {}x\n"
        "    Performance State                     : {}\n    Clocks Event Reasons\n"
        "        Idle                              : {}\n        SW Power Cap                      "
        ": "
        "Active\n        HW Slowdown                       : Not Active\n"
        "            HW Thermal Slowdown           : {}\n    Utilization\n"
        "        Gpu                               : {} %\n    GPU Power Readings\n"
        "        Power Draw                        : 280.00 W\n        Current Power Limit         "
        "      : "
        "{:.2f} W\n        Default Power Limit               : {:.2f} W\n    Module Power "
        "Readings\n"
        "        Current Power Limit               : 90.00 W\n    Applications Clocks\n"
        "        Graphics                          : {} MHz\n    Default Applications Clocks\n"
        "        Graphics                          : 1410 MHz\n    Max Clocks\n"
        "        SM                                : 1410 MHz\n",
        bus++, gpu.best, gpu.generation, gpu.width, gpu.state, gpu.idle, gpu.thermal, gpu.busy,
        gpu.limit, gpu.default_limit, gpu.clock);
  return text;
}

}  // namespace

TEST_CASE("nvidia-smi -q: a slow link at work, and an idle one") {
  CHECK(machine_kinds(smi({{}, {}})).empty());
  const std::vector<Finding> slow = problems_of(smi({{}, {.generation = 2}}));
  REQUIRE(kinds_of(slow) == Kinds{CauseClass::pcie_link_below_its_best});
  CHECK(
      mentions(slow[0].says, "GPU 00000000:08:00.0 has a PCIe link of 5 of 16 GT/s while at work"));
  const SmiGpu asleep = {.generation = 1, .state = "P8", .busy = 0, .idle = "Active"};
  CHECK(machine_kinds(smi({asleep, asleep})).empty());
  // An idle GPU keeps its lanes.
  SmiGpu narrow = asleep;
  narrow.width = 8;
  CHECK(machine_kinds(smi({asleep, narrow})) == Kinds{CauseClass::pcie_link_below_its_best});
  // Idle, then at work: the reading under load counts, in either order.
  CHECK(machine_kinds(smi({asleep}) + smi({{}})).empty());
  CHECK(machine_kinds(smi({{}}) + smi({asleep})).empty());
  CHECK(machine_kinds(smi({asleep}) + smi({{.generation = 2}})) ==
        Kinds{CauseClass::pcie_link_below_its_best});
  CHECK(evidence_of(smi({asleep, asleep}) + smi({{}, {}})).machines[0].gpus.size() == 2);
}

TEST_CASE("nvidia-smi -q: low clocks and power limits; a power cap under load is usual") {
  CHECK(machine_kinds(smi({{.thermal = "Active"}})) == Kinds{CauseClass::clocks_held_down});
  CHECK(machine_kinds(smi({{.clock = 1200}})) == Kinds{CauseClass::clocks_held_down});
  CHECK(machine_kinds(smi({{.limit = 300}})) == Kinds{CauseClass::power_limit_lowered});
  const Evidence evidence = evidence_of(smi({{}}));
  REQUIRE(evidence.machines.size() == 1);
  CHECK(evidence.machines[0].driver == "535.104.05");
  CHECK(evidence.machines[0].gpus[0].power_limit_w == 400);
}

TEST_CASE("nvidia-smi --query-gpu: columns by name, states by bits") {
  const std::string head =
      "index, name, driver_version, pcie.link.gen.current, pcie.link.gen.max, "
      "pcie.link.width.current, "
      "pcie.link.width.max, utilization.gpu [%], power.limit [W], power.default_limit [W], "
      "clocks_event_reasons.active\n";
  CHECK(machine_kinds(head +
                      "0, NVIDIA H100 80GB HBM3, 550.54, 5, 5, 16, 16, 99 %, 700.00 W, 700.00 W, "
                      "0x0000000000000004\n")
            .empty());
  const std::vector<Finding> findings = problems_of(
      head + "0, NVIDIA H100 80GB HBM3, 550.54, 5, 5, 16, 16, 99 %, 700.00 W, 700.00 W, 0x0\n" +
      "1, NVIDIA H100 80GB HBM3, 550.54, 2, 5, 16, 16, 100 %, 700.00 W, 700.00 W, 0x0\n" +
      "2, NVIDIA H100 80GB HBM3, 550.54, 1, 5, 16, 16, 0 %, 500.00 W, 700.00 W, 0x1\n" +
      "3, NVIDIA H100 80GB HBM3, 550.54, 5, 5, 16, 16, 99 %, [N/A], 700.00 W, "
      "0x0000000000000048\n");
  REQUIRE(kinds_of(findings) == Kinds{CauseClass::pcie_link_below_its_best,
                                      CauseClass::clocks_held_down,
                                      CauseClass::power_limit_lowered});
  CHECK(mentions(findings[0].says, "GPU 1 has a PCIe link of 5 of 32 GT/s while at work"));
  CHECK(mentions(findings[1].says,
                 "GPU 3 is held below its clocks by HW Slowdown, HW Thermal Slowdown"));
  CHECK(mentions(findings[2].says, "GPU 2 may draw 500 W, by default 700 W"));
}

TEST_CASE("a slow link of unknown activity should be read again") {
  const std::vector<Finding> findings =
      problems_of("pcie.link.gen.current, pcie.link.gen.max\n1, 4\n1, 4\n");
  REQUIRE(kinds_of(findings) == Kinds{CauseClass::pcie_link_below_its_best});
  CHECK(mentions(findings[0].says, "GPU 0 and 1 more shows"));
  CHECK(mentions(findings[0].says, "Read it again while the job runs"));
}

TEST_CASE("lspci: NICs on half a link, switches that redirect, irrelevant bridges") {
  const std::string nic =
      "3b:00.0 Infiniband controller: Mellanox Technologies MT28908 Family [ConnectX-6]\n"
      "\tCapabilities: [60] Express (v2) Endpoint, MSI 00\n"
      "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM not supported\n"
      "\t\tLnkCap2: Supported Link Speeds: 2.5-16GT/s\n";
  CHECK(machine_kinds(nic + "\t\tLnkSta:\tSpeed 16GT/s (ok), Width x16 (ok)\n").empty());
  const std::vector<Finding> half = find_problems(
      evidence_of(nic + "\t\tLnkSta:\tSpeed 8GT/s (downgraded), Width x8 (downgraded)\n"));
  REQUIRE(kinds_of(half) == Kinds{CauseClass::nic_below_its_best});
  CHECK(mentions(half[0].says, "8 of 16 GT/s and 8 of 16 lanes"));
  CHECK(half[0].place == "evidence.txt:1");
  // A board controller that no training uses, and a bridge with nothing attached.
  CHECK(machine_kinds("01:00.0 Ethernet controller: Intel Corporation I350\n"
                      "\t\tLnkCap:\tPort #0, Speed 5GT/s, Width x4, ASPM L0s\n"
                      "\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x1 (downgraded)\n"
                      "00:01.0 PCI bridge: Intel Corporation Root Port\n"
                      "\tCapabilities: [40] Express (v2) Root Port (Slot+), MSI 00\n"
                      "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM L1\n"
                      "\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x0 (downgraded)\n"
                      "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+\n")
            .empty());
  CHECK(machine_kinds("0a:08.0 PCI bridge: Broadcom / LSI PEX88000\n"
                      "\tCapabilities: [68] Express (v2) Downstream Port (Slot+), MSI 00\n"
                      "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+\n") ==
        Kinds{CauseClass::acs_on});
  CHECK(machine_kinds("0a:08.0 PCI bridge: Broadcom / LSI PEX88000\n"
                      "\tCapabilities: [68] Express (v2) Downstream Port (Slot+), MSI 00\n"
                      "\t\tACSCtl:\tSrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd-\n")
            .empty());
}

TEST_CASE("lspci without the kind of a port, and a NIC listed three times") {
  const std::string acs = "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+\n";
  CHECK(machine_kinds("0a:08.0 PCI bridge: PLX Technology, Inc. PEX 8747 PCI Express Switch\n" +
                      acs) == Kinds{CauseClass::acs_on});
  CHECK(machine_kinds("00:03.1 PCI bridge: Advanced Micro Devices, Inc. [AMD] GPP Bridge\n" + acs)
            .empty());
  CHECK(machine_kinds("00:01.0 PCI bridge: Intel Corporation Root Port Switch\n" + acs).empty());
  const auto link = [](const std::string& folder) {
    return folder + "/current_link_speed: 8.0 GT/s PCIe\n" + folder +
           "/max_link_speed: 16.0 GT/s PCIe\n" + folder + "/current_link_width: 16\n" + folder +
           "/max_link_width: 16\n";
  };
  const std::vector<Finding> once = find_problems(
      evidence_of("/sys/bus/pci/devices/0000:3b:00.0/class: 0x020700\n" +
                  link("/sys/bus/pci/devices/0000:3b:00.0") +
                  link("/sys/class/infiniband/mlx5_0/device") + link("/sys/class/net/ib0/device") +
                  "3b:00.0 Infiniband controller: Mellanox Technologies MT28908\n"
                  "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16\n"
                  "\t\tLnkSta:\tSpeed 8GT/s (downgraded), Width x16\n"));
  REQUIRE(once.size() == 1);
  CHECK(mentions(once[0].says, "0000:3b:00.0"));
  CHECK(machine_kinds(link("/sys/class/infiniband/mlx5_0/device")) ==
        Kinds{CauseClass::nic_below_its_best});
}

TEST_CASE("lspci: a GPU's link together with nvidia-smi's activity") {
  const std::string gpu =
      "07:00.0 3D controller: NVIDIA Corporation GA100 [A100 SXM4 80GB]\n"
      "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM not supported\n"
      "\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x16\n";
  CHECK(machine_kinds(gpu) == Kinds{CauseClass::pcie_link_below_its_best});
  // All are idle, by a query that did not ask for links.
  CHECK(machine_kinds("index, pstate, power.limit [W]\n0, P8, 400.00 W\n" + gpu).empty());
}

TEST_CASE("/sys: links by class, ports compared within the card and across nodes") {
  CHECK(machine_kinds("/sys/bus/pci/devices/0000:3b:00.0/class: 0x020700\n"
                      "/sys/bus/pci/devices/0000:3b:00.0/current_link_speed: 8.0 GT/s PCIe\n"
                      "/sys/bus/pci/devices/0000:3b:00.0/max_link_speed: 16.0 GT/s PCIe\n"
                      "/sys/bus/pci/devices/0000:3b:00.0/current_link_width: 16\n"
                      "/sys/bus/pci/devices/0000:3b:00.0/max_link_width: 16\n") ==
        Kinds{CauseClass::nic_below_its_best});
  const auto port = [](const std::string& name, const std::string& rate, const std::string& state) {
    return "/sys/class/infiniband/" + name + "/hca_type: MT4129\n/sys/class/infiniband/" + name +
           "/ports/1/state: " + state + "\n/sys/class/infiniband/" + name +
           "/ports/1/rate: " + rate + "\n";
  };
  const std::string full = "400 Gb/sec (4X NDR)";
  CHECK(
      machine_kinds(port("mlx5_0", full, "4: ACTIVE") + port("mlx5_1", full, "4: ACTIVE")).empty());
  const std::vector<Finding> half = problems_of(port("mlx5_0", full, "4: ACTIVE") +
                                                port("mlx5_1", "200 Gb/sec (2X NDR)", "4: ACTIVE"));
  REQUIRE(kinds_of(half) == Kinds{CauseClass::nic_below_its_best});
  CHECK(mentions(half[0].says, "mlx5_1/1 runs at 200 Gbit/s, others of the same card at 400"));
  // Another card is compared separately, and an unplugged port does not count.
  CHECK(machine_kinds(port("mlx5_0", full, "4: ACTIVE") +
                      "/sys/class/infiniband/mlx5_9/hca_type: MT4119\n"
                      "/sys/class/infiniband/mlx5_9/ports/1/rate: 25 Gb/sec (1X EDR)\n"
                      "/sys/class/infiniband/mlx5_9/ports/1/state: 4: ACTIVE\n")
            .empty());
  CHECK(machine_kinds(port("mlx5_0", full, "4: ACTIVE") +
                      port("mlx5_1", "10 Gb/sec (4X SDR)", "1: DOWN"))
            .empty());
  const std::vector<EvidenceText> nodes = {
      {.file = "a.txt", .text = port("mlx5_0", full, "4: ACTIVE"), .node = "node 0"},
      {.file = "b.txt", .text = port("mlx5_0", full, "4: ACTIVE"), .node = "node 1"},
      {.file = "c.txt", .text = port("mlx5_0", "10 Gb/sec (4X SDR)", "1: DOWN"), .node = "node 2"}};
  const std::vector<Finding> down = find_problems(read_evidence(nodes));
  REQUIRE(kinds_of(down) == Kinds{CauseClass::nic_port_down});
  CHECK(mentions(down[0].says, "mlx5_0/1 on node 2 is down"));
  CHECK(down[0].place.starts_with("c.txt:"));
}

TEST_CASE("nodes that differ: GPUs, driver, power limit, MTU") {
  const auto node = [](const std::string& name, const std::string& text) {
    return EvidenceText{.file = name + ".txt", .text = text, .node = name};
  };
  const std::string sound = smi({{}, {}}) + "2: eth0: <BROADCAST,MULTICAST,UP> mtu 9000 qdisc mq\n";
  std::vector<EvidenceText> texts = {node("n0", sound), node("n1", sound)};
  CHECK(find_problems(read_evidence(texts)).empty());
  texts[1] = node("n1", smi({{}}) + "2: eth0: <BROADCAST,MULTICAST,UP> mtu 1500 qdisc mq\n" +
                            "3: docker0: <BROADCAST> mtu 1500 qdisc noqueue\n");
  const std::vector<Finding> findings = find_problems(read_evidence(texts));
  REQUIRE(kinds_of(findings) == Kinds{CauseClass::unequal_nodes, CauseClass::mtu_unequal});
  CHECK(mentions(findings[0].says, "1x NVIDIA A100-SXM4-80GB (1 node, n1)"));
  CHECK(mentions(findings[1].says, "eth0 has an MTU of 1500 bytes on n1, but 9000"));
  CHECK(findings[1].place.starts_with("n1.txt:"));
}

TEST_CASE("evidence names its kinds; irrelevant variables alone are no evidence") {
  using Names = std::vector<std::string_view>;
  CHECK(evidence_of("loss=0.3\n").empty());
  CHECK(evidence_of("a training begins\n").kinds() == Names());
  const Evidence both = evidence_of("NCCL_ALGO=Ring\nPATH=/bin\nNCCL version 2.21.5+cuda12.4\n");
  CHECK_FALSE(both.empty());
  CHECK(both.kinds() == Names{"NCCL's version", "environment variables"});
  CHECK(evidence_of("2: eth0: <UP> mtu 9000 qdisc mq\n").kinds() == Names{"network interfaces"});
  CHECK(evidence_of("        GPU0    GPU1\nGPU0     X      NV4\nGPU1    NV4      X\n").kinds() ==
        Names{"nvidia-smi topo -m"});
}

TEST_CASE("/sys: names with control characters are made legible") {
  // Found by the fuzzer.
  const std::vector<Finding> findings = find_problems(
      evidence_of("/sys/class/infiniband/mlx5_0/hca_type: MT4129\n"
                  "/sys/class/infiniband/mlx5_0/ports/1/rate: 400 Gb/sec (4X NDR)\n"
                  "/sys/class/infiniband/mlx5_0/ports/\x18/rate: 4 Gb/sec (4X NDR)\n"
                  "/sys/class/infiniband/mlx\x1b/device/current_link_width: 4\n"
                  "/sys/class/infiniband/mlx\x1b/device/max_link_width: 16\n"
                  "/sys/class/infiniband/mlx\x1b/device/max_link_speed: 16.0 GT/s PCIe\n"));
  REQUIRE(findings.size() == 2);
  for (const Finding& finding : findings)
    for (const char c : finding.says) CHECK(static_cast<unsigned char>(c) >= ' ');
}

TEST_CASE("ip link: an almost valid line") {
  // Found by the fuzzer: a first word of digits alone.
  CHECK(
      machine_kinds("2 eth1: <BROADCAST> mtu 9000 qdisc mq\n22 <> mtu 9000\n: x: <UP> mtu 1500 q\n")
          .empty());
  CHECK(evidence_of("2 eth1: <BROADCAST> mtu 9000 qdisc mq\n").machines.empty());
}

TEST_CASE("ibv_devinfo and ibstat: states, rates and MTU of ports") {
  const Evidence evidence = evidence_of(
      "hca_id:\tmlx5_0\n\ttransport:\t\t\tInfiniBand "
      "(0)\n\t\tport:\t1\n\t\t\tstate:\t\t\tPORT_ACTIVE (4)\n"
      "\t\t\tmax_mtu:\t\t4096 (5)\n\t\t\tactive_mtu:\t\t1024 (3)\nCA 'mlx5_1'\n\tCA type: MT4129\n"
      "\tPort 1:\n\t\tState: Active\n\t\tRate: 400\n");
  REQUIRE(evidence.machines.size() == 1);
  CHECK(evidence.machines[0].ports.at("mlx5_0/1").state == "ACTIVE");
  CHECK(evidence.machines[0].ports.at("mlx5_1/1").rate_gbps == 400);
  CHECK(evidence.machines[0].mtu.at("mlx5_0/1").first == 1024);
}

TEST_CASE("Two sides of machines: driver, GPUs, limits, slots, ports, MTU") {
  const auto changes = [](const std::string& before, const std::string& after) {
    return kinds_of(find_changes(evidence_of(before), evidence_of(after)));
  };
  const std::string sound = smi({{}, {}});
  CHECK(changes(sound, sound).empty());
  std::string newer = sound;
  newer.replace(newer.find("535.104.05"), 10, "570.124.06");
  CHECK(changes(sound, newer) == Kinds{CauseClass::version_changed});
  CHECK(changes(sound, smi({{}})) == Kinds{CauseClass::hardware_changed});
  CHECK(changes(smi({{.limit = 400}}), smi({{.limit = 300, .default_limit = 300}})) ==
        Kinds{CauseClass::power_limit_lowered});
  CHECK(changes(sound, smi({{.generation = 3, .best = 3}, {}})) ==
        Kinds{CauseClass::pcie_link_below_its_best});
  const auto ports = [](int count, const std::string& rate) {
    std::string text;
    for (int k = 0; k < count; ++k)
      text += fmt::format(
          "/sys/class/infiniband/mlx5_{0}/ports/1/state: 4: ACTIVE\n"
          "/sys/class/infiniband/mlx5_{0}/ports/1/rate: {1}\n",
          k, rate);
    return text;
  };
  CHECK(changes(ports(4, "400 Gb/sec (4X NDR)"), ports(4, "400 Gb/sec (4X NDR)")).empty());
  CHECK(changes(ports(4, "400 Gb/sec (4X NDR)"), ports(3, "400 Gb/sec (4X NDR)")) ==
        Kinds{CauseClass::fewer_nics});
  CHECK(changes(ports(4, "400 Gb/sec (4X NDR)"), ports(4, "200 Gb/sec (2X NDR)")) ==
        Kinds{CauseClass::nic_below_its_best});
  // Current state: lanes, and clocks of a GPU at work that differ much from before.
  const auto queried = [](int clock, int lanes, int busy) {
    return fmt::format(
        "index, name, clocks.current.sm [MHz], utilization.gpu [%], pcie.link.width.current\n0, "
        "NVIDIA H100, {} MHz, {} %, {}\n",
        clock, busy, lanes);
  };
  const std::string works = queried(1980, 16, 98);
  CHECK(changes(works, queried(1200, 16, 97)) == Kinds{CauseClass::clocks_held_down});
  CHECK(changes(works, queried(1905, 16, 97)).empty());
  CHECK(changes(works, queried(345, 16, 0)).empty());
  CHECK(changes(works, queried(1980, 8, 98)) == Kinds{CauseClass::pcie_link_below_its_best});
  const auto interface = [](const std::string& state) {
    return "2: eth0: <BROADCAST> mtu 9000 qdisc mq state " + state + " mode DEFAULT\n";
  };
  CHECK(changes(interface("UP"), interface("DOWN")) == Kinds{CauseClass::nic_port_down});
  CHECK(changes(interface("UNKNOWN"), interface("DOWN")).empty());
  CHECK(changes("2: eth0: <UP> mtu 9000 qdisc mq\n", "2: eth0: <UP> mtu 1500 qdisc mq\n") ==
        Kinds{CauseClass::mtu_unequal});
}
