#include "gptj.hpp"

#include <utility>

#include "module_recorder.hpp"

namespace ddpsim {
namespace {

void attend(ModuleRecorder& model, const std::string& prefix, const GptjShape& shape) {
  // Defined in the order key, value, query; run in the order query, key, value.
  for (const char* projection : {"k_proj", "v_proj", "q_proj"})
    model.define_module(prefix + projection, false);
  const Activation normed = model.activation();
  for (const char* projection : {"q_proj", "k_proj", "v_proj"}) {
    model.continue_from(normed);
    model.linear(prefix + projection, shape.hidden, false);
    if (projection[0] != 'v') model.free_output();  // the rotated copy is kept
  }
  model.rotate_positions(prefix + "rotary", 2 * shape.heads * shape.rotated, 2 * shape.hidden);
  model.attention(prefix + "attention",
                  {.heads = shape.heads, .keys = model.activation().positions(), .causal = true});
  model.linear(prefix + "out_proj", shape.hidden, false);
}

void block(ModuleRecorder& model, const std::string& prefix, const GptjShape& shape) {
  model.begin_block();
  const Activation given = model.activation();
  model.layer_norm(prefix + "ln_1");
  model.used_by(4);
  const Activation normed = model.activation();
  attend(model, prefix + "attn.", shape);
  const Activation attended = model.activation();
  model.continue_from(normed);
  model.linear(prefix + "mlp.fc_in", shape.feed_forward);
  model.gelu_written_out(prefix + "mlp.act");
  model.linear(prefix + "mlp.fc_out", shape.hidden);
  model.add(prefix + "mlp.add", attended);
  model.add(prefix + "add", given);
  model.end_block();
}

}  // namespace

Model build_model(const std::string& name, const GptjShape& shape, std::int64_t tokens,
                  AttentionKernel attention) {
  ModuleRecorder model(name, {.height = tokens}, attention);
  const std::size_t words = model.embedding("transformer.wte", shape.vocabulary, shape.hidden);
  model.look_up(words);
  for (std::int64_t layer = 0; layer < shape.layers; ++layer)
    block(model, "transformer.h." + std::to_string(layer) + ".", shape);
  model.buffer(Dtype::float32,
               shape.positions * shape.rotated);  // attn.embed_positions, one for all
  model.buffers_as_in("transformers 5");
  model.layer_norm("transformer.ln_f");
  return finish_decoder(
      std::move(model), shape.head,
      {.words = words, .vocabulary = shape.vocabulary, .tied = shape.tied, .bias = true},
      "transformer.");
}

}  // namespace ddpsim
