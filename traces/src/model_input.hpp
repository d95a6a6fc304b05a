// The batch that a recorded step fed to its model, read from the shapes of its operators.
//
// The first operator of forward that multiplies or looks up shows it:
//
//   conv1d, conv2d, conv3d   [batch, channels, …, pixels]
//   linear                   [batch, …, features]
//   embedding                indices [batch, tokens], or [tokens, batch]. The fused attention after it,
//                            [batch, heads, tokens, features], shows which. Without one, the batch
//                            is not read.
//
// Operators inside the DataLoader's calls augment samples and do not count. The loss must agree: it
// takes one row per sample or one row per token, so its rows are a multiple of the batch.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace ddpsim {

enum class InputOperatorKind : std::uint8_t { convolution, linear, embedding, attention, loss };

/// Kind of an operator whose shapes are kept; absent for every other operator.
std::optional<InputOperatorKind> input_operator(std::string_view name);

struct InputOperator {
  std::int64_t start_ns = 0;
  std::int32_t first = 0;   ///< first size of its input
  std::int32_t second = 0;  ///< second size; 0: there is only one
  /// Pixels per side if the input is a batch of square images; otherwise 0.
  std::int32_t side = 0;
  std::uint8_t dimensions = 0;
  InputOperatorKind kind{};
};

/// Reads the input of an operator of this kind from `dims`, the text of "Input Dims" in a profiler
/// trace. Absent if `dims` holds no shape that fits this kind.
std::optional<InputOperator> input_operator_of(InputOperatorKind kind, std::string_view dims,
                                               std::int64_t start_ns);

struct ModelInput {
  std::int64_t batch = 0;
  std::int64_t tokens = 0;  ///< per sequence; 0: not a sequence
  std::int64_t pixels = 0;  ///< per side; 0: not a square image
};

/// `operators` are those of one forward pass, in order. Absent if shapes were not recorded, or do
/// not agree.
std::optional<ModelInput> model_input(const std::vector<InputOperator>& operators);

}  // namespace ddpsim
