// The tables that people posted (shared/data/nccl-tests-more) of GPUs joined by PCIe alone, as clusters. What a
// table does not state is an assumption, written beside it.
#pragma once

#include <string>
#include <vector>

#include "open_logs.hpp"

namespace ddpsim::open_logs {

struct PcieLog : Log {
  std::string folder;
  std::string machine;  ///< logs of one machine are left out together
  bool healthy = true;  ///< by the table's page; the others are shown without a bar
  std::string assumed;
};

/// All open logs in which GPUs of a node reach each other over PCIe.
inline std::vector<PcieLog> over_pcie() {
  const std::string kOpen = "data/nccl-tests";
  const std::string kMore = "data/nccl-tests-more";
  const std::string kGen4 = "slot: the card's PCIe 4.0 x16; NCCL";
  const std::string kPair = "node:1 gpu:2xRTX4090 pcie:31.5GBps:no-p2p";
  return {
      {{"rtx2080ti-n1g2-nop2p", "node:1 gpu:2xRTX2080Ti pcie:15.75GBps:no-p2p", "2.18.3"},
       kOpen,
       "rtx2080ti",
       true,
       "NCCL"},
      {{"rtx3090-n4g8", "node:4 gpu:8xRTX3090 pcie:31.5GBps:no-p2p nic:1x100Gbps:roce", "2.18.3"},
       kOpen,
       "rtx3090",
       true,
       "no-p2p by the driver's rule; NICs, not the bottleneck; " + kGen4},
      {{"rtx4090-kalavai-n1g2-sameroot", kPair, "2.18.3"}, kMore, "kalavai", false, kGen4},
      {{"rtx4090-kalavai-n1g2-crosssocket", kPair, "2.18.3"}, kMore, "kalavai", false, kGen4},
      {{"rtx4090-kalavai-n1g4", "node:1 gpu:4xRTX4090 pcie:31.5GBps:no-p2p", "2.18.3"},
       kMore,
       "kalavai",
       false,
       kGen4},
      {{"rtx4090-n1g8-slow", "node:1 gpu:8xRTX4090 pcie:31.5GBps:no-p2p", "2.18.3"},
       kOpen,
       "rtx4090-slow",
       false,
       "no-p2p by the driver's rule; NCCL"},
      {{"a100-pcie-n1g4-sm02", "node:1 gpu:4xA100 pcie:31.5GBps:no-p2p", "2.18.3"},
       kMore,
       "sm02",
       false,
       "no-p2p, its page says likely; " + kGen4},
      // 15.8 GB/s are four times what any pair without peer to peer reaches; drivers of the card's first
      // months offered it. The root is not said.
      {{"rtx4090-n1g2", "node:1 gpu:2xRTX4090 pcie:31.5GBps:p2p-sockets", "2.18.3"},
       kOpen,
       "rtx4090-pair",
       true,
       "peer to peer, by its rate; across sockets; NCCL"},
      {{"a100-pcie-n1g8", "node:1 gpu:8xA100 pcie:31.5GBps:p2p-sockets", "2.12.10"},
       kOpen,
       "a100",
       true,
       "peer to peer; NCCL"},
      {{"rtx4090-p2pdrv-n1g4", "node:1 gpu:4xRTX4090 pcie:31.5GBps:p2p", "2.18.3"},
       kMore,
       "p2pdrv",
       true,
       "NCCL"},
  };
}

}  // namespace ddpsim::open_logs
