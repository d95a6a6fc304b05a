#include "timed_cluster.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "ddpsim/jobs/collectives.hpp"
#include "recording_calibration.hpp"

namespace ddpsim {
namespace {

/// Returns a warning for each --gloo value that replaces one fitted to this cluster's logs.
std::vector<std::string> replaced(const std::vector<StatedGloo>& stated,
                                  const GlooCalibration& calibration) {
  std::vector<std::string> sentences;
  for (const auto& [word, as_typed, set] : stated)
    for (const GlooConstant* constant : calibration.fitted)
      if (constant->word == word)
        sentences.push_back(fmt::format(
            "--gloo {}:{} replaces {:.4g}{}{}, fitted to {} log{} of this cluster. "
            "The interval is as wide as without them",
            word, as_typed, constant->of(calibration.links), constant->unit.empty() ? "" : " ",
            constant->unit, calibration.logs.size(), calibration.logs.size() == 1 ? "" : "s"));
  return sentences;
}

}  // namespace

TimedCluster timed_cluster(Cluster cluster, const CollectivesRequest& request, NcclVersion nccl,
                           const Workload& workload) {
  TimedCluster timed{.cluster = std::move(cluster),
                     .tuning = request.tuning,
                     .gloo = {},
                     .calibrated_by_recording = false,
                     .warnings = {}};
  timed.tuning.nccl = nccl;
  Cluster& own = timed.cluster;
  if (request.backend == Backend::gloo && own.gloo) {
    timed.gloo = own.gloo->links;
    timed.warnings = replaced(request.gloo, *own.gloo);
    if (!timed.warnings.empty()) own.gloo.reset();
  }
  for (const StatedGloo& stated : request.gloo) stated.set(timed.gloo);
  require_choice(own, timed.tuning);
  if (request.backend == Backend::nccl && request.calibrated_by_recording) {
    const std::shared_ptr<const Calibration> before = own.calibration;
    own = calibrated_by_recording(std::move(own), workload, timed.tuning);
    timed.calibrated_by_recording = own.calibration != before;
  }
  return timed;
}

}  // namespace ddpsim
