#include "bloom.hpp"

#include <utility>

#include "module_recorder.hpp"

namespace ddpsim {
namespace {

void block(ModuleRecorder& model, const std::string& prefix, const BloomShape& shape) {
  model.begin_block();
  const Activation given = model.activation();
  model.layer_norm(prefix + "input_layernorm");
  model.linear(prefix + "self_attention.query_key_value", 3 * shape.hidden);
  model.continue_from({.channels = shape.hidden, .height = model.activation().height});
  model.attention(prefix + "self_attention",
                  {.heads = shape.heads, .keys = model.activation().positions(), .causal = true});
  model.linear(prefix + "self_attention.dense", shape.hidden);
  model.add(prefix + "self_attention.add", given);
  const Activation attended = model.activation();
  model.layer_norm(prefix + "post_attention_layernorm");
  model.linear(prefix + "mlp.dense_h_to_4h", 4 * shape.hidden);
  model.gelu(prefix + "mlp.gelu_impl");
  model.linear(prefix + "mlp.dense_4h_to_h", shape.hidden);
  model.add(prefix + "mlp.add", attended);
  model.end_block();
}

}  // namespace

Model build_model(const std::string& name, const BloomShape& shape, std::int64_t tokens,
                  AttentionKernel attention) {
  ModuleRecorder model(name, {.height = tokens}, attention);
  const std::size_t words =
      model.embedding("transformer.word_embeddings", shape.vocabulary, shape.hidden);
  model.look_up(words);
  model.layer_norm("transformer.word_embeddings_layernorm");
  for (std::int64_t layer = 0; layer < shape.layers; ++layer)
    block(model, "transformer.h." + std::to_string(layer) + ".", shape);
  model.layer_norm("transformer.ln_f");
  return finish_decoder(std::move(model), shape.head,
                        {.words = words, .vocabulary = shape.vocabulary, .tied = shape.tied},
                        "transformer.");
}

}  // namespace ddpsim
