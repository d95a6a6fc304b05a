// Compares a log with two things it was not fitted to: the best that the machine's links could
// carry, and the uncalibrated cost model.
//
// Bandwidth decides. The limit is how far valid machines lie from the cost model at the largest
// sizes (median over sizes within a factor of eight of the largest). 14 logs of one NVLink node
// take 0.95 to 1.14 times the cost model, and 27 others take 0.90 to 1.80 times. (Those have PCIe
// without peer-to-peer, early EFA plugins, or NICs in unknown places.) This holds whichever family
// is left out. Machines with a known fault take at least 4.4 times. Latencies decide nothing,
// because launchers that start a thread per GPU make them four times as long on valid machines.
#include "ddpsim/calibrate/logs/health.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ddpsim/diagnose/evidence/environment_facts.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/sim/certainty/allreduce_table.hpp"
#include "ddpsim/sim/values/calibration.hpp"
#include "ddpsim/sim/values/elementary.hpp"
#include "ddpsim/sim/values/quantile.hpp"
#include "ddpsim/sim/values/size_text.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "ddpsim/topologies/pcie_rate.hpp"

namespace ddpsim {
namespace {

/// A log is too slow if it takes this many times as long as the cost model predicts. The slowest
/// valid machine is 10 % faster.
constexpr double kTooSlow = 2;
/// The limit of slowness within one NVLink node. If half of the links are down, a log takes twice
/// the predicted time.
constexpr double kTooSlowNvlink = 1.5;
/// Bytes of an element; sizes counted in elements take this many times as long.
constexpr double kFloat = 4;
/// Milliseconds mistaken for microseconds give a factor of a thousand.
constexpr double kAnotherUnit = 300;
constexpr double kAboutFour = 0.35;   ///< logarithm
constexpr double kBeatsLinks = 1.05;  ///< rates and times are rounded
/// If another machine would take at least this share of the time, it explains the time.
constexpr double kEqual = 0.7;

std::vector<MeasuredPoint> largest(const std::vector<MeasuredPoint>& points) {
  std::vector<MeasuredPoint> out;
  for (const MeasuredPoint& point : points) {
    if (point.size >= kLargeFrom && point.size * 8 >= points.back().size) out.push_back(point);
  }
  return out;
}

double slowdown(const std::vector<MeasuredPoint>& points, const Cluster& cluster,
                const CollectiveTuning& tuning) {
  std::vector<double> ratios;
  for (const MeasuredPoint& point : points) {
    ratios.push_back(point.time_us / modelled_us(point.size, cluster, tuning));
  }
  return median(std::move(ratios));
}

/// Lower bound of an all-reduce's time: the bytes that each GPU and each node must send, at the
/// nominal rate, without latency. Switches that reduce save the factor of two.
double least_us(Bytes size, const Cluster& cluster) {
  const auto send = [&](int parts, bool in_switch, double rate) {
    if (parts < 2 || !(rate > 0)) return 0.0;
    const double share = in_switch ? 1 : 2.0 * (parts - 1) / parts;
    return static_cast<double>(size.count()) * share / rate * 1e6;
  };
  const Network& network = cluster.network;
  const double between =
      send(cluster.nodes, network.collnet,
           network.per_nic.bytes_per_second() * std::max(1, network.nics_per_node));
  if (cluster.nodes > 1) return between;
  return send(cluster.gpus_per_node, cluster.intra.kind == IntraKind::nvswitch,
              cluster.intra.per_gpu.bytes_per_second());
}

std::string_view name_of_network(const Network& network) {
  switch (network.kind) {
    case NetworkKind::infiniband:
      return "InfiniBand";
    case NetworkKind::roce:
      return "RoCE";
    case NetworkKind::efa:
      return "EFA";
    case NetworkKind::slingshot:
      return "Slingshot";
    default:
      return through_sockets(network) ? "TCP" : "GPUDirect-TCPX";
  }
}

/// Whether a driver or plugin of NCCL's drives the NICs. Where it is not loaded, NCCL uses TCP
/// sockets.
bool has_plugin(const Network& network) {
  return network.kind != NetworkKind::none && !through_sockets(network);
}

/// A machine with a part of its links or NICs unused. `words` says what that means, if the log fits
/// this machine.
struct MachineWithout {
  Cluster cluster;
  std::string words;
};

std::vector<MachineWithout> explanations(const Cluster& cluster) {
  std::vector<MachineWithout> all;
  if (cluster.nodes > 1 && has_plugin(cluster.network)) {
    Cluster sockets = cluster;
    sockets.network.kind = NetworkKind::tcp;
    sockets.network.sockets = Sockets::host;
    sockets.network.gpudirect = false;
    all.push_back(
        {sockets, fmt::format("TCP sockets would take no longer. The {} plugin or driver was "
                              "probably not loaded, or the link is slower than stated. Look for "
                              "\"NET/Socket\" with NCCL_DEBUG=INFO",
                              name_of_network(cluster.network))});
  }
  if (cluster.nodes > 1 && cluster.network.nics_per_node > 1) {
    Cluster one = cluster;
    one.network.nics_per_node = 1;
    all.push_back({one, fmt::format("A single one of the {} NICs of a node would explain it. "
                                    "Check NCCL_IB_HCA and which links are up",
                                    cluster.network.nics_per_node)});
  }
  if (cluster.nodes == 1 && cluster.intra.kind != IntraKind::pcie) {
    Cluster host = cluster;
    host.intra.kind = IntraKind::pcie;
    host.intra.per_gpu =
        Bandwidth::gigabytes_per_second(pcie_nominal_of_generation(cluster.gpu.compute_capability));
    const bool amd = cluster.gpu.vendor == GpuVendor::amd;
    all.push_back({host, fmt::format("PCIe would explain it, so {} is not in use. Check `{}` and "
                                     "NCCL_P2P_DISABLE",
                                     amd ? "xGMI" : "NVLink",
                                     amd ? "rocm-smi --showtopo" : "nvidia-smi nvlink --status")});
  }
  if (cluster.nodes == 1 && cluster.intra.kind == IntraKind::pcie &&
      cluster.intra.peers != PeerAccess::host) {
    Cluster host = cluster;
    host.intra.peers = PeerAccess::host;
    all.push_back(
        {host,
         "Copies through host memory would explain it, so peers do not reach each other. Check "
         "`nvidia-smi topo -p2p r` and NCCL_P2P_DISABLE, or state pcie:BW:no-p2p"});
  }
  return all;
}

double too_slow(const Cluster& cluster) {
  const bool nvlink = cluster.nodes == 1 && (cluster.intra.kind == IntraKind::nvswitch ||
                                             cluster.intra.kind == IntraKind::nvlink);
  return nvlink ? kTooSlowNvlink : kTooSlow;
}

std::string cause(const std::vector<MeasuredPoint>& points, const Cluster& cluster,
                  const CollectiveTuning& tuning) {
  // The nearest among the machines that would not be much faster than the measurement.
  std::optional<double> nearest;
  std::string words;
  for (const MachineWithout& explanation : explanations(cluster)) {
    const double ratio = slowdown(points, explanation.cluster, tuning);
    if (ratio < kEqual || (nearest && *nearest <= std::abs(elementary::log(ratio)))) continue;
    nearest = std::abs(elementary::log(ratio));
    words = explanation.words;
  }
  if (nearest) return words;
  if (cluster.nodes == 1 && cluster.intra.kind == IntraKind::pcie) {
    return "PCIe between these GPUs is slower than stated. Peer-to-peer may be off (copies "
           "through host memory, NCCL_P2P_LEVEL), slots may have fewer lanes, or another job was "
           "running";
  }
  return "A link is slower than stated, or another job was running";
}

void judge_bandwidth(const MeasuredLog& log, const Cluster& cluster, const CollectiveTuning& tuning,
                     LogHealth& health) {
  const std::vector<MeasuredPoint> points = largest(log.points);
  if (points.empty()) {
    health.notes.push_back(
        "it has no size of 1 MiB or more, so its bandwidth cannot be checked. Measure with "
        "all_reduce_perf -b 1M -e 1G -f 2");
    return;
  }
  health.from = points.front().size;
  health.to = points.back().size;
  const double ratio = slowdown(points, cluster, tuning);
  health.slowdown = ratio;
  if (ratio > kAnotherUnit || ratio < 1 / kAnotherUnit) {
    health.other_unit = true;
    const auto like = [&](double factor) { return ratio > factor / 30 && ratio < factor * 30; };
    const char* unit = like(1e3)    ? "nanoseconds"
                       : like(1e-3) ? "milliseconds"
                       : like(1e-6) ? "seconds"
                                    : "another unit";
    health.faults.push_back(fmt::format(
        "the times are {} what the cluster should take. Microseconds are expected, but these look "
        "like {}",
        ratio > 1 ? fmt::format("{:.0f} times", ratio) : fmt::format("1/{:.0f} of", 1 / ratio),
        unit));
    return;
  }
  if (ratio > too_slow(cluster)) {
    double best = 0;
    for (const MeasuredPoint& point : points)
      best = std::max(
          best, busbw_gbps(point.size, Duration::microseconds(point.time_us), cluster.ranks()));
    health.faults.push_back(
        fmt::format("large sizes take {:.1f} times what the cluster should (busbw {:.2f} GB/s at "
                    "best). {}{}",
                    ratio, best, cause(points, cluster, tuning),
                    std::abs(elementary::log(ratio / kFloat)) < kAboutFour
                        ? ". Or are its sizes in elements of 4 bytes instead of bytes?"
                        : ""));
  }
  for (const MeasuredPoint& point : points) {
    const double least = least_us(point.size, cluster);
    if (point.time_us * kBeatsLinks >= least) continue;
    health.faults.push_back(fmt::format(
        "{} bytes in {:.4g} us are faster than the cluster's links can carry ({:.4g} us at their "
        "nominal rate). The log comes from another machine, or from a modified NCCL",
        point.size.count(), point.time_us, least));
    break;
  }
}

/// Faults that the log itself states, whatever its times are.
void judge_words(const MeasuredLog& log, const Cluster& cluster, LogHealth& health) {
  const std::optional<GpuModel> gpu = find_gpu(log.gpu);
  if (gpu && gpu->name != cluster.gpu.name) {
    health.faults.push_back(
        fmt::format("its GPU is {}, but the cluster has {}", in_quotes(log.gpu), cluster.gpu.name));
  }
  if (cluster.nodes == 1 || !has_plugin(cluster.network)) return;
  const std::string_view network = name_of_network(cluster.network);
  if (log.transport == "NET/Socket") {
    health.faults.push_back(
        fmt::format("NCCL used TCP (NET/Socket), although the cluster has {}; its plugin or "
                    "driver was not loaded",
                    network));
    return;
  }
  const bool verbs =
      cluster.network.kind == NetworkKind::infiniband || cluster.network.kind == NetworkKind::roce;
  for (const auto& [name, value] : log.settings) {
    if (name == "NCCL_IB_DISABLE" && !verbs) continue;
    const auto costly = costly_value({.name = name, .value = value, .place = {}});
    if (costly && costly->what == CauseClass::socket_instead_of_ib)
      health.faults.push_back(
          fmt::format("{}={} was set, although the cluster has {}", name, value, network));
  }
}

/// More bytes do not take less time on a quiet machine, except where the algorithm changes.
void judge_noise(const MeasuredLog& log, LogHealth& health) {
  constexpr double kDrop = 0.6;
  std::size_t drops = 0;
  std::string first;
  for (std::size_t i = 1; i < log.points.size(); ++i) {
    const MeasuredPoint& small = log.points[i - 1];
    const MeasuredPoint& large = log.points[i];
    if (small.size == large.size || large.time_us > kDrop * small.time_us) continue;
    if (++drops > 1) continue;
    first = fmt::format("{} bytes took {:.4g} us, {} bytes {:.4g} us", small.size.count(),
                        small.time_us, large.size.count(), large.time_us);
  }
  if (drops == 0) return;
  health.notes.push_back(
      fmt::format("uneven: {}{}. The algorithm changes there, or it is noise; then measure again "
                  "with -n 100",
                  first, drops == 1 ? "" : fmt::format(", {} times in all", drops)));
}

/// NCCL's table here should equal NCCL's own, bit for bit, so a difference is reported.
void compare_decisions(const MeasuredLog& log, const Cluster& cluster,
                       const CollectiveTuning& tuning, LogHealth& health) {
  std::size_t different = 0;
  std::string first;
  for (const NcclDecision& decision : log.decisions) {
    const CollectiveChoice ours =
        select_algorithm(CollectiveKind::all_reduce, decision.size, cluster, tuning);
    if (ours.algorithm == decision.algorithm && ours.protocol == decision.protocol) continue;
    ++different;
    if (!first.empty()) continue;
    first = fmt::format("{} bytes, {} {} instead of {} {}", decision.size.count(),
                        name_of(decision.algorithm), name_of(decision.protocol),
                        name_of(ours.algorithm), name_of(ours.protocol));
  }
  if (log.decisions.empty()) return;
  health.notes.push_back(
      different == 0
          ? fmt::format("NCCL chose as expected at all {} logged sizes", log.decisions.size())
          : fmt::format(
                "NCCL chose differently than expected at {} of {} logged sizes (first: {}). Is "
                "its version {}, and is the cluster as stated?",
                different, log.decisions.size(), first, to_string(tuning.nccl)));
}

/// Rings of large sizes use all channels that NCCL set up.
void compare_channels(const MeasuredLog& log, const Cluster& cluster,
                      const CollectiveTuning& tuning, LogHealth& health) {
  if (!log.channels) return;
  CollectiveTuning rings = tuning;
  rings.algorithms = AlgorithmSet();
  rings.algorithms->add(Algorithm::ring);
  const int expected =
      select_algorithm(CollectiveKind::all_reduce, Bytes(1LL << 30), cluster, rings).channels;
  if (*log.channels == expected) return;
  health.notes.push_back(
      fmt::format("NCCL set up {} channels, but {} are expected. Is the cluster as stated, and "
                  "are all its links up?",
                  *log.channels, expected));
}

}  // namespace

double modelled_us(Bytes size, const Cluster& cluster, const CollectiveTuning& tuning) {
  const CollectiveChoice choice =
      select_algorithm(CollectiveKind::all_reduce, size, cluster, tuning);
  return cost(CollectiveKind::all_reduce, choice, size, cluster).microseconds();
}

std::string slower_than_bounds(const MeasuredLog& log, const Cluster& cluster,
                               const CollectiveTuning& tuning) {
  std::size_t beaten = 0;
  double worst = 1;
  Bytes at;
  for (const MeasuredPoint& point : log.points) {
    const double ratio = modelled_us(point.size, cluster, tuning) / point.time_us;
    if (ratio <= 1) continue;
    ++beaten;
    if (ratio > worst) at = point.size;
    worst = std::max(worst, ratio);
  }
  if (beaten == 0) return "";
  return fmt::format(
      "the cost model takes longer at {} of {} sizes, up to {:.2f} times ({}), so transfers are "
      "faster here than predicted",
      beaten, log.points.size(), worst, size_text(at));
}

LogHealth health(const MeasuredLog& log, const Cluster& cluster, const CollectiveTuning& tuning) {
  LogHealth result;
  if (log.ranks > 0 && log.ranks != cluster.ranks()) {
    result.faults.push_back(
        fmt::format("it has {} ranks, but the cluster has {}", log.ranks, cluster.ranks()));
    return result;
  }
  judge_words(log, cluster, result);
  compare_channels(log, cluster, tuning, result);
  if (log.points.empty()) {  // debug lines only
    compare_decisions(log, cluster, tuning, result);
    return result;
  }
  judge_bandwidth(log, cluster, tuning, result);
  judge_noise(log, result);
  compare_decisions(log, cluster, tuning, result);
  return result;
}

}  // namespace ddpsim
