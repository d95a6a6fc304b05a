// Which parameters a recorded step's gradients belong to: a model's where one fits, else as far as the
// shapes recorded go.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ddpsim/sim/values/workload.hpp"
#include "gradient_ready.hpp"

namespace ddpsim {

struct RecordedParameters {
  std::vector<Parameter> parameters;
  std::vector<BufferGroup> buffers;
  std::vector<std::size_t> ready_order;  ///< parameter of each gradient of the step
  ParameterOrder order = ParameterOrder::definition;
  std::string shapes_from;  ///< for the provenance; empty where shapes are not known
  std::vector<std::string> recognised;
  std::vector<std::string> warnings;
};

/// `model` is the name asked for, or empty. Throws InputError when it cannot be the one recorded.
RecordedParameters recorded_parameters(const RecordedStep& step, const std::string& model,
                                       const std::string& file);

}  // namespace ddpsim
