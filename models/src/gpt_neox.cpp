#include "gpt_neox.hpp"

#include <utility>

#include "module_recorder.hpp"

namespace ddpsim {
namespace {

void attend(ModuleRecorder& model, const std::string& prefix, const GptNeoxShape& shape) {
  model.linear(prefix + "query_key_value", 3 * shape.hidden, shape.attention_bias);
  model.rotate_positions(prefix + "rotary", 2 * shape.heads * shape.rotated, 2 * shape.hidden);
  model.continue_from({.channels = shape.hidden, .height = model.activation().height});
  model.attention(prefix + "attention",
                  {.heads = shape.heads, .keys = model.activation().positions(), .causal = true});
  model.linear(prefix + "dense", shape.hidden, shape.attention_bias);
}

void layer(ModuleRecorder& model, const std::string& prefix, const GptNeoxShape& shape) {
  model.begin_block();
  const Activation given = model.activation();
  for (const char* norm : {"input_layernorm", "post_attention_layernorm"})
    model.define_module(prefix + norm, true);
  model.layer_norm(prefix + "input_layernorm");
  attend(model, prefix + "attention.", shape);
  if (!shape.parallel) model.add(prefix + "attention.add", given);
  const Activation attended = model.activation();
  if (shape.parallel) model.continue_from(given);
  model.layer_norm(prefix + "post_attention_layernorm");
  model.linear(prefix + "mlp.dense_h_to_4h", shape.feed_forward);
  model.gelu(prefix + "mlp.act");
  model.linear(prefix + "mlp.dense_4h_to_h", shape.hidden);
  model.add(prefix + "mlp.add", attended);
  if (shape.parallel) model.add(prefix + "add", given);
  model.end_block();
}

}  // namespace

Model build_model(const std::string& name, const GptNeoxShape& shape, std::int64_t tokens,
                  AttentionKernel attention) {
  ModuleRecorder model(name, {.height = tokens}, attention);
  const std::size_t words = model.embedding("gpt_neox.embed_in", shape.vocabulary, shape.hidden);
  model.look_up(words);
  for (std::int64_t k = 0; k < shape.layers; ++k)
    layer(model, "gpt_neox.layers." + std::to_string(k) + ".", shape);
  model.layer_norm("gpt_neox.final_layer_norm");
  for (int copy = 0; copy < 2; ++copy)  // rotary_emb.inv_freq, original_inv_freq
    model.buffer(Dtype::float32, shape.rotated / 2);
  model.buffers_as_in("transformers 5");
  return finish_decoder(std::move(model), shape.head,
                        {.words = words, .vocabulary = shape.vocabulary, .tied = shape.tied},
                        "gpt_neox.");
}

}  // namespace ddpsim
