#include "model_input.hpp"

#include <algorithm>
#include <limits>

#include "recorded_tensor.hpp"

namespace ddpsim {
namespace {

struct NamedOperator {
  std::string_view name;
  InputOperatorKind kind;
};

constexpr NamedOperator kOperators[] = {
    {"aten::conv1d", InputOperatorKind::convolution},
    {"aten::conv2d", InputOperatorKind::convolution},
    {"aten::conv3d", InputOperatorKind::convolution},
    {"aten::linear", InputOperatorKind::linear},
    {"aten::embedding", InputOperatorKind::embedding},
    {"aten::scaled_dot_product_attention", InputOperatorKind::attention},
    {"aten::cross_entropy_loss", InputOperatorKind::loss},
    {"aten::nll_loss", InputOperatorKind::loss},
    {"aten::binary_cross_entropy", InputOperatorKind::loss},
    {"aten::binary_cross_entropy_with_logits", InputOperatorKind::loss},
    {"aten::mse_loss", InputOperatorKind::loss},
};

/// Index of the operator's tensor with the batch. For a lookup it is the indices, which follow the
/// table.
std::size_t carrier(InputOperatorKind kind) {
  return kind == InputOperatorKind::embedding ? 1 : 0;
}

/// Pixels per side of [batch, channels, pixels, pixels].
std::int32_t side_of(const std::vector<std::int64_t>& shape) {
  return shape.size() == 4 && shape[2] == shape[3] ? static_cast<std::int32_t>(shape[3]) : 0;
}

}  // namespace

std::optional<InputOperatorKind> input_operator(std::string_view name) {
  const auto* const found = std::ranges::find(kOperators, name, &NamedOperator::name);
  return found == std::end(kOperators) ? std::nullopt : std::optional(found->kind);
}

std::optional<InputOperator> input_operator_of(InputOperatorKind kind, std::string_view dims,
                                               std::int64_t start_ns) {
  const auto shape = input_shape(dims, carrier(kind));
  if (!shape || shape->empty()) return std::nullopt;
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (std::ranges::any_of(*shape, [](std::int64_t size) { return size < 1 || size > kMost; }))
    return std::nullopt;
  const auto size = [&](std::size_t k) { return static_cast<std::int32_t>((*shape)[k]); };
  return InputOperator{.start_ns = start_ns,
                       .first = size(0),
                       .second = shape->size() > 1 ? size(1) : 0,
                       .side = kind == InputOperatorKind::convolution ? side_of(*shape) : 0,
                       .dimensions = static_cast<std::uint8_t>(shape->size()),
                       .kind = kind};
}

std::optional<ModelInput> model_input(const std::vector<InputOperator>& operators) {
  const auto of = [&](auto... kinds) {
    return std::ranges::find_if(
        operators, [&](const InputOperator& one) { return ((one.kind == kinds) || ...); });
  };
  using Kind = InputOperatorKind;
  const auto first = of(Kind::convolution, Kind::linear, Kind::embedding);
  if (first == operators.end()) return std::nullopt;
  ModelInput input{.batch = first->first, .pixels = first->side};
  if (first->kind == Kind::embedding) {
    const auto attention = of(Kind::attention);
    if (attention == operators.end() || first->dimensions != 2) return std::nullopt;
    const bool batch_second = attention->first != first->first;
    if (batch_second && attention->first != first->second) return std::nullopt;
    input.batch = attention->first;
    input.tokens = batch_second ? first->first : first->second;
  }
  const auto loss = of(Kind::loss);
  if (loss != operators.end() && std::ranges::none_of(operators, [&](const InputOperator& one) {
        return one.kind == Kind::loss && one.first % input.batch == 0;
      }))
    return std::nullopt;
  return input;
}

}  // namespace ddpsim
