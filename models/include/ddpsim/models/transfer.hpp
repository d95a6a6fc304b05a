// Converts a recorded workload to another GPU or another batch. Each layer's share of the recording
// is scaled by the ratio of its two estimated costs, so a product may gain six times as much as a
// copy. The ratio of two estimates is more accurate than either estimate, because most errors of
// the cost model for a layer cancel.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "ddpsim/models/layer_cost.hpp"

namespace ddpsim {

/// The catalogue's model with these parameters, recognised by their shapes in definition order. No
/// two models share them. Absent if no model has them.
std::optional<Model> recognised_model(const Workload& workload);
/// The recognised model, built for samples of that size (pixels per side, or tokens). Absent if no
/// model is recognised, or the model takes no sample of that size.
std::optional<Model> recognised_model(const Workload& workload, std::int64_t sample_size);

/// The optimizer that an estimate states, or assumes, and whether it states a fused one.
std::optional<Optimizer> stated_optimizer(const Workload& workload);
std::optional<Optimizer> assumed_optimizer(const Workload& workload);
bool states_fused_optimizer(const Workload& workload);
/// Whether an estimate states that model and images are in channels_last.
bool states_channels_last(const Workload& workload);

/// Marks the batch norm parameters of the recognised model, unless some are marked already. Returns
/// whether the batch norms are known.
bool mark_batch_norms(Workload& workload);

struct Transfer {
  ComputeSetting from;
  ComputeSetting to;
};

/// Scales forward, gradients, copies and optimizer of every recorded rank, and renames GPU, batch
/// and samples. The host keeps its speed: no gradient is ready before the host has launched it.
/// Waits for anything other than compute and copies (data, other ranks) keep their length.
Workload transferred(Workload workload, const Model& model, const Transfer& transfer);

/// Speedup of all compute in the step.
double speedup(const Model& model, const Transfer& transfer);

/// Range of measured over predicted speed on another GPU of the same model. The same kernels took
/// 0.963 to 1.017 of their median time on the eight V100s of a DLRM job. The deviation was 1.6 %,
/// so the middle 80 % lie within 2 %.
inline constexpr std::pair<double, double> kSameModelSpeedRange = {0.98, 1.02};
/// Ranges of measured over predicted speed after a transfer. Another GPU model: eight published
/// pairs, V100 to A100 and H100, lie within 0.91 and 1.17. Another batch on the same GPU: ResNet-50
/// on V100 between 32 and 128 lies within 0.94 and 1.07.
inline constexpr std::pair<double, double> kOtherGpuSpeedRange = {0.85, 1.2};
inline constexpr std::pair<double, double> kOtherBatchSpeedRange = {0.93, 1.08};

}  // namespace ddpsim
