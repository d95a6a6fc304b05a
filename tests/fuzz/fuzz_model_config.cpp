// Any bytes as a config.json, and as the dimensions of a llama, give a model within its limits, or
// an InputError.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/models/model_config.hpp"

namespace {

/// The number of parameters of layers that backward reaches.
std::size_t with_gradients(const ddpsim::Model& model) {
  std::set<std::size_t> reached;
  for (const ddpsim::Layer& layer : model.layers)
    if (layer.reached) reached.insert(layer.parameters.begin(), layer.parameters.end());
  return reached.size();
}

void check(const ddpsim::ModelDescription& description) {
  const bool reads = description.sample == ddpsim::SampleKind::sequence;
  if (description.usual_size < 1) __builtin_trap();
  if (reads && description.usual_size > description.most_tokens) __builtin_trap();
  // No accepted model has more parameter tensors, so that each builds quickly.
  static constexpr std::size_t kParameters = 60'000;
  const ddpsim::Model model = ddpsim::build_model(
      description, reads ? std::optional<std::int64_t>(1) : std::nullopt, std::nullopt);
  if (model.parameters.size() > kParameters || model.parameters.empty()) __builtin_trap();
  if (model.ready_order.size() != with_gradients(model)) __builtin_trap();
  for (const ddpsim::Parameter& parameter : model.parameters)
    if (!ddpsim::gradient_bytes(parameter)) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    check(ddpsim::model_of_config(text, "config.json"));
  } catch (const ddpsim::InputError&) {
  }
  try {
    if (const auto model = ddpsim::model_of_dimensions(text, text)) check(*model);
  } catch (const ddpsim::InputError&) {
  }
  return 0;
}
