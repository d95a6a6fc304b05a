#include "published_logs.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>

#include "ddpsim/calibrate/logs/health.hpp"
#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/sim/values/elementary.hpp"
#include "times_apart.hpp"

namespace ddpsim {
namespace {

/// The release with which the logs of a shape were taken.
std::optional<NcclVersion> release_of(const Calibration& published, const OperatingPoint& at) {
  if (at.nccl) return at.nccl;
  const auto log = std::ranges::find_if(published.shapes, [&](const CalibratedShape& shape) {
    return shape.nodes == at.nodes && shape.gpus_per_node == at.gpus_per_node;
  });
  return log == published.shapes.end() ? std::nullopt : log->nccl;
}

MeasuredLog empty_log(JobShape shape, std::optional<NcclVersion> nccl) {
  MeasuredLog log;
  log.source = "published";
  log.nodes = shape.nodes;
  log.gpus_per_node = shape.gpus_per_node;
  log.ranks = shape.ranks();
  log.nccl = nccl;
  return log;
}

void add(MeasuredLog& log, const OperatingPoint& at, const Cluster& cluster) {
  // Several logs of one shape became one curve.
  if (std::ranges::find(log.points, at.size, &MeasuredPoint::size) != log.points.end()) return;
  const CollectiveTuning tuning = tuning_of(log, {});
  CollectiveTuning forced = tuning;
  forced.algorithms = at.algorithm;
  forced.protocols = at.protocol;
  if (!can_select_algorithm(cluster, forced)) return;
  const CollectiveChoice choice =
      select_algorithm(CollectiveKind::all_reduce, at.size, cluster, forced);
  MeasuredPoint point;
  point.size = at.size;
  point.time_us = cost(CollectiveKind::all_reduce, choice, at.size, cluster).microseconds();
  log.points.push_back(std::move(point));
  const CollectiveChoice by_table =
      select_algorithm(CollectiveKind::all_reduce, at.size, cluster, tuning);
  if (by_table.algorithm != at.algorithm || by_table.protocol != at.protocol)
    log.decisions.push_back({at.size, at.algorithm, at.protocol, std::nullopt});
}

/// How far a log of the same measurement may lie from its recovered log, as a ratio. It is the
/// noise of the recovered log and, if several logs became one curve, the difference of one of them
/// from it.
double same_within(const Calibration& given_back_by, const MeasuredLog& published) {
  constexpr double kSame = 1.03;
  const auto logs = std::ranges::count_if(given_back_by.shapes, [&](const CalibratedShape& log) {
    return published.shape() == JobShape{log.nodes, log.gpus_per_node} &&
           (!published.nccl || published.nccl == log.nccl);
  });
  if (logs < 2) return kSame;
  const auto& [small, middle, large] = given_back_by.repeatability;
  return kSame * elementary::exp(k80PercentSigmas * std::max({small, middle, large}));
}

}  // namespace

std::vector<MeasuredLog> published_logs(const Calibration& published, const ClusterAt& cluster_at) {
  std::vector<MeasuredLog> logs;
  std::optional<Cluster> cluster;
  for (const CorrectionPoint& point : published.correction) {
    const JobShape shape{point.at.nodes, point.at.gpus_per_node};
    const std::optional<NcclVersion> nccl = release_of(published, point.at);
    if (logs.empty() || logs.back().shape() != shape || logs.back().nccl != nccl) {
      logs.push_back(empty_log(shape, nccl));
      cluster = cluster_at(shape);
      cluster->calibration = std::make_shared<const Calibration>(published);
    }
    add(logs.back(), point.at, *cluster);
  }
  std::erase_if(logs, [](const MeasuredLog& log) { return log.points.empty(); });
  return logs;
}

bool is_repeated(const MeasuredLog& published, const Calibration& given_back_by,
                 const std::vector<MeasuredLog>& own) {
  constexpr std::size_t kSizesInCommon = 4;
  const double same = same_within(given_back_by, published);
  return std::ranges::any_of(own, [&](const MeasuredLog& log) {
    if (log.shape() != published.shape()) return false;
    if (log.nccl && published.nccl && *log.nccl != *published.nccl) return false;
    const auto apart = times_apart(published.points, log.points, kSizesInCommon);
    return apart && *apart <= same;
  });
}

bool is_outdone(const MeasuredLog& published, const std::vector<MeasuredLog>& own,
                const FitOptions& options) {
  bool alike = false;
  for (const MeasuredLog& log : own) {
    const std::optional<NcclVersion> release = known_release(log, options);
    if (!release || !published.nccl || !log.shape() || log.timed_by != TimedBy::all_reduce_perf)
      continue;
    if (same_release(release, published.nccl)) return false;
    alike |= (log.shape()->nodes > 1) == (published.shape()->nodes > 1);
  }
  return alike;
}

std::optional<NcclVersion> known_release(const MeasuredLog& log, const FitOptions& options) {
  return log.nccl || !options.nccl_stated ? log.nccl : options.nccl;
}

Part published_part(const MeasuredLog& log, const ClusterAt& cluster_at,
                    const FitOptions& options) {
  Part part{&log, *log.shape(), cluster_at(*log.shape()), tuning_of(log, options.nccl), log.points,
            {},   true};
  part.cluster.calibration.reset();
  return part;
}

}  // namespace ddpsim
