#include "ddpsim/jobs/collectives.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/sim/values/size_text.hpp"
#include "ddpsim/topologies/kind_words.hpp"
#include "ddpsim/topologies/plausible.hpp"

namespace ddpsim {
namespace {

/// Warns about sizes outside those of the nearest log, one line for each direction.
std::vector<std::string> size_warnings(const Cluster& cluster, const std::vector<Bytes>& sizes) {
  std::vector<std::string> warnings;
  if (sizes.empty()) return warnings;
  const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
  const auto warn = [&](Bytes size, bool above) {
    const CalibratedShape* log =
        nearest_log(*cluster.calibration, cluster.nodes, cluster.gpus_per_node, size);
    if (log == nullptr || (above ? size <= log->largest : size >= log->smallest)) return;
    warnings.push_back(fmt::format(
        "sizes {} to {} lie outside what the nearest log measured ({}, {}x{}: {} to {})",
        above ? "up" : "down", size_text(size), log->source, log->nodes, log->gpus_per_node,
        size_text(log->smallest), size_text(log->largest)));
  };
  warn(*least, false);
  warn(*most, true);
  return warnings;
}

/// The option as text; "^ring" is written out as the remaining values.
template <typename Set, typename Enum>
std::string option_text(const char* option, const std::optional<Set>& set,
                        std::initializer_list<Enum> every) {
  if (!set) return "";
  std::vector<std::string_view> names;
  for (const Enum value : every)
    if (set->has(value)) names.push_back(name_of(value));
  return fmt::format(" {} {}", option, fmt::join(names, ","));
}

}  // namespace

void require_choice(const Cluster& cluster, const CollectiveTuning& tuning) {
  if (!tuning.algorithms && !tuning.protocols) return;
  if (can_select_algorithm(cluster, tuning)) return;
  const std::string algorithms =
      option_text("--algorithm", tuning.algorithms,
                  {Algorithm::ring, Algorithm::tree, Algorithm::collnet_direct,
                   Algorithm::collnet_chain, Algorithm::nvls, Algorithm::nvls_tree});
  const std::string protocols = option_text("--protocol", tuning.protocols,
                                            {Protocol::ll, Protocol::ll128, Protocol::simple});
  throw UsageError(fmt::format(
      "NCCL {} cannot all-reduce on {} with{}{}. In-switch algorithms need Simple, nvls an "
      "NVSwitch with sm_90 or later, nvlstree several such nodes, collnet --collnet and SHARP",
      to_string(tuning.nccl), cluster.name, algorithms, protocols));
}

std::vector<std::string> cluster_warnings(const Cluster& cluster, const CollectiveTuning& tuning,
                                          const std::vector<Bytes>& sizes) {
  std::vector<std::string> warnings;
  for (std::string assumed :
       {assumed_of_peers(cluster), assumed_of_roots(cluster), assumed_of_amd(cluster)})
    if (!assumed.empty()) warnings.push_back(std::move(assumed));
  if (std::string assumed = assumed_of_gpudirect(cluster); !assumed.empty())
    warnings.push_back(std::move(assumed));
  if (!cluster.calibration) {
    if (!cluster.verified)
      warnings.push_back(fmt::format(
          "cluster \"{}\" is not calibrated: link speeds come from data sheets", cluster.name));
    if (const std::string_view assumed = assumed_of_connections(cluster); !assumed.empty())
      warnings.emplace_back(assumed);
    return warnings;
  }
  const Calibration& calibration = *cluster.calibration;
  const std::string beyond = beyond_calibration(calibration, cluster.nodes, cluster.gpus_per_node);
  if (!beyond.empty()) warnings.push_back(beyond + "; treat the result as a guess");
  for (const CalibratedShape& log : calibration.shapes)
    if (!log.fault.empty())
      warnings.push_back(
          fmt::format("the calibration rests on {}, fitted although {} (--keep-unhealthy)",
                      log.source, log.fault));
  if (cluster.ranks() > 1)
    for (std::string& warning : size_warnings(cluster, sizes))
      warnings.push_back(std::move(warning));
  const auto nccl = nearest_nccl(calibration, cluster.nodes, cluster.gpus_per_node);
  if (nccl && (nccl->major != tuning.nccl.major || nccl->minor != tuning.nccl.minor))
    warnings.push_back(
        fmt::format("calibrated with NCCL {}, predicted for {}: other versions choose other "
                    "algorithms (--nccl)",
                    to_string(*nccl), to_string(tuning.nccl)));
  return warnings;
}

std::vector<std::string> decisive_warnings(const Cluster& cluster, Backend backend) {
  std::vector<std::string> warnings;
  if (backend == Backend::gloo || !cluster.calibration) warnings = implausible_figures(cluster);
  if (const std::string_view assumed = assumed_of_leaves(cluster);
      backend == Backend::nccl && !assumed.empty())
    warnings.emplace_back(assumed);
  return warnings;
}

std::vector<std::string> nccl_warnings(const CollectiveTuning& tuning) {
  const auto release = [](NcclVersion version) { return std::pair(version.major, version.minor); };
  if (release(tuning.nccl) > release(kNewestNccl))
    return {fmt::format("NCCL {} is newer than the rules known here ({}.{}); those are used",
                        to_string(tuning.nccl), kNewestNccl.major, kNewestNccl.minor)};
  // Before 2.5, NCCL had thresholds instead, which are known.
  if (tuning.nccl >= NcclVersion{2, 7, 0} || tuning.nccl < NcclVersion{2, 5, 0}) return {};
  return {fmt::format("NCCL {} is older than the oldest tuning table here (2.7.8)",
                      to_string(tuning.nccl))};
}

}  // namespace ddpsim
