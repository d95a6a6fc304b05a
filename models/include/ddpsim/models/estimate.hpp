// Estimates a workload that nobody recorded, from a text of this form:
//
//   MODEL@GPU[:bBATCH][:sSEQ][:fp32|tf32|amp|bf16|bf16-true][:attn=eager|sdpa]
//            [:ckpt=none|full|selective|BLOCKS][:frozen=GLOB[+GLOB]]
//            [:sgd|momentum|adam|adamw][:fused][:channels_last][:sync]
//
// MODEL is a name of the catalogue, dimensions (llama:layers=…, model_config.hpp), or the path of a
// config.json or of a traced model (model_file.hpp). It ends at the last `@`. The caller reads the
// file.
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
  /// Model and images have the memory format torch.channels_last.
  bool channels_last = false;
  std::optional<Optimizer> optimizer;  ///< absent: as traced, or the usual one
  /// The optimizer updates all states of a parameter in one kernel (fused=True).
  bool fused_optimizer = false;
  /// The script waits for the GPU at the end of each step: it reads its loss, or calls
  /// torch.cuda.synchronize().
  bool synchronized = false;
};

/// The text in front of the last `@`.
std::string_view model_part(std::string_view text);

/// Parses the text. Throws InputError. `described` is the model if MODEL is a file. The caller
/// checks that the GPU is known.
EstimateSpec parse_estimate_spec(std::string_view text,
                                 std::optional<ModelDescription> described = std::nullopt);

/// The checkpointing that holds unless the user asks for another.
Checkpointing usual_checkpointing(const ModelDescription& description);

/// Builds the model that `spec` asks for, frozen parameters and all.
Model model_of(const EstimateSpec& spec);

/// Estimates one training step of the model on `gpu`. Its provenance has the key "estimate". Throws
/// InputError if the GPU cannot compute in the precision, or if the step would take unreasonably
/// long.
Workload estimate_workload(const EstimateSpec& spec, const GpuModel& gpu);

/// Key of the provenance: which library release the buffers are from, if releases differ.
inline constexpr std::string_view kBuffersMark = "buffers";

/// Key of the provenance: how many operators and kernels the host launches in a step.
inline constexpr std::string_view kLaunchesMark = "launches";

/// Keys of the provenance: remarks about a config.json, and which of its fields were ignored.
inline constexpr std::string_view kNoteMark = "note";
inline constexpr std::string_view kIgnoredMark = "ignored";
/// The optimizer, if the estimate or the trace states it, and whether it is fused.
inline constexpr std::string_view kOptimizerMark = "optimizer";
/// The optimizer that an estimate assumes, if it states none.
inline constexpr std::string_view kUsualOptimizerMark = "usual_optimizer";
inline constexpr std::string_view kFusedMark = "fused_optimizer";
/// "channels_last", unless model and images have PyTorch's default format.
inline constexpr std::string_view kMemoryFormatMark = "memory_format";
/// Remarks about a traced model, or one of the catalogue.
inline constexpr std::string_view kModelNoteMark = "model_note";

/// Range of real speed divided by estimated speed. In published steps on V100, A100 and H100, the
/// middle 80 % of these ratios lay between 0.93 and 1.15. Each model was left out of the fit on each
/// GPU. For traced kernel times on H100 and H200, they lay between 0.84 and 1.09. A GPU without any
/// measurement may lie further off.
inline constexpr std::pair<double, double> kEstimateSpeedRange = {0.85, 1.17};

}  // namespace ddpsim
