// All of a model in a few digits: names, shapes, orders, buffers, and what each layer computes, moves and keeps. A digest
// that changed says that something of this model did; tests/cli/test_model_configs.py holds models against transformers.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "ddpsim/models/catalogue.hpp"

namespace ddpsim::model_digest {

/// FNV-1a.
class Digest {
 public:
  void add(std::string_view text) {
    for (const char c : text) add_byte(static_cast<unsigned char>(c));
    add_byte(0);
  }
  template <typename... Numbers>
  void numbers(Numbers... values) {
    (add(fmt::format("{}", static_cast<std::int64_t>(values))), ...);
  }
  std::string text() const { return fmt::format("{:016x}", sum_); }

 private:
  void add_byte(unsigned char byte) { sum_ = (sum_ ^ byte) * 0x100000001b3U; }

  std::uint64_t sum_ = 0xcbf29ce484222325U;
};

inline void add_layer(Digest& digest, const Layer& layer) {
  digest.add(layer.name);
  digest.numbers(layer.kind, layer.weights, layer.inputs, layer.outputs, layer.sums_branches,
                 layer.forward_elements, layer.backward_elements, layer.forward_kernels,
                 layer.backward_kernels, layer.kept, layer.kept_bytes, layer.data_gradient,
                 layer.reached, layer.passes_on, layer.trains, layer.single_precision,
                 layer.kept_by_autocast.value_or(-1), layer.kept_by_half.value_or(-1),
                 layer.autocast_casts, layer.half_casts, layer.autocast_width * 1000);
  for (const std::size_t index : layer.parameters) digest.numbers(index);
  if (const auto& product = layer.product)
    digest.numbers(product->groups, product->in, product->out, product->kernel.height,
                   product->kernel.width, product->stride, product->positions_in,
                   product->out_height, product->out_width);
  if (const auto& fused = layer.fused)
    digest.numbers(fused->heads, fused->features, fused->queries, fused->keys, fused->key_heads,
                   fused->causal);
}

inline std::string digest_of(const Model& model) {
  Digest digest;
  digest.add(model.buffers_as_in);
  for (const Parameter& parameter : model.parameters) {
    digest.add(parameter.name);
    for (const std::int64_t size : *parameter.shape) digest.numbers(size);
    digest.numbers(parameter.dtype, parameter.sparse_gradient, parameter.batch_norm,
                   parameter.frozen);
  }
  for (const std::size_t index : model.ready_order) digest.numbers(index);
  for (const BufferGroup& group : model.buffers)
    digest.numbers(group.dtype, group.bytes.count(), group.tensors);
  for (const Layer& layer : model.layers) add_layer(digest, layer);
  for (const auto* blocks : {&model.blocks, &model.other_inputs})
    for (const Block& block : *blocks) digest.numbers(block.first, block.last);
  digest.numbers(model.sample, model.sample_size, model.default_batch);
  return digest.text();
}

/// Also what a reader is told of the model, and what it is built for where nobody says; with either kernel of attention.
inline std::string digest_of(const ModelDescription& description) {
  Digest digest;
  digest.add(description.source);
  for (const auto* texts : {&description.assumed, &description.ignored, &description.notes}) {
    for (const std::string& text : *texts) digest.add(text);
    digest.add("");
  }
  digest.numbers(description.sample, description.usual_size, description.most_tokens,
                 description.image_tokens, description.usual_batch, description.attention);
  for (const AttentionKernel attention : {AttentionKernel::eager, AttentionKernel::sdpa})
    digest.add(digest_of(build_model(description, std::nullopt, attention)));
  return digest.text();
}

}  // namespace ddpsim::model_digest
