#include "ddpsim/models/kept_activations.hpp"

namespace ddpsim {

Activations kept_activations(const Model& model, const ComputeSetting& setting) {
  const bool half = setting.precision == Precision::amp || setting.precision == Precision::bf16;
  constexpr std::int64_t kSingle = 4;
  constexpr std::int64_t kHalf = 2;
  std::int64_t of_sample = 0;
  std::int64_t casts = 0;
  for (const Layer& layer : model.layers) {
    const std::int64_t element = half && !layer.single_precision ? kHalf : kSingle;
    of_sample += layer.kept * element + layer.kept_bytes;
    if (!layer.data_gradient && layer.product) of_sample += layer.product->inputs() * element;
    if (half && layer.product) casts += kHalf * layer.weights;
  }
  return {.bytes = Bytes(of_sample * setting.batch + casts)};
}

}  // namespace ddpsim
