// What logs of gloo give to fit: times of all-reduces, alone or several in flight, and what the model says of them.
#pragma once

#include <vector>

#include "ddpsim/calibrate/fit/gloo_fit.hpp"
#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

/// All-reduces that were in flight together, and the time from the first's arrival to the last's end.
struct GlooPoint {
  std::size_t log = 0;  ///< index into GlooFit::used
  JobShape shape;
  std::vector<NotedTransfer> together;  ///< by arrival
  bool of_gpu = false;                  ///< tensors were copied to the host and back
  Bytes size;                           ///< of all
  double time_us = 0;
};

/// At least two sizes. What is left out goes to `fit`, the logs used as well. Throws InputError.
std::vector<GlooPoint> gloo_points(const std::vector<MeasuredLog>& logs,
                                   const ClusterAt& cluster_at, GlooFit& fit);

/// With `links` on `job`'s cluster, which is of the point's shape.
double predicted_us(const Job& job, const GlooLinks& links, const GlooPoint& point);

}  // namespace ddpsim
