// The open all_reduce_perf logs and the clusters they are of, as anybody would write them by what
// the page of each log states.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/collective.hpp"
#include "ddpsim/topologies/cluster_source.hpp"

namespace ddpsim::open_logs {

struct Log {
  std::string slug;
  std::string line;
  /// If the log does not say it, the version that was current at its date.
  std::string nccl;
  bool rings = false;  ///< run with NCCL_ALGO=RING
  Cluster cluster = parse_cluster_line(line);

  CollectiveTuning tuning() const {
    CollectiveTuning tuning{.nccl = *parse_nccl_version(nccl)};
    if (rings) tuning.algorithms = Algorithm::ring;
    return tuning;
  }
};

inline const std::string kPolaris = " gpu:4xA100 nvlink:12x25GBps:mesh nic:2x200Gbps:slingshot";
inline const std::string kAlps = " gpu:4xGH200 nvlink:18x25GBps:mesh nic:4x200Gbps:slingshot";
inline const std::string kAbciV = " gpu:4xV100 nvlink:6x25GBps:mesh nic:2x100Gbps:ib";

/// Every healthy log whose machine is stated.
inline std::vector<Log> stated() {
  return {
      {"v100-sxm2-32gb-n1g8", "node:1 gpu:8xV100 nvlink:6x25GBps:cube", "2.12.10"},
      {"abci-v100-n1g4", "node:1 gpu:4xV100 nvlink:6x25GBps:mesh", "2.8.4"},
      {"curve-dgx1-v100-n1g2-1link", "node:1 gpu:2xV100 nvlink:1x25GBps:pair", "2.7.8"},
      {"abci-a100-n1g8", "node:1 gpu:8xA100 nvswitch:300GBps", "2.8.4"},
      {"a100-sxm4-80gb-n1g2", "node:1 gpu:2xA100 nvswitch:300GBps", "2.12.12"},
      {"a100-sxm4-80gb-n1g4", "node:1 gpu:4xA100 nvswitch:300GBps", "2.12.12"},
      {"a100-sxm4-80gb-n1g8", "node:1 gpu:8xA100 nvswitch:300GBps", "2.12.12"},
      {"a100-sxm4-40gb-n1g8-superbench", "node:1 gpu:8xA100 nvswitch:300GBps", "2.10.3"},
      {"curve-a100-n1g8-mle", "node:1 gpu:8xA100 nvswitch:300GBps", "2.18.3"},
      {"h800-n1g8", "node:1 gpu:8xH800 nvswitch:200GBps", "2.16.2"},
      {"snellius-h100-n1g4", "node:1 gpu:4xH100 nvlink:18x25GBps:mesh", "2.22.3"},
      {"alps-gh200-n1g4", "node:1 gpu:4xGH200 nvlink:18x25GBps:mesh", "2.23.4"},
      {"dgxh100-n1g8", "node:1 gpu:8xH100 nvswitch:450GBps", "2.21.5"},
      {"curve-h200-n1g8-torch", "node:1 gpu:8xH200 nvswitch:450GBps", "2.27.7"},
      {"a100-pcie-n1g8", "node:1 gpu:8xA100 pcie:31.5GBps:p2p-sockets", "2.12.10"},
      {"rtx4090-n1g2", "node:1 gpu:2xRTX4090 pcie:31.5GBps:no-p2p root:1", "2.18.3"},
      {"rtx2080ti-n1g2-nop2p", "node:1 gpu:2xRTX2080Ti pcie:15.75GBps:no-p2p root:2", "2.18.3"},
      {"abci-v100-n2g4", "node:2" + kAbciV, "2.8.4"},
      {"abci-v100-n8g4", "node:8" + kAbciV, "2.8.4"},
      {"abci-a100-n2g8", "node:2 gpu:8xA100 nvswitch:300GBps nic:4x200Gbps:ib", "2.8.4"},
      {"dgxa100-ib-n2g8", "node:2 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib", "2.10.3", true},
      {"lambda-b200-n2g8", "node:2 gpu:8xB200 nvswitch:900GBps nic:8x400Gbps:ib", "2.26.2"},
      {"gke-h200-n2g1", "node:2 gpu:1xH200 nic:1x400Gbps:roce", "2.23.4"},
      {"p4d-efa-n2g8", "node:2 gpu:8xA100 nvswitch:300GBps nic:4x100Gbps:efa", "2.9.9"},
      {"p5-efa-n2g8", "node:2 gpu:8xH100 nvswitch:450GBps nic:32x100Gbps:efa", "2.21.5"},
      {"gcp-a3mega-n2g8", "node:2 gpu:8xH100 nvswitch:450GBps nic:8x200Gbps:efa", "2.21.5"},
      {"p3dn-efa-n2g1", "node:2 gpu:1xV100 nic:1x100Gbps:efa", "2.6.4"},
      {"p3dn-efa-n2g8", "node:2 gpu:8xV100 nvlink:6x25GBps:cube nic:1x100Gbps:efa", "2.6.4"},
      {"p3dn-tcp-n2g1", "node:2 gpu:1xV100 nic:1x100Gbps:tcp", "2.7.8"},
      {"dgx2-v100-tcp-n2g1", "node:2 gpu:1xV100 nic:1x10Gbps:tcp", "2.11.4"},
      {"polaris-a100-tcp-n2g4", "node:2 gpu:4xA100 nvlink:12x25GBps:mesh nic:2x200Gbps:tcp",
       "2.18.3"},
      {"polaris-a100-n2g4-nccl221", "node:2" + kPolaris, "2.21.5"},
      {"polaris-a100-n8g4-nccl218", "node:8" + kPolaris, "2.18.3"},
      {"polaris-a100-n540g4-nccl221", "node:540" + kPolaris, "2.21.5"},
      {"kestrel-h100-n16g4", "node:16 gpu:4xH100 nvlink:18x25GBps:mesh nic:2x200Gbps:slingshot",
       "2.21.5"},
      {"alps-gh200-n2g4", "node:2" + kAlps, "2.23.4"},
      {"alps-gh200-n8g4", "node:8" + kAlps, "2.23.4"},
      {"alps-gh200-n32g4", "node:32" + kAlps, "2.23.4"},
      {"alps-gh200-n128g4", "node:128" + kAlps, "2.23.4"},
  };
}

/// The others that have a table: machines at fault, or not stated well enough for the cost model's figures.
inline std::vector<Log> others() {
  return {
      // As if its peers reached each other, which would be its fault.
      {"rtx4090-n1g8-slow", "node:1 gpu:8xRTX4090 pcie:31.5GBps:p2p-sockets", "2.18.3"},
      {"v100-roce-n2g1-slow", "node:2 gpu:1xV100 nic:1x100Gbps:roce", "2.26.5"},
      {"alps-gh200-n2g4-tcp", "node:2" + kAlps, "2.23.4"},
      {"abci-a100-n8g8", "node:8 gpu:8xA100 nvswitch:300GBps nic:4x200Gbps:ib", "2.8.4"},
      {"p3dn-nonet-n2g1-modified", "node:2 gpu:1xV100 nic:1x100Gbps:tcp", "2.7.8"},
      {"rtx3090-n4g8", "node:4 gpu:8xRTX3090 pcie:31.5GBps:no-p2p nic:1x100Gbps:roce", "2.18.3"},
      {"coreweave-a100-n4g8-sharp", "node:4 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib",
       "2.12.12"},
      {"p3dn-efa-n2g8-nccl246-ring", "node:2 gpu:8xV100 nvlink:6x25GBps:cube nic:1x100Gbps:efa",
       "2.6.4", true},
  };
}

/// Half the traffic rule at a constant share of the nominal bottleneck: the trivial predictor.
inline double constant_efficiency_us(const Cluster& cluster, Bytes size) {
  constexpr double kEfficiency = 0.8;
  double rate = cluster.intra.per_gpu.bytes_per_second();
  if (cluster.nodes > 1) {
    const double network =
        cluster.network.per_nic.bytes_per_second() * cluster.network.nics_per_node;
    rate = cluster.gpus_per_node > 1 ? std::min(rate, network) : network;
  }
  const double ranks = cluster.ranks();
  return 2 * (ranks - 1) / ranks * static_cast<double>(size.count()) / (kEfficiency * rate) * 1e6;
}

}  // namespace ddpsim::open_logs
