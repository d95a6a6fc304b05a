#include "rank_differences.hpp"

#include <fmt/format.h>

#include "ddpsim/formats/usage_error.hpp"

namespace ddpsim {
namespace {

void set_rank_slowdown(const VariationRequest& request, const GpuModel& gpu,
                       SimulationOptions& options) {
  if (request.rank_slowdown) {
    options.rank_slowdown = {.given = *request.rank_slowdown};
    return;
  }
  options.rank_slowdown = kPublishedRankSlowdown;
  RankSlowdown least = kLeastPublishedRankSlowdown;
  RankSlowdown most = kMostPublishedRankSlowdown;
  if (request.gpu_spread) {
    options.rank_slowdown.gpu_spread = least.gpu_spread = most.gpu_spread = *request.gpu_spread;
  } else {
    const double usual = usual_gpu_spread(gpu);
    options.rank_slowdown.gpu_spread = usual;
    least.gpu_spread = kLeastGpuSpread * usual;
    most.gpu_spread = kMostGpuSpread * usual;
  }
  options.rank_slowdown_range = {least, most};
}

}  // namespace

void set_rank_differences(const VariationRequest& request, const Cluster& cluster,
                          SimulationOptions& options) {
  for (const Straggler& straggler : request.ranks.stragglers)
    if (straggler.rank >= cluster.ranks())
      throw UsageError("--straggler", fmt::format("the cluster has ranks 0 to {}, but no rank {}",
                                                  cluster.ranks() - 1, straggler.rank));
  options.variation = request.ranks;
  set_rank_slowdown(request, cluster.gpu, options);
}

}  // namespace ddpsim
