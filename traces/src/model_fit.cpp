#include "model_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/quote.hpp"

namespace ddpsim {

bool buckets_fit(const Model& model, std::span<const Bytes> bucket_bytes) {
  std::size_t next = 0;
  for (const Bytes bucket : bucket_bytes) {
    Bytes held;
    while (held < bucket && next < model.ready_order.size()) {
      held += *gradient_bytes(model.parameters[model.ready_order[next++]]);
    }
    if (held != bucket) return false;
  }
  return next == model.ready_order.size();
}

std::vector<std::string> fitting_models(std::size_t gradients,
                                        std::span<const Bytes> bucket_bytes) {
  std::vector<std::string> names;
  for (const Model& model : bundled_models()) {
    if (model.ready_order.size() != gradients) continue;
    if (!bucket_bytes.empty() && !buckets_fit(model, bucket_bytes)) continue;
    names.push_back(model.name);
  }
  return names;
}

std::optional<Model> model_of_shapes(std::span<const std::vector<std::int64_t>> shapes) {
  for (const Model& model : bundled_models()) {
    const auto has_shape = [&](std::size_t parameter, const std::vector<std::int64_t>& shape) {
      return model.parameters[parameter].shape == shape;
    };
    if (std::equal(model.ready_order.begin(), model.ready_order.end(), shapes.begin(), shapes.end(),
                   has_shape)) {
      return model;
    }
  }
  return std::nullopt;
}

Model named_model(const std::string& name, std::size_t gradients, const std::string& file) {
  std::optional<Model> model = find_model(name);
  if (!model) {
    throw InputError({"command line", "--model",
                      fmt::format("there is no model {}", in_quotes(name)),
                      models_instead_of(name)});
  }
  if (model->ready_order.size() != gradients) {
    throw InputError({file, "",
                      fmt::format("the step holds {} gradients, but {} has {}", gradients, name,
                                  model->ready_order.size()),
                      "Name the recorded model with --model, or leave it out"});
  }
  return std::move(*model);
}

}  // namespace ddpsim
