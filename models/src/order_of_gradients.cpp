#include "order_of_gradients.hpp"

namespace ddpsim {

std::vector<std::size_t> order_of_gradients(const Model& model) {
  std::vector<int> uses_left(model.parameters.size());
  for (const Layer& layer : model.layers) {
    if (!layer.reached) continue;
    for (const std::size_t parameter : layer.parameters) ++uses_left[parameter];
  }
  std::vector<std::size_t> order;
  for (auto layer = model.layers.rbegin(); layer != model.layers.rend(); ++layer) {
    if (!layer->reached) continue;
    for (const std::size_t parameter : layer->parameters)
      if (--uses_left[parameter] == 0) order.push_back(parameter);
  }
  return order;
}

}  // namespace ddpsim
