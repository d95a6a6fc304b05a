#include "falcon.hpp"

#include <utility>

#include "module_recorder.hpp"

namespace ddpsim {
namespace {

void attend(ModuleRecorder& model, const std::string& prefix, const FalconShape& shape) {
  const std::int64_t head = shape.hidden / shape.heads;
  const std::int64_t turned = (shape.heads + shape.key_heads) * head;
  model.linear(prefix + "query_key_value", turned + shape.key_heads * head, shape.bias);
  if (shape.rotary) model.rotate_positions(prefix + "rotary", turned, turned);
  model.continue_from({.channels = shape.hidden, .height = model.activation().height});
  model.attention(prefix + "attention", {.heads = shape.heads,
                                         .keys = model.activation().positions(),
                                         .key_heads = shape.key_heads,
                                         .causal = true});
  model.linear(prefix + "dense", shape.hidden, shape.bias);
}

/// Norms are defined after the modules that they precede in forward.
void define_norms(ModuleRecorder& model, const std::string& prefix, const FalconShape& shape) {
  for (const char* linear : {"self_attention.query_key_value", "self_attention.dense",
                             "mlp.dense_h_to_4h", "mlp.dense_4h_to_h"})
    model.define_module(prefix + linear, shape.bias);
  if (shape.two_norms) {
    model.define_module(prefix + "ln_attn", true);
    model.define_module(prefix + "ln_mlp", true);
    return;
  }
  if (!shape.parallel) model.define_module(prefix + "post_attention_layernorm", true);
  model.define_module(prefix + "input_layernorm", true);
}

void decoder_layer(ModuleRecorder& model, const std::string& prefix, const FalconShape& shape) {
  model.begin_block();
  define_norms(model, prefix, shape);
  const Activation given = model.activation();
  model.layer_norm(prefix + (shape.two_norms ? "ln_attn" : "input_layernorm"));
  if (shape.two_norms) {
    model.continue_from(given);
    model.layer_norm(prefix + "ln_mlp");
  }
  const Activation normed = model.activation();
  attend(model, prefix + "self_attention.", shape);
  if (!shape.parallel) model.add(prefix + "self_attention.add", given);
  const Activation attended = model.activation();
  if (shape.parallel) {
    model.continue_from(normed);
  } else {
    model.layer_norm(prefix + "post_attention_layernorm");
  }
  model.linear(prefix + "mlp.dense_h_to_4h", shape.feed_forward, shape.bias);
  model.gelu(prefix + "mlp.act");
  model.linear(prefix + "mlp.dense_4h_to_h", shape.hidden, shape.bias);
  if (shape.parallel) model.add(prefix + "add", attended);
  model.add(prefix + "mlp.add", shape.parallel ? given : attended);
  model.end_block();
}

}  // namespace

Model build_model(const std::string& name, const FalconShape& shape, std::int64_t tokens,
                  AttentionKernel attention) {
  ModuleRecorder model(name, {.height = tokens}, attention);
  const std::size_t words =
      model.embedding("transformer.word_embeddings", shape.vocabulary, shape.hidden);
  model.look_up(words);
  for (std::int64_t layer = 0; layer < shape.layers; ++layer)
    decoder_layer(model, "transformer.h." + std::to_string(layer) + ".", shape);
  model.layer_norm("transformer.ln_f");
  if (shape.rotary)
    for (int copy = 0; copy < 2; ++copy)  // rotary_emb.inv_freq, original_inv_freq
      model.buffer(Dtype::float32, shape.hidden / shape.heads / 2);
  if (shape.rotary) model.buffers_as_in("transformers 5");
  return finish_decoder(std::move(model), shape.head,
                        {.words = words, .vocabulary = shape.vocabulary, .tied = shape.tied},
                        "transformer.");
}

}  // namespace ddpsim
