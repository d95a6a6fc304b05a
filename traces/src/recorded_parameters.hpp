// Assigns the gradients of a recorded step to parameters. They are those of a model if one fits;
// otherwise they follow the recorded shapes.
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
  /// The parameter of each gradient of the step.
  std::vector<std::size_t> ready_order;
  ParameterOrder order = ParameterOrder::definition;
  /// For the provenance; empty if shapes are unknown.
  std::string shapes_from;
  std::vector<std::string> recognised;
  std::vector<std::string> warnings;
};

/// `model` is the requested name, or empty. Throws InputError if it cannot be the recorded model.
RecordedParameters recorded_parameters(const RecordedStep& step, const std::string& model,
                                       const std::string& file);

}  // namespace ddpsim
