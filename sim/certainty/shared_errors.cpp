#include "shared_errors.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "ddpsim/sim/values/elementary.hpp"

namespace ddpsim {
namespace {

/// Root mean square of the logarithm of measured over predicted time, for large all-reduces in
/// nccl-tests logs over networks:
/// - between two logs of one machine with other numbers of nodes 0.08 (10 pairs),
/// - between any two job shapes of one machine 0.14 (11 pairs; small sizes 0.34),
/// - between any two logs 0.24 (small sizes 0.61).
/// Machines with the same GPUs and NICs elsewhere differ as much as any two (0.29; 7 pairs). So
/// kSameKind is meant only for machines that one buyer would run.
constexpr double kSameNodes = 7.0 / 8;  // at twice the size and beyond
constexpr double kSameKind = 2.0 / 3;

/// Root mean square of the logarithm of measured over predicted time, for whole published steps
/// (tests/accuracy/published_pairs.py):
/// - between two sizes of one stack on several nodes 0.045 (50 pairs), between any two stacks there
/// 0.13,
/// - within one node 0.028 (90 pairs) and 0.053,
/// - from one node to several 0.09 (64 pairs) and 0.11.
/// Most of it is multi-GPU overhead, which belongs to the stack. The first two values hold at twice
/// the size and beyond, like most of the pairs.
constexpr double kBothOnSeveralNodes = 7.0 / 8;
constexpr double kBothOnOneNode = 3.0 / 4;
constexpr double kFromOneNodeToSeveral = 1.0 / 3;

bool same_logs(const std::vector<CalibratedShape>& a, const std::vector<CalibratedShape>& b) {
  return std::ranges::equal(a, b, [](const CalibratedShape& one, const CalibratedShape& other) {
    const auto identity = [](const CalibratedShape& log) {
      return std::tie(log.source, log.nodes, log.gpus_per_node, log.smallest, log.largest);
    };
    return identity(one) == identity(other);
  });
}

/// Two sizes that hardly differ share nearly all of what a doubling shares in part.
double shared_at(double share_of_double, int size, int other) {
  const double doublings = std::abs(elementary::log2(static_cast<double>(size) / other));
  return 1 - (1 - share_of_double) * std::min(1.0, doublings);
}

auto kind_of_node(const Cluster& cluster) {
  return std::tuple(cluster.gpu.name, cluster.cpu, cluster.intra.kind, cluster.intra.peers);
}

auto kind_of_network(const Network& network) {
  return std::tuple(network.kind, network.sockets, network.gpudirect, network.collnet);
}

auto rates_of_network(const Network& network) {
  return std::tuple(network.nics_per_node, network.per_nic, network.latency, network.connection);
}

}  // namespace

bool have_same_calibration(const Cluster& a, const Cluster& b) {
  const auto alike = [](const auto& one, const auto& other, auto logs) {
    return one == other || (one && other && same_logs(one.get()->*logs, other.get()->*logs));
  };
  return alike(a.calibration, b.calibration, &Calibration::shapes) &&
         alike(a.gloo, b.gloo, &GlooCalibration::logs);
}

Kinship kinship(const Cluster& a, const Cluster& b) {
  const bool networked = a.nodes > 1;
  if (networked != (b.nodes > 1) || kind_of_node(a) != kind_of_node(b)) return Kinship::none;
  if (networked && kind_of_network(a.network) != kind_of_network(b.network)) return Kinship::none;
  const auto links = [](const Cluster& cluster) {
    return std::tuple(cluster.gpus_per_node, cluster.intra.per_gpu, cluster.intra.links_per_gpu);
  };
  const bool same_links = links(a) == links(b);
  const bool same_nics = !networked || rates_of_network(a.network) == rates_of_network(b.network);
  return same_links && same_nics ? Kinship::same_nodes : Kinship::same_kind;
}

double shared_share(ErrorSource source, const Cluster& one, const Cluster& other) {
  switch (source) {
    case ErrorSource::fixed_cost:
    case ErrorSource::bandwidth:
    case ErrorSource::collective_times:
    case ErrorSource::replay_residual:
      if (!have_same_calibration(one, other)) return 0;
      switch (kinship(one, other)) {
        case Kinship::none:
          return 0;
        case Kinship::same_kind:
          return kSameKind;
        case Kinship::same_nodes:
          return shared_at(kSameNodes, one.nodes, other.nodes);
      }
      return 0;
    case ErrorSource::rank_slowdown:
      if ((one.nodes > 1) != (other.nodes > 1)) return kFromOneNodeToSeveral;
      return shared_at(one.nodes > 1 ? kBothOnSeveralNodes : kBothOnOneNode, one.ranks(),
                       other.ranks());
    case ErrorSource::gpu_spread:
    case ErrorSource::compute_scale:
    case ErrorSource::host_work:  // hosts belong to their GPUs' generation
      return one.gpu.name == other.gpu.name ? 1 : 0;
    case ErrorSource::measurement_noise:
    case ErrorSource::schemes:  // of two schemes
      return 0;
    // Errors of the workload, PyTorch or NCCL are the same on every cluster.
    default:
      return 1;
  }
}

bool belongs_to_workload(ErrorSource source) {
  // Two errors do not belong to the workload. One comes from carrying compute over to another GPU:
  // two published models on one pair of machines share it (10 pairs of convolutional networks have
  // 99 % of the variance in common). The other comes from changing a job's size: two models of one
  // stack share two thirds of it (85 pairs).
  switch (source) {
    case ErrorSource::replay_residual:  // of its measured step
    case ErrorSource::measurement_noise:
    case ErrorSource::host_delays:  // of its recording
    case ErrorSource::step_spread:
    case ErrorSource::recorded_waits:
      return true;
    default:
      return false;
  }
}

}  // namespace ddpsim
