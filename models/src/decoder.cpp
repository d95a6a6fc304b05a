#include "decoder.hpp"

#include <utility>

namespace ddpsim {

BlockModules llama_block(const LlamaShape& shape) {
  const std::string attention = "self_attn.";
  const std::string mlp = "mlp.";
  BlockModules block;
  block.hidden = shape.hidden;
  block.attention = {.hidden = shape.hidden,
                     .heads = shape.heads,
                     .key_heads = shape.key_heads,
                     .head_features = shape.head_features,
                     .rotated = shape.head_features,
                     .query = {attention + "q_proj", shape.qkv_bias},
                     .key = {attention + "k_proj", shape.qkv_bias},
                     .value = {attention + "v_proj", shape.qkv_bias},
                     .output = {attention + "o_proj", shape.output_bias},
                     .causal = true};
  block.around_attention.before = {.name = "input_layernorm", .kind = NormKind::rms};
  block.feed_forward = {.features = shape.feed_forward,
                        .activation = ActivationFunction::silu,
                        .gate = {mlp + "gate_proj", shape.feed_forward_bias},
                        .up = {mlp + "up_proj", shape.feed_forward_bias},
                        .down = {mlp + "down_proj", shape.feed_forward_bias}};
  block.around_feed_forward.before = {.name = "post_attention_layernorm", .kind = NormKind::rms};
  block.defined =
      "self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj mlp.gate_proj "
      "mlp.up_proj mlp.down_proj input_layernorm post_attention_layernorm";
  return block;
}

DecoderShape llama_decoder(const LlamaShape& shape) {
  DecoderShape decoder;
  decoder.hidden = shape.hidden;
  decoder.vocabulary = shape.vocabulary;
  decoder.kinds = {llama_block(shape)};
  decoder.layers.assign(static_cast<std::size_t>(shape.layers), 0);
  decoder.tied = shape.tied;
  decoder.frequencies = {shape.head_features / 2};
  return decoder;
}

std::size_t look_up_words(ModuleRecorder& model, const DecoderShape& shape) {
  const std::string name = shape.base + shape.words;
  const std::size_t words = model.embedding(name, shape.vocabulary, shape.hidden);
  model.look_up(words);
  if (shape.scaled_words) {
    model.elementwise(name + ".scale", {.forward = 2, .backward = 2, .kept = 0});
    model.buffer(Dtype::float32);  // embed_tokens.embed_scale
  }
  return words;
}

void run_decoder(ModuleRecorder& model, const DecoderShape& shape) {
  for (std::size_t layer = 0; layer < shape.layers.size(); ++layer)
    run_block(model, shape.base + shape.blocks_module + "." + std::to_string(layer) + ".",
              shape.kinds[shape.layers[layer]]);
  run_norm(model, shape.base, shape.last_norm);
  for (const std::int64_t features : shape.frequencies)
    for (int copy = 0; copy < 2; ++copy)  // rotary_emb.inv_freq, original_inv_freq
      model.buffer(Dtype::float32, features);
  for (const std::int64_t elements : shape.single_buffers) model.buffer(Dtype::float32, elements);
  model.buffers_as_in("transformers 5");
}

Model build_model(const std::string& name, const DecoderShape& shape, std::int64_t tokens,
                  AttentionKernel attention) {
  ModuleRecorder model(name, {.height = tokens}, attention);
  const std::size_t words = look_up_words(model, shape);
  run_decoder(model, shape);
  Model whole = finish_decoder(
      std::move(model), shape.head,
      {.words = words, .vocabulary = shape.vocabulary, .tied = shape.tied, .bias = shape.head_bias},
      shape.base);
  if (shape.head.kind == HeadKind::span) rename_base(whole, shape.base, shape.span_base);
  return whole;
}

Model build_model(const std::string& name, const LlamaShape& shape, std::int64_t tokens,
                  AttentionKernel attention) {
  return build_model(name, llama_decoder(shape), tokens, attention);
}

}  // namespace ddpsim
