#include "ddpsim/models/frozen.hpp"

#include <algorithm>

#include "ddpsim/sim/module_path.hpp"

namespace ddpsim {
namespace {

bool freezes(const std::string& pattern, const Parameter& parameter) {
  return std::ranges::any_of(modules_around(parameter.name),
                             [&](std::string_view path) { return matches_path(path, pattern); });
}

/// Of a product, the one with rows and columns; else any.
bool is_weight(const Parameter& parameter) {
  return parameter.shape && parameter.shape->size() > 1;
}

void leave_out_gradients(Layer& layer, const std::vector<Parameter>& parameters) {
  bool weight_trains = false;
  bool bias_is_frozen = false;
  for (const std::size_t p : layer.parameters) {
    const bool of_product = is_weight(parameters[p]) || !layer.product;
    weight_trains = weight_trains || (of_product && !parameters[p].frozen);
    bias_is_frozen = bias_is_frozen || (!of_product && parameters[p].frozen);
  }
  if (layer.parameters.empty()) return;
  layer.trains = weight_trains;
  if (layer.product && !weight_trains) --layer.backward_kernels;
  if (bias_is_frozen) {  // nobody sums its gradient up
    layer.backward_elements -= layer.outputs;
    --layer.backward_kernels;
  }
  std::erase_if(layer.parameters, [&](std::size_t p) { return parameters[p].frozen; });
}

}  // namespace

std::vector<std::string> freeze(Model& model, const std::vector<std::string>& patterns) {
  std::vector<std::string> unmatched;
  for (const std::string& pattern : patterns) {
    bool any = false;
    for (Parameter& parameter : model.parameters) {
      if (!freezes(pattern, parameter)) continue;
      parameter.frozen = true;
      any = true;
    }
    if (!any) unmatched.push_back(pattern);
  }
  return unmatched;
}

void leave_out_frozen(Model& model) {
  const auto is_frozen = [&](std::size_t p) { return model.parameters[p].frozen; };
  if (std::ranges::none_of(model.parameters, &Parameter::frozen)) return;
  const auto first = std::ranges::find_if(model.layers, [&](const Layer& layer) {
    return !std::ranges::all_of(layer.parameters, is_frozen);
  });
  for (auto layer = model.layers.begin(); layer != model.layers.end(); ++layer) {
    layer->reached = layer >= first;
    if (layer->reached) {
      leave_out_gradients(*layer, model.parameters);
      continue;
    }
    if (layer + 1 != first) layer->kept = 0;
    layer->kept_bytes = 0;
    layer->parameters.clear();
  }
  if (first != model.layers.end() && first->product && first->data_gradient) {
    first->passes_on = false;
    --first->backward_kernels;
  }
  std::erase_if(model.ready_order, is_frozen);
}

}  // namespace ddpsim
