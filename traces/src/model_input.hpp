// The batch that a recorded step fed to its model, read from the shapes of its operators.
//
// The first operator of forward that multiplies or looks up shows it:
//   conv1d, conv2d, conv3d   [batch, channels, …, pixels]
//   linear                   [batch, …, features]
//   embedding                indices [batch, tokens], or [tokens, batch]; the fused attention [batch, heads, tokens,
//                            features] behind it tells which. Without that the batch is not read.
// Operators inside the DataLoader's calls augment samples and do not count. The loss must agree: it takes a row a sample, or
// a row a token, so its rows are a multiple of the batch.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace ddpsim {

enum class InputOperatorKind : std::uint8_t { convolution, linear, embedding, attention, loss };

/// Whose shapes are kept, by the operator's name; absent for every other.
std::optional<InputOperatorKind> input_operator(std::string_view name);

struct InputOperator {
  std::int64_t start_ns = 0;
  std::int32_t first = 0;   ///< size of its input: the first …
  std::int32_t second = 0;  ///< … and the second; 0: it has one alone
  std::int32_t side = 0;    ///< pixels, where it is a batch of square images; else 0
  std::uint8_t dimensions = 0;
  InputOperatorKind kind{};
};

/// `dims`: "Input Dims" as written. Absent where they hold no such input.
std::optional<InputOperator> input_operator_of(InputOperatorKind kind, std::string_view dims,
                                               std::int64_t start_ns);

struct ModelInput {
  std::int64_t batch = 0;
  std::int64_t tokens = 0;  ///< of a sequence; 0: not one
  std::int64_t pixels = 0;  ///< a side of a square image; 0: not one
};

/// `operators`: of one forward pass, in order. Absent where shapes were not recorded, or do not agree.
std::optional<ModelInput> model_input(const std::vector<InputOperator>& operators);

}  // namespace ddpsim
