// A wrong unit in a cluster is questioned; values of real machines are not.
#include <doctest/doctest.h>

#include <string>

#include "ddpsim/topologies/cluster_source.hpp"
#include "ddpsim/topologies/plausible.hpp"

using namespace ddpsim;

namespace {

std::string doubts(const std::string& line) {
  std::string all;
  for (const std::string& one : implausible_figures(parse_cluster_line(line))) all += one + '\n';
  return all;
}

bool asks(const std::string& line, const std::string& part) {
  return doubts(line).find(part) != std::string::npos;
}

const std::string kV100 = "node:2 gpu:8xV100 nvlink:6x25GBps:cube ";
const std::string kTwoNodes = "node:2 gpu:8xA100 nvswitch:300GBps ";

}  // namespace

TEST_CASE("plausible: a wrong unit is questioned for the value it changed") {
  CHECK(asks(kV100 + "nic:4x100GBps:ib",
             "a NIC of 100 GB/s (800 Gb/s) is 6.3 times as fast as a "
             "PCIe slot of V100 hosts (15.75 GB/s). Was 100Gbps meant?"));
  CHECK(asks(kV100 + "nic:4x100Mbps:ib", "slower than Gigabit Ethernet"));
  CHECK(asks(kV100 + "nic:4x100Gbps:ib latency:12ms", "Was 12us meant?"));
  CHECK(asks(kV100 + "nic:4x100Gbps:ib latency:5ns", "Was 5us meant?"));
  CHECK(asks("node:2 gpu:8xA100 nvswitch:300Gbps nic:8x200Gbps:ib",
             "an NVSwitch of 37.5 GB/s (300 Gb/s) per GPU is slower than the first one's 150 GB/s. "
             "Was GBps meant"));
  CHECK(asks("gpu:2xV100 node:1 nvlink:2x50Gbps:pair", "NVLink of 12.5 GB/s"));
  CHECK(asks("node:1 gpu:4xV100 pcie:12Gbps", "Was GBps meant"));
  CHECK(asks("node:1 gpu:4xV100 pcie:120GBps", "Was Gbps meant"));
}

TEST_CASE("plausible: rates of both directions together are questioned, with the right word") {
  CHECK(
      doubts("node:1 gpu:8xH100-SXM nvswitch:900GBps") ==
      "900 GB/s per GPU is 2 times what the 18 NVLink links of H100 carry one way, 450 GB/s: data "
      "sheets state both directions together. Was nvswitch:450GBps meant?\n");
  CHECK(asks("node:1 gpu:8xA100 nvswitch:600GBps", "Was nvswitch:300GBps meant?"));
  CHECK(asks("node:1 gpu:8xB200 nvswitch:1800GBps", "Was nvswitch:900GBps meant?"));
  CHECK(asks("node:1 gpu:4xA100 nvlink:12x50GBps:mesh", "Was nvlink:12x25GBps meant?"));
  CHECK(asks("node:1 gpu:8xMI300X xgmi:7x128GBps", "Was xgmi:7x64GBps meant?"));
  CHECK(asks("node:1 gpu:8xL40S pcie:64GBps", "Was pcie:31.5GBps meant?"));
  CHECK(asks("node:1 gpu:8xH100 pcie:128GBps", "Was pcie:63GBps meant?"));
}

TEST_CASE("plausible: unusually slow NICs for each GPU are questioned") {
  const std::string h100 = "node:2 gpu:8xH100-SXM nvswitch:450GBps nic:";
  CHECK(doubts(h100 + "8x50Gbps") ==
        "8 NICs of 6.25 GB/s (50 Gb/s) for 8 H100 are slower than those of known machines with "
        "a NIC for each GPU (12.5 GB/s). Was 50GBps meant?\n");
  CHECK(doubts(h100 + "8x100Gbps") == "");
  CHECK(doubts(h100 + "7x50Gbps") == "");
  CHECK(doubts(h100 + "8x50Gbps:tcp") == "");
  CHECK(doubts("node:2 gpu:8xH100 pcie:63GBps nic:8x50Gbps") == "");
  CHECK(doubts("node:2 gpu:2xH100-NVL nvlink:12x25GBps nic:2x50Gbps") == "");
  CHECK(doubts(kV100 + "nic:8x50Gbps") == "");
}

TEST_CASE("plausible: current and upcoming products are not questioned") {
  for (const char* nic : {"1x1Gbps:tcp", "1x10Gbps:tcp", "4x100Gbps:ib latency:1.5us",
                          "8x200Gbps:ib", "8x400Gbps:roce latency:100us", "1x100Gbps:efa"}) {
    CHECK(doubts(kV100 + "nic:" + nic) == "");
    CHECK(doubts(kTwoNodes + "nic:" + nic) == "");
  }
  CHECK(doubts("node:1 gpu:2xV100 pcie:6GBps") == "");
  CHECK(doubts("node:1 gpu:1xV100 pcie:12GBps") == "");
  for (const BundledCluster& bundled : bundled_clusters())
    CHECK(
        implausible_figures(load_cluster({.text = bundled.name, .nodes = {}, .gpus_per_node = {}}))
            .empty());
}

TEST_CASE("plausible: the largest accepted value, and the first one that is questioned") {
  struct Border {
    std::string taken, asked;
  };
  const std::string pair = "node:2 gpu:2x";
  const Border borders[] = {
      {"node:1 gpu:8xA100 nvswitch:100GBps", "node:1 gpu:8xA100 nvswitch:99GBps"},
      {"node:1 gpu:2xV100 nvlink:1x16GBps:pair", "node:1 gpu:2xV100 nvlink:1x15.9GBps:pair"},
      {"node:1 gpu:2xV100 pcie:3GBps", "node:1 gpu:2xV100 pcie:2.9GBps"},
      // 18 links of 50 GB/s, and less than twice that rate.
      {"node:1 gpu:8xB200 nvswitch:1619GBps", "node:1 gpu:8xB200 nvswitch:1620GBps"},
      // Up to four times a slot's rate: 15.75, 31.5 and 63 GB/s by generation.
      {"node:1 gpu:2xV100 pcie:63GBps", "node:1 gpu:2xV100 pcie:64GBps"},
      {"node:1 gpu:2xA100 pcie:126GBps", "node:1 gpu:2xA100 pcie:127GBps"},
      {"node:1 gpu:2xH100 pcie:252GBps", "node:1 gpu:2xH100 pcie:253GBps"},
      {"node:1 gpu:2xB200 pcie:252GBps", "node:1 gpu:2xB200 pcie:253GBps"},
      {pair + "V100 pcie:12GBps nic:1x63GBps", pair + "V100 pcie:12GBps nic:1x64GBps"},
      {pair + "A100 pcie:24GBps nic:1x126GBps", pair + "A100 pcie:24GBps nic:1x127GBps"},
      {pair + "V100 pcie:12GBps nic:1x0.125GBps", pair + "V100 pcie:12GBps nic:1x0.124GBps"},
      {pair + "V100 pcie:12GBps nic:1x10Gbps latency:1000us",
       pair + "V100 pcie:12GBps nic:1x10Gbps latency:1001us"},
      {pair + "V100 pcie:12GBps nic:1x10Gbps latency:0.1us",
       pair + "V100 pcie:12GBps nic:1x10Gbps latency:0.09us"},
  };
  for (const Border& border : borders) {
    CAPTURE(border.taken);
    CHECK(doubts(border.taken) == "");
    CHECK(doubts(border.asked) != "");
  }
  // The network of one node and the connection of a single GPU are not checked. Neither are values
  // that a log confirms.
  CHECK(doubts("node:1 gpu:2xV100 pcie:12GBps nic:1x0.1GBps latency:9ms") == "");
  CHECK(doubts("node:2 gpu:1xV100 pcie:1GBps nic:1x10Gbps") == "");
  Cluster logged = parse_cluster_line("node:1 gpu:2xV100 pcie:2GBps");
  CHECK(implausible_figures(logged).size() == 1);
  logged.verified = true;
  CHECK(implausible_figures(logged).empty());
}

TEST_CASE("plausible: the text for each value") {
  CHECK(doubts("node:1 gpu:2xB200 pcie:600GBps") ==
        "600 GB/s (4800 Gb/s) per GPU of a node is faster than any. Was Gbps meant, not GBps?\n");
  CHECK(doubts(kV100 + "nic:1x100Mbps:ib latency:12ms") ==
        "a NIC of 0.0125 GB/s (0.1 Gb/s) is slower than Gigabit Ethernet. Was Gbps meant?\n"
        "a network latency of 12 ms, one way, is that of a line between cities. Was 12us meant?\n");
  CHECK(doubts(kV100 + "nic:1x100Gbps:ib latency:50ns") ==
        "a network latency of 50 ns, one way, is less than a switch takes. Was 50us meant?\n");
}
