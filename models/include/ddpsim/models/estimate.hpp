// A workload without a recording: MODEL@GPU[:bBATCH][:sSEQ][:fp32|tf32|amp|bf16].
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ddpsim/models/layer_cost.hpp"

namespace ddpsim {

struct EstimateSpec {
  std::string model;  ///< of the catalogue
  std::string gpu;    ///< as written
  std::optional<std::int64_t> batch;
  std::optional<std::int64_t> tokens;
  Precision precision = Precision::fp32;
};

/// Throws InputError. Whether the GPU is known is for others to say.
EstimateSpec parse_estimate_spec(std::string_view text);

/// The step of that model on that GPU. Its provenance has the key "estimate". Throws InputError
/// where the GPU cannot compute in the precision.
Workload estimate_workload(const EstimateSpec& spec, const GpuModel& gpu);

/// Of its provenance: whose buffers it carries, where releases of a library differ.
inline constexpr std::string_view kBuffersMark = "buffers";

/// True of what estimate_workload made, also after it was written to a file and read again.
bool is_estimate(const Workload& workload);

/// What an estimate's compute may be scaled by. Published steps on V100, A100 and H100, each model
/// on each GPU left out, ran at 0.86 to 1.15 of the estimated speed (the middle 80 %); GPUs without
/// any measurement behind them may lie further off.
inline constexpr std::pair<double, double> kEstimateSpeedRange = {0.8, 1.25};

}  // namespace ddpsim
