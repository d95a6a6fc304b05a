// Small workloads and clusters built by hand, for tests that say in a few lines what should happen.
#pragma once

#include <doctest/doctest.h>

#include <initializer_list>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/step/loss.hpp"
#include "ddpsim/sim/values/simulation_options.hpp"

/// Failing checks show picoseconds.
template <>
struct doctest::StringMaker<ddpsim::Duration> {
  static doctest::String convert(ddpsim::Duration value) {
    return (std::to_string(value.picoseconds()) + " ps").c_str();
  }
};
template <>
struct doctest::StringMaker<ddpsim::TimePoint> {
  static doctest::String convert(ddpsim::TimePoint value) {
    return (std::to_string(value.since_start().picoseconds()) + " ps").c_str();
  }
};

namespace ddpsim::small {

inline constexpr std::int64_t kMiB = 1 << 20;

/// One gradient: `bytes` of fp32 ready `at_us` into backward.
struct Gradient {
  std::int64_t bytes;
  double at_us;
};

/// Parameters p0, p1, … in ready order reversed into definition order, as a plain chain of layers
/// has them. Recorded without DDP.
inline Workload chain(const std::vector<Gradient>& gradients, double forward_us, double backward_us,
                      double optimizer_us = 0) {
  Workload workload;
  workload.name = "chain";
  workload.forward = Duration::microseconds(forward_us);
  workload.optimizer = Duration::microseconds(optimizer_us);
  workload.backward = Backward{.duration = Duration::microseconds(backward_us), .ready = {}};
  const std::size_t n = gradients.size();
  workload.parameters.resize(n);
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t index = n - 1 - k;
    workload.parameters[index].name = "p" + std::to_string(index);
    workload.parameters[index].shape = {{gradients[k].bytes / 4}};
    workload.backward->ready.push_back(
        {.parameter = index, .at = Duration::microseconds(gradients[k].at_us), .copied_at = {}});
  }
  return workload;
}

/// `ranks` GPUs in one node behind a switch.
inline Cluster node(int ranks, double gigabytes_per_second = 100) {
  Cluster cluster;
  cluster.name = "node";
  cluster.gpus_per_node = ranks;
  cluster.gpu = {.name = "V100",
                 .compute_capability = 70,
                 .sms = 80,
                 .memory_bandwidth = Bandwidth::gigabytes_per_second(900),
                 .fp32_tflops = 15.7};
  cluster.intra = {.kind = IntraKind::nvswitch,
                   .per_gpu = Bandwidth::gigabytes_per_second(gigabytes_per_second),
                   .links_per_gpu = 4};
  cluster.ring = {.channels = 4,
                  .intra = Bandwidth::gigabytes_per_second(gigabytes_per_second / 4),
                  .inter = Bandwidth::gigabytes_per_second(gigabytes_per_second / 4),
                  .intra_path = PathKind::nvlink};
  cluster.tree = cluster.ring;
  return cluster;
}

inline Loss lost(std::initializer_list<std::pair<LossCause, Duration>> parts) {
  Loss loss;
  for (const auto& [cause, time] : parts) loss[cause] += time;
  return loss;
}

/// No costs except those a test sets: no copies, no host time, no latencies, no interference.
inline SimulationOptions bare() {
  SimulationOptions options;
  options.costs = {.copy_bandwidth_share = std::numeric_limits<double>::infinity(),
                   .copy_kernel = {},
                   .kernel_gap = {},
                   .host_copy = {},
                   .host_hook = {},
                   .host_launch = {},
                   .host_comm_hook = {},
                   .host_hook_kernel = {},
                   .qr = {},
                   .qr_column = {},
                   .host_step = {},
                   .host_step_kernel = {},
                   .launch_latency = {},
                   .event_latency = {},
                   .host_search_per_parameter = {},
                   .zero = ZeroHost::nothing(),
                   .host_unit_hook = {}};
  options.interference = {.sm_share = 0, .memory_share = 0, .communication_rate = 1};
  return options;
}

/// This long after time zero.
inline TimePoint at(Duration since) {
  return TimePoint(since);
}

/// Indices of the parameters in each bucket.
inline std::vector<std::vector<std::size_t>> parameters_of(const std::vector<Bucket>& buckets) {
  std::vector<std::vector<std::size_t>> all;
  for (const Bucket& bucket : buckets) all.push_back(bucket.parameters);
  return all;
}

/// A job that is all collectives: no workload.
inline Job on(const Cluster& cluster, CollectiveModel model) {
  return Job({}, cluster, {}, std::move(model));
}

}  // namespace ddpsim::small
