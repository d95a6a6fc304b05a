// Logs of a cluster that obeys the pipeline cost model with constants of its own, as all_reduce_perf would
// print them there.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "ddpsim/calibrate/fit/fit.hpp"
#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/topologies/cluster_source.hpp"

namespace ddpsim::cost_model_logs {

inline const std::string kLine = "node:1 gpu:4xA100 nvlink:12x25GBps:mesh nic:2x200Gbps:ib";
inline constexpr NcclVersion kNccl{2, 18, 3};

inline Cluster cluster_at(JobShape shape) {
  return load_cluster_at(kLine, shape.nodes, shape.gpus_per_node);
}

/// A cluster that obeys the cost model with other constants than those of its kind.
inline PathConstants truth() {
  PathConstants constants = constants_of(cluster_at({2, 4}));
  constants.launch_us = 5;
  constants.nic_share = 0.8;
  constants.local_share = 0.7;
  constants.hop_us[0] *= 1.2;
  constants.ll_gbps *= 1.5;
  return constants;
}

/// What all_reduce_perf would print there, `factor` times.
inline MeasuredLog measured(JobShape shape, double factor = 1, std::int64_t from = 8,
                            const Calibration& of = {.constants = truth()}) {
  Cluster cluster = cluster_at(shape);
  cluster.calibration = std::make_shared<const Calibration>(of);
  MeasuredLog log;
  log.source = fmt::format("n{}.txt", shape.nodes);
  log.nodes = shape.nodes;
  log.gpus_per_node = shape.gpus_per_node;
  log.ranks = shape.ranks();
  log.nccl = kNccl;
  for (std::int64_t size = from; size <= 1 << 30; size *= 2) {
    const auto choice =
        select_algorithm(CollectiveKind::all_reduce, Bytes(size), cluster, {.nccl = kNccl});
    const Duration time = cost(CollectiveKind::all_reduce, choice, Bytes(size), cluster);
    log.points.push_back({Bytes(size), factor * time.microseconds(), {}, "made here"});
  }
  return log;
}

inline Fit fit(const std::vector<MeasuredLog>& logs) {
  return fit_calibration(logs, cluster_at, {.nccl = kNccl});
}

inline double predicted_us(const Calibration& calibration, JobShape shape, Bytes size) {
  Cluster cluster = cluster_at(shape);
  cluster.calibration = std::make_shared<const Calibration>(calibration);
  const auto choice = select_algorithm(CollectiveKind::all_reduce, size, cluster, {.nccl = kNccl});
  return cost(CollectiveKind::all_reduce, choice, size, cluster).microseconds();
}

}  // namespace ddpsim::cost_model_logs
