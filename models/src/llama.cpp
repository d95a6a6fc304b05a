#include "llama.hpp"

#include <utility>

#include "module_recorder.hpp"

namespace ddpsim {
namespace {

void attend(ModuleRecorder& model, const std::string& prefix, const LlamaShape& shape) {
  const Activation normed = model.activation();
  const std::int64_t queries = shape.heads * shape.head_features;
  const std::int64_t keys = shape.key_heads * shape.head_features;
  model.linear(prefix + "q_proj", queries, shape.qkv_bias);
  model.free_output();  // what is kept is rotated
  const Activation query = model.activation();
  model.continue_from(normed);
  model.linear(prefix + "k_proj", keys, shape.qkv_bias);
  model.free_output();
  model.continue_from(normed);
  model.linear(prefix + "v_proj", keys, shape.qkv_bias);
  model.rotate_positions(prefix + "rotary", queries + keys, queries + keys);
  model.continue_from(query);
  model.attention(prefix + "attention", {.heads = shape.heads,
                                         .keys = query.positions(),
                                         .key_heads = shape.key_heads,
                                         .causal = true});
  model.linear(prefix + "o_proj", shape.hidden, shape.output_bias);
}

void feed_forward(ModuleRecorder& model, const std::string& prefix, const LlamaShape& shape) {
  const Activation normed = model.activation();
  model.linear(prefix + "gate_proj", shape.feed_forward, shape.feed_forward_bias);
  model.silu(prefix + "act_fn");
  model.continue_from(normed);
  model.linear(prefix + "up_proj", shape.feed_forward, shape.feed_forward_bias);
  model.gate(prefix + "gate");
  model.linear(prefix + "down_proj", shape.hidden, shape.feed_forward_bias);
}

void decoder_layer(ModuleRecorder& model, const std::string& prefix, const LlamaShape& shape) {
  model.begin_block();
  for (const char* projection : {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"})
    model.define_module(prefix + projection, shape.qkv_bias);
  model.define_module(prefix + "self_attn.o_proj", shape.output_bias);
  for (const char* projection : {"mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"})
    model.define_module(prefix + projection, shape.feed_forward_bias);
  model.define_module(prefix + "input_layernorm", false);
  model.define_module(prefix + "post_attention_layernorm", false);
  model.rms_norm(prefix + "input_layernorm");
  model.used_by(3);
  attend(model, prefix + "self_attn.", shape);
  model.add(prefix + "self_attn.add");
  model.rms_norm(prefix + "post_attention_layernorm");
  model.used_by(2);
  feed_forward(model, prefix + "mlp.", shape);
  model.add(prefix + "mlp.add");
  model.end_block();
}

}  // namespace

Model build_model(const std::string& name, const LlamaShape& shape, std::int64_t tokens,
                  AttentionKernel attention) {
  ModuleRecorder model(name, {.height = tokens}, attention);
  const std::size_t words = model.embedding("model.embed_tokens", shape.vocabulary, shape.hidden);
  model.look_up(words);
  for (std::int64_t layer = 0; layer < shape.layers; ++layer)
    decoder_layer(model, "model.layers." + std::to_string(layer) + ".", shape);
  model.rms_norm("model.norm");
  for (int copy = 0; copy < 2; ++copy)  // rotary_emb.inv_freq, original_inv_freq
    model.buffer(Dtype::float32, shape.head_features / 2);
  model.buffers_as_in("transformers 5");
  if (shape.tied)
    model.tied_linear(words);
  else
    model.linear("lm_head", shape.vocabulary, false);
  model.cross_entropy("loss");
  return std::move(model).finish();
}

}  // namespace ddpsim
