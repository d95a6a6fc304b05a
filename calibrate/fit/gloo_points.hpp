// Points that a fit takes from logs of gloo: times of all-reduces, alone or several in flight, and
// the model's predictions for them.
#pragma once

#include <vector>

#include "ddpsim/calibrate/fit/gloo_fit.hpp"
#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

/// All-reduces that were in flight together, with the time from the first arrival to the last end.
struct GlooPoint {
  std::size_t log = 0;  ///< index into GlooFit::used
  JobShape shape;
  std::vector<NotedTransfer> together;  ///< in order of arrival
  /// Tensors were copied to the host and back.
  bool of_gpu = false;
  Bytes size;  ///< all of them together
  double time_us = 0;
};

/// Returns points of at least two sizes. Left-out logs and used logs are added to `fit`. Throws
/// InputError.
std::vector<GlooPoint> gloo_points(const std::vector<MeasuredLog>& logs,
                                   const ClusterAt& cluster_at, GlooFit& fit);

/// The time with `links` on the cluster of `job`, which has the point's shape.
double predicted_us(const Job& job, const GlooLinks& links, const GlooPoint& point);

}  // namespace ddpsim
