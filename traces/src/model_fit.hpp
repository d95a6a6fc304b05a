// Which bundled model a recording without shapes was made with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ddpsim/models/catalogue.hpp"

namespace ddpsim {

/// True when buckets of these sizes, filled with the model's gradients in ready order, end exactly
/// at gradients and hold all of them.
bool buckets_fit(const Model& model, std::span<const Bytes> bucket_bytes);

/// Names of the bundled models with that many gradients and fitting buckets.
std::vector<std::string> fitting_models(std::size_t gradients, std::span<const Bytes> bucket_bytes);

/// The bundled model whose gradients have exactly these shapes in ready order.
std::optional<Model> model_of_shapes(std::span<const std::vector<std::int64_t>> shapes);

/// The model of that name. Throws InputError with a suggestion, or when its number of gradients
/// differs from the recording's.
Model named_model(const std::string& name, std::size_t gradients, const std::string& file);

}  // namespace ddpsim
