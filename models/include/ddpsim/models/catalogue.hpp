// Parameter lists of well-known models: names and shapes in definition order, and the order in
// which autograd finishes their gradients.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/sim/workload.hpp"

namespace ddpsim {

struct Model {
  std::string name;                      ///< "resnet50"
  std::vector<Parameter> parameters;     ///< definition order, fp32
  std::vector<std::size_t> ready_order;  ///< parameter indices as AccumulateGrad runs them
  std::vector<BufferGroup> buffers;      ///< module buffers, per dtype
};

std::optional<Model> find_model(std::string_view name);
std::vector<std::string> model_names();

}  // namespace ddpsim
