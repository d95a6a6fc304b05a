// Finds the bundled model with which a recording without shapes was made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ddpsim/models/catalogue.hpp"

namespace ddpsim {

/// Whether buckets of these sizes hold exactly the model's gradients in ready order, with every
/// bucket ending at a gradient.
bool buckets_fit(const Model& model, std::span<const Bytes> bucket_bytes);

/// Names of the bundled models with this number of gradients and fitting buckets.
std::vector<std::string> fitting_models(std::size_t gradients, std::span<const Bytes> bucket_bytes);

/// The bundled model whose gradients have exactly these shapes in ready order.
std::optional<Model> model_of_shapes(std::span<const std::vector<std::int64_t>> shapes);

/// The model with this name. Throws InputError with a suggestion, also if its number of gradients
/// differs from the recording's.
Model named_model(const std::string& name, std::size_t gradients, const std::string& file);

}  // namespace ddpsim
