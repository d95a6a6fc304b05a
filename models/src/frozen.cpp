#include "ddpsim/models/frozen.hpp"

#include <algorithm>

#include "ddpsim/sim/values/module_path.hpp"

namespace ddpsim {
namespace {

bool freezes(const std::string& pattern, const Parameter& parameter) {
  return std::ranges::any_of(modules_around(parameter.name),
                             [&](std::string_view path) { return matches_path(path, pattern); });
}

/// Whether a parameter has rows and columns. That is the weight of a product.
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
  if (!layer.trains) {  // a trace already left its gradients out
    std::erase_if(layer.parameters, [&](std::size_t p) { return parameters[p].frozen; });
    return;
  }
  layer.trains = weight_trains;
  if (layer.product && !weight_trains) --layer.backward_kernels;
  if (bias_is_frozen) {  // its gradient is not summed
    layer.backward_elements -= layer.outputs;
    --layer.backward_kernels;
  }
  std::erase_if(layer.parameters, [&](std::size_t p) { return parameters[p].frozen; });
}

/// For each layer, whether anything in front of it trains. For layers that start from an input of
/// their own, only those of the same input count.
std::vector<bool> trains_in_front(const Model& model) {
  std::vector<bool> in_front;
  bool trains = false;
  bool words_train = false;
  for (std::size_t k = 0; k < model.layers.size(); ++k) {
    for (const Block& input : model.other_inputs) {
      if (k == input.last) trains = trains || words_train;
      if (k != input.first) continue;
      words_train = trains;
      trains = false;
    }
    in_front.push_back(trains);
    const Layer& layer = model.layers[k];
    trains = trains || (layer.reached && std::ranges::any_of(layer.parameters, [&](std::size_t p) {
                          return !model.parameters[p].frozen;
                        }));
  }
  return in_front;
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
  const std::vector<bool> in_front = trains_in_front(model);
  // Whether backward of the next layer reads the output of this one, so that it stays in memory.
  bool reads_what_it_gave = false;
  for (std::size_t k = model.layers.size(); k-- > 0;) {
    Layer& layer = model.layers[k];
    const bool read = layer.reached;
    layer.reached = read && (in_front[k] || !std::ranges::all_of(layer.parameters, is_frozen));
    if (layer.reached) {
      leave_out_gradients(layer, model.parameters);
      if (!in_front[k] && layer.product && layer.data_gradient) {
        layer.passes_on = false;
        --layer.backward_kernels;
      }
    } else {
      if (!reads_what_it_gave) layer.kept = 0;
      layer.kept_bytes = 0;
      layer.parameters.clear();
    }
    if (read) reads_what_it_gave = layer.reached;
  }
  std::erase_if(model.ready_order, is_frozen);
}

}  // namespace ddpsim
