// The tables that people posted (shared/data/nccl-tests-more) of GPUs joined by PCIe alone, as clusters. What a
// table does not state is an assumption, written beside it.
#pragma once

#include <string>
#include <vector>

#include "open_logs.hpp"

namespace ddpsim::open_logs {

struct PcieLog : Log {
  std::string folder;   ///< empty: one figure of a report, in `stated_gbps`
  std::string machine;  ///< logs of one machine are left out together
  /// The cluster as an owner would write it who looked up neither root ports nor peer access.
  std::string plain;
  bool healthy = true;  ///< by the table's page
  std::string assumed;
  double stated_gbps = 0;  ///< bus bandwidth, with NCCL_MIN_NCHANNELS=8
};

/// All open tables in which GPUs of a node reach each other over PCIe. Roots are by bus numbers, which follow each other
/// below one root port.
inline std::vector<PcieLog> over_pcie() {
  const std::string kOpen = "data/nccl-tests";
  const std::string kMore = "data/nccl-tests-more";
  const std::string kGen4 = "slot: the card's PCIe 4.0 x16; NCCL";
  const std::string kGen3 =
      "slot: PCIe 3.0, by bus numbers of root ports (17, 3a, 85, ae) of processors without 4.0; ";
  const std::string k4090 = "node:1 gpu:2xRTX4090 pcie:31.5GBps";
  return {
      {{"rtx2080ti-n1g2-nop2p", "node:1 gpu:2xRTX2080Ti pcie:15.75GBps:no-p2p root:2", "2.18.3"},
       kOpen,
       "rtx2080ti",
       "node:1 gpu:2xRTX2080Ti pcie:15.75GBps",
       true,
       "NCCL"},
      {{"rtx3090-n4g8", "node:4 gpu:8xRTX3090 pcie:31.5GBps:no-p2p root:4 nic:1x100Gbps:roce",
        "2.18.3"},
       kOpen,
       "rtx3090",
       "node:4 gpu:8xRTX3090 pcie:31.5GBps nic:1x100Gbps:roce",
       true,
       "NICs, not the bottleneck; " + kGen4},
      {{"rtx4090-kalavai-n1g2-sameroot", "node:1 gpu:2xRTX4090 pcie:15.75GBps:no-p2p root:2",
        "2.18.3"},
       kMore,
       "kalavai",
       k4090,
       false,
       kGen3 + "NCCL"},
      {{"rtx4090-kalavai-n1g2-crosssocket", "node:1 gpu:2xRTX4090 pcie:15.75GBps:no-p2p root:1",
        "2.18.3"},
       kMore,
       "kalavai",
       k4090,
       false,
       kGen3 + "NCCL"},
      {{"rtx4090-kalavai-n1g4", "node:1 gpu:4xRTX4090 pcie:15.75GBps:no-p2p root:2", "2.18.3"},
       kMore,
       "kalavai",
       "node:1 gpu:4xRTX4090 pcie:31.5GBps",
       false,
       kGen3 + "NCCL"},
      {{"rtx4090-n1g8-slow", "node:1 gpu:8xRTX4090 pcie:31.5GBps:no-p2p root:8", "2.18.3"},
       kOpen,
       "rtx4090-slow",
       "node:1 gpu:8xRTX4090 pcie:31.5GBps",
       false,
       "one root; " + kGen4},
      {{"a100-pcie-n1g4-sm02", "node:1 gpu:4xA100 pcie:15.75GBps:no-p2p root:1", "2.18.3"},
       kMore,
       "sm02",
       "node:1 gpu:4xA100 pcie:31.5GBps",
       false,
       kGen3 + "no-p2p, as NCCL does between root ports"},
      // The driver forbids peer access between these cards. They reach 0.49 of the slot. PCIe 5
      // cards without peer access reach 0.44 and 0.56, and 0.80 with a driver that allows it.
      {{"rtx4090-n1g2", k4090 + ":no-p2p root:1", "2.18.3"},
       kOpen,
       "rtx4090-pair",
       k4090,
       true,
       "NCCL"},
      {{"a100-pcie-n1g8", "node:1 gpu:8xA100 pcie:31.5GBps:p2p-sockets", "2.12.10"},
       kOpen,
       "a100",
       "node:1 gpu:8xA100 pcie:31.5GBps",
       true,
       "peer to peer below each root, as NCCL does; NCCL"},
      {{"rtx5090-n1g8-stated", "node:1 gpu:8xRTX5090 pcie:63GBps:no-p2p root:1", "2.26.2"},
       "",
       "rtx5090",
       "node:1 gpu:8xRTX5090 pcie:63GBps",
       true,
       "a root port each: by two it would be 0.89 of an uplink; size",
       28},
      {{"rtx5090-n1g4-stated", "node:1 gpu:4xRTX5090 pcie:63GBps:no-p2p root:1", "2.26.2"},
       "",
       "rtx5090",
       "node:1 gpu:4xRTX5090 pcie:63GBps",
       true,
       "the same",
       35},
      {{"rtx4090-p2pdrv-n1g4", "node:1 gpu:4xRTX4090 pcie:31.5GBps:p2p", "2.18.3"},
       kMore,
       "p2pdrv",
       "node:1 gpu:4xRTX4090 pcie:31.5GBps",
       true,
       "NCCL"},
  };
}

}  // namespace ddpsim::open_logs
