#include "layer_memory.hpp"

#include <algorithm>

namespace ddpsim {
namespace {

constexpr std::int64_t kSingle = 4;
constexpr std::int64_t kHalf = 2;

/// Bytes of one sample's outputs that stay until backward.
std::int64_t kept_output(const Layer& layer, Precision precision) {
  if (!is_half(precision)) return layer.kept * kSingle;
  if (!casts_weights(precision)) return layer.kept_by_half.value_or(layer.kept * kHalf);
  return layer.kept_by_autocast.value_or(layer.kept * (layer.single_precision ? kSingle : kHalf));
}

/// Bytes up to more than any GPU has, so that sums over layers fit into 63 bits.
std::int64_t bounded(double bytes) {
  constexpr auto kMost = static_cast<double>(std::int64_t{1} << 46);
  return static_cast<std::int64_t>(std::min(bytes, kMost));
}

/// What the batch adds where scaled_dot_product_attention runs as single kernels
/// (_scaled_dot_product_attention_math): the softmax stays, and so do scaled queries and repeated
/// keys and values. Its backward also holds gradients of softmax and scores. They are fp32.
struct Unfused {
  std::int64_t kept = 0;
  std::int64_t working = 0;
};

Unfused unfused_attention(const FusedAttention& attention, std::int64_t batch) {
  const auto rows = static_cast<double>(batch) * static_cast<double>(attention.keys) * kSingle;
  const double scores =
      rows * static_cast<double>(attention.heads) * static_cast<double>(attention.queries);
  const double repeated = rows * 2 * static_cast<double>(attention.heads - attention.key_heads) *
                          static_cast<double>(attention.features);
  return {.kept = bounded(scores + repeated), .working = bounded(2 * scores)};
}

}  // namespace

LayerBytes layer_bytes(const Layer& layer, const ComputeSetting& setting, LayerFate fate) {
  const Precision precision = setting.precision;
  if (!layer.reached && layer.kept == 0) return {};
  const std::int64_t element = is_half(precision) && !layer.single_precision ? kHalf : kSingle;
  std::int64_t inputs = layer.product ? layer.product->inputs() : layer.inputs;
  if (layer.kind == LayerKind::attention && layer.product)  // an attention product has two operands
    inputs += layer.product->groups * layer.product->in * layer.product->out;
  if (!layer.gives_gradient() || layer.kind == LayerKind::embedding) inputs = 0;
  const Unfused attention = layer.fused && !runs_fused(*layer.fused, setting)
                                ? unfused_attention(*layer.fused, setting.batch)
                                : Unfused();
  const std::int64_t masks = layer.kept_bytes * setting.batch + attention.kept;
  const bool cast = casts_weights(precision) && layer.product && layer.reached;
  LayerBytes bytes = {.output = kept_output(layer, precision) * setting.batch,
                      .own = masks + (cast ? kHalf * layer.weights : 0),
                      .given = layer.outputs * element * setting.batch,
                      .gives = inputs * element * setting.batch,
                      .working = attention.working};
  if (fate == LayerFate::kept) bytes.stored = bytes.output + bytes.own;
  if (fate == LayerFate::saved) bytes.stored = bytes.given + masks;
  return bytes;
}

}  // namespace ddpsim
