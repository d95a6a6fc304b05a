// A recorded workload as another GPU, or another batch, would run it: every layer's share of the
// recording is scaled by the ratio of its estimated costs, so a product may gain six times what a
// copy gains. The ratio of two estimates is surer than either: what the cost model misses of a layer it
// mostly misses on both sides.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "ddpsim/models/layer_cost.hpp"

namespace ddpsim {

/// The model of the catalogue with these parameters, by their shapes in definition order, which no two models share; absent when
/// none has them.
std::optional<Model> recognised_model(const Workload& workload);
/// The same for samples of that size, pixels a side or tokens; absent also where the model takes no such sample.
std::optional<Model> recognised_model(const Workload& workload, std::int64_t sample_size);

/// Whether it is known which parameters are batch norms': those marked, or else the recognised model's, now marked.
bool mark_batch_norms(Workload& workload);

struct Transfer {
  ComputeSetting from;
  ComputeSetting to;
};

/// Forward, gradients, copies and optimizer rescaled, of every recorded rank; gpu, batch and
/// samples renamed. The host is as fast as before: no gradient comes before the host reached it.
/// What a step waits for beside compute and copies (data, other ranks) stays as long.
Workload transferred(Workload workload, const Model& model, const Transfer& transfer);

/// How much faster all of the step's compute gets.
double speedup(const Model& model, const Transfer& transfer);

/// Measured over predicted speed of another GPU of the same model: the same kernels took 0.963 to
/// 1.017 of their median time on the eight V100s of a DLRM job (deviation 1.6 %, so the middle 80 %
/// within 2 %).
inline constexpr std::pair<double, double> kSameModelSpeedRange = {0.98, 1.02};
/// And after a transfer. To a GPU of another model: eight published pairs, V100 to A100 and H100, lie
/// within 0.91 and 1.17. To another batch on the same GPU: ResNet-50 on V100 between 32 and 128 within
/// 0.94 and 1.07.
inline constexpr std::pair<double, double> kOtherGpuSpeedRange = {0.85, 1.2};
inline constexpr std::pair<double, double> kOtherBatchSpeedRange = {0.93, 1.08};

}  // namespace ddpsim
