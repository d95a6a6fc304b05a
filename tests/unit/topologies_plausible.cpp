// A slip of unit in a cluster is asked about; what machines have is not.
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
const std::string kA100 = "node:2 gpu:8xA100 nvswitch:300GBps ";

}  // namespace

TEST_CASE("plausible: a slip of unit is asked about, by the figure it changed") {
  CHECK(asks(kV100 + "nic:4x100GBps:ib",
             "a NIC of 100 GB/s (800 Gb/s) is 6.3 times as fast as a "
             "PCIe slot of V100 hosts (15.75 GB/s): was Gbps meant"));
  CHECK(asks(kV100 + "nic:4x100Mbps:ib", "slower than Gigabit Ethernet"));
  CHECK(asks(kV100 + "nic:4x100Gbps:ib latency:12ms", "was 12us meant?"));
  CHECK(asks(kV100 + "nic:4x100Gbps:ib latency:5ns", "was 5us meant?"));
  CHECK(asks("node:2 gpu:8xA100 nvswitch:300Gbps nic:8x200Gbps:ib",
             "an NVSwitch of 37.5 GB/s (300 Gb/s) per GPU is slower than the first one's 150 GB/s: "
             "was GBps meant"));
  CHECK(asks("gpu:2xV100 node:1 nvlink:2x50Gbps:pair", "NVLink of 12.5 GB/s"));
  CHECK(asks("node:1 gpu:4xV100 pcie:12Gbps", "was GBps meant"));
  CHECK(asks("node:1 gpu:4xV100 pcie:120GBps", "was Gbps meant"));
}

TEST_CASE("plausible: what can be bought, or might soon, is not asked about") {
  for (const char* nic : {"1x1Gbps:tcp", "1x10Gbps:tcp", "4x100Gbps:ib latency:1.5us",
                          "8x200Gbps:ib", "8x400Gbps:roce latency:100us", "1x100Gbps:efa"}) {
    CHECK(doubts(kV100 + "nic:" + nic) == "");
    CHECK(doubts(kA100 + "nic:" + nic) == "");
  }
  CHECK(doubts("node:1 gpu:2xV100 pcie:6GBps") == "");
  CHECK(doubts("node:1 gpu:1xV100 pcie:12GBps") == "");
  for (const auto& [name, summary] : bundled_clusters())
    CHECK(implausible_figures(load_cluster({.text = name, .nodes = {}, .gpus_per_node = {}}))
              .empty());
}
