// Well-known models: parameter names and shapes in definition order, the order in which autograd
// finishes their gradients, and what each layer of a forward pass computes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/models/layer.hpp"
#include "ddpsim/sim/workload.hpp"

namespace ddpsim {

/// What one sample of a batch is.
enum class SampleKind { image, sequence };

struct Model {
  std::string name;                      ///< "resnet50"
  std::vector<Parameter> parameters;     ///< definition order, fp32
  std::vector<std::size_t> ready_order;  ///< parameter indices as AccumulateGrad runs them
  std::vector<BufferGroup> buffers;      ///< module buffers, per dtype
  std::string buffers_as_in;             ///< whose, where releases of a library differ; else empty
  std::vector<Layer> layers;             ///< in forward order; sizes are for one sample
  SampleKind sample = SampleKind::image;
  std::int64_t sample_size = 0;    ///< pixels a side, or tokens, that `layers` was made for
  std::int64_t default_batch = 0;  ///< samples a GPU takes where nobody says
};

/// For a provenance: "bundled model gpt2, buffers as in …".
std::string source_of(const Model& model);

/// The model for samples of its usual size.
std::optional<Model> find_model(std::string_view name);
/// The model for sequences of that many tokens. Absent also when the model takes images, or not
/// that many tokens.
std::optional<Model> find_model(std::string_view name, std::int64_t tokens);
std::vector<std::string> model_names();
/// Tokens the model can take at most; absent for images.
std::optional<std::int64_t> most_tokens(std::string_view name);

}  // namespace ddpsim
