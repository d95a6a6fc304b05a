// A cluster whose cost model has round constants, for times worked out on paper.
#pragma once

#include <doctest/doctest.h>

#include <memory>

#include "pipeline_cost.hpp"

namespace ddpsim::round_costs {

/// Every constant another figure, so that two that change places are seen. With `overlap` 1 latencies
/// between nodes add up with the transfer.
inline PathConstants constants() {
  return {.launch_us = 10,
          .start_us = {1, 2, 4},
          .local_us = {1, 2, 3},
          .hop_us = {10, 20, 30},
          .rendezvous_us = 40,
          .channel_us = 0.5,
          .local_share = 0.5,
          .nic_share = 0.8,
          .single_gpu_per_node = 0.5,
          .ll_gbps = 1,
          .ll128_gbps = 4,
          .nvls_start_us = 30,
          .nvls_wave_us = 2,
          .nvls_share = 0.6,
          .overlap = 1,
          .per_channel_start_us = 0.25,
          .ring_ends = 0,
          .tree_share = 0.5,
          .ll_share = 0.25};
}

inline void set(Cluster& cluster, const PathConstants& constants) {
  Calibration calibration;
  calibration.constants = constants;
  calibration.shapes = {{cluster.nodes, cluster.gpus_per_node, Bytes(8), Bytes(1 << 30), "paper"}};
  cluster.calibration = std::make_shared<const Calibration>(calibration);
}

/// 200 GB/s per GPU, of which 100 carry payload; two NICs of 25 GB/s, which carry 40 GB/s together,
/// or half of it from a lone GPU.
inline Cluster cluster(int nodes, int gpus) {
  Cluster cluster;
  cluster.nodes = nodes;
  cluster.gpus_per_node = gpus;
  cluster.gpu.compute_capability = 80;
  cluster.intra = {.kind = gpus > 1 ? IntraKind::nvswitch : IntraKind::none,
                   .per_gpu = Bandwidth::gigabytes_per_second(200)};
  cluster.network = {.kind = NetworkKind::infiniband,
                     .nics_per_node = 2,
                     .per_nic = Bandwidth::gigabytes_per_second(25)};
  set(cluster, constants());
  return cluster;
}

/// What paper says of an operation, in microseconds.
struct Paper {
  double start;
  double latency;
  double fill;
  double transfer;
};

inline void check(const PipelineTerms& terms, const Paper& paper) {
  CHECK(terms.start_us == doctest::Approx(paper.start));
  CHECK(terms.latency_us == doctest::Approx(paper.latency));
  CHECK(terms.fill_us == doctest::Approx(paper.fill));
  CHECK(terms.transfer_us == doctest::Approx(paper.transfer));
}

}  // namespace ddpsim::round_costs
