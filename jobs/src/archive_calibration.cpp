#include "ddpsim/jobs/archive_calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "ddpsim/calibrate/fit/fit.hpp"
#include "ddpsim/calibrate/fit/gloo_fit.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/words.hpp"
#include "ddpsim/sim/values/versions.hpp"

namespace ddpsim {
namespace {

/// Returns the NCCL version that the archive states, as "nccl=2.21.5".
std::optional<NcclVersion> nccl_of(const Archive& archive) {
  constexpr std::string_view kKey = "nccl=";
  for (const ArchiveMember* member : archive.of(ArchiveKind::versions))
    for (const std::string_view word : words_of(member->bytes))
      if (word.starts_with(kKey))
        if (auto version = parse_nccl_version(std::string(word.substr(kKey.size()))))
          return version;
  return std::nullopt;
}

/// Fits for the library that wrote the logs; only NCCL if there are logs of both.
struct Calibrations {
  std::shared_ptr<const Calibration> nccl;
  std::shared_ptr<const GlooCalibration> gloo;
};

Calibrations fitted(const Archive& archive, const std::string& text) {
  const auto cluster_at = [&](JobShape shape) {
    return load_cluster_at(text, shape.nodes, shape.gpus_per_node);
  };
  std::vector<MeasuredLog> logs = logs_in(archive);
  const bool all_of_gloo = std::ranges::all_of(logs, is_of_gloo);
  if (all_of_gloo)
    return {
        .nccl = {},
        .gloo = std::make_shared<const GlooCalibration>(fit_gloo(logs, cluster_at).calibration)};
  std::erase_if(logs, is_of_gloo);
  const NcclVersion nccl = nccl_of(archive).value_or(bundled_nccl(kAssumedTorch));
  return {.nccl = std::make_shared<const Calibration>(
              fit_calibration(logs, cluster_at, {.nccl = nccl}).calibration),
          .gloo = {}};
}

Cluster calibrated(Cluster cluster, const Calibrations& calibrations) {
  if (calibrations.nccl) cluster.calibration = calibrations.nccl;
  if (calibrations.gloo) cluster.gloo = calibrations.gloo;
  for (auto& group : cluster.groups)
    group = std::make_shared<const Cluster>(calibrated(*group, calibrations));
  return cluster;
}

}  // namespace

std::vector<MeasuredLog> logs_in(const Archive& archive) {
  std::vector<MeasuredLog> logs;
  for (const ArchiveMember* member : archive.of(ArchiveKind::all_reduce_log)) {
    // An archive is called by its file name, because its folder is private.
    const std::string name = std::filesystem::path(archive.file).filename().string();
    for (MeasuredLog& log :
         parse_measured_logs(member->bytes, name + ":" + member->path, std::nullopt))
      logs.push_back(std::move(log));
  }
  return logs;
}

Cluster load_calibrated_cluster(const ClusterRequest& request) {
  Cluster cluster = load_cluster(request);
  const std::optional<std::string> path = archive_named(request.text);
  if (!path) return cluster;
  const Archive archive = read_archive(*path);
  if (archive.of(ArchiveKind::all_reduce_log).empty()) return cluster;
  try {
    return calibrated(cluster, fitted(archive, request.text));
  } catch (const InputError&) {
    // `archive_warnings` reports this next to the prediction.
  }
  return cluster;
}

std::vector<std::string> archive_warnings(const std::string& cluster_text, const Cluster& cluster) {
  const std::optional<std::string> path = archive_named(cluster_text);
  if (!path || cluster.calibration || cluster.gloo) return {};
  const Archive archive = read_archive(*path);
  if (archive.of(ArchiveKind::all_reduce_log).empty()) return {};
  try {
    fitted(archive, cluster_text);
  } catch (const InputError& error) {
    return {fmt::format("its all-reduces do not calibrate {}, so data sheet values are used: {}",
                        *path, error.what())};
  }
  return {};
}

}  // namespace ddpsim
