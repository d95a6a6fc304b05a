// A workload without a recording: MODEL@GPU[:bBATCH][:sSEQ][:fp32|tf32|amp|bf16|bf16-true][:attn=eager|sdpa]
//                                        [:ckpt=none|full|selective|BLOCKS][:frozen=GLOB[+GLOB]].
//
// MODEL is a name of the catalogue, dimensions (llama:layers=…, model_config.hpp), or a config.json, whose path stands
// before the last `@`: reading it is for others.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ddpsim/models/checkpointing.hpp"
#include "ddpsim/models/layer_cost.hpp"

namespace ddpsim {

struct EstimateSpec {
  std::string model;  ///< as written
  ModelDescription description;
  std::string gpu;  ///< as written
  std::optional<std::int64_t> batch;
  std::optional<std::int64_t> tokens;
  Precision precision = Precision::fp32;
  std::optional<AttentionKernel> attention;
  Checkpointing checkpointing;
  std::vector<std::string> frozen;  ///< patterns of modules or parameters (frozen.hpp)
};

/// What stands before the last `@`.
std::string_view model_part(std::string_view text);

/// Throws InputError. `described`: what MODEL is, where it is a file. Whether the GPU is known is for others to say.
EstimateSpec parse_estimate_spec(std::string_view text,
                                 std::optional<ModelDescription> described = std::nullopt);

/// The model as it is estimated.
Model model_of(const EstimateSpec& spec);

/// The step of that model on that GPU. Its provenance has the key "estimate". Throws InputError
/// where the GPU cannot compute in the precision, or the step is too long for anybody to wait for.
Workload estimate_workload(const EstimateSpec& spec, const GpuModel& gpu);

/// Of its provenance: whose buffers it carries, where releases of a library differ.
inline constexpr std::string_view kBuffersMark = "buffers";

/// Of its provenance: what a reader of its config.json should know, and which fields of that were ignored.
inline constexpr std::string_view kNoteMark = "note";
inline constexpr std::string_view kIgnoredMark = "ignored";

/// What an estimate's compute may be scaled by. Published steps on V100, A100 and H100, each model
/// on each GPU left out, ran at 0.83 to 1.17 of the estimated speed (the middle 80 %); GPUs without
/// any measurement behind them may lie further off.
inline constexpr std::pair<double, double> kEstimateSpeedRange = {0.8, 1.25};

}  // namespace ddpsim
