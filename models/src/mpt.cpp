#include "mpt.hpp"

#include <utility>

#include "module_recorder.hpp"

namespace ddpsim {
namespace {

void block(ModuleRecorder& model, const std::string& prefix, const MptShape& shape) {
  model.begin_block();
  const Activation given = model.activation();
  model.layer_norm(prefix + "norm_1", false);
  model.linear(prefix + "attn.Wqkv", 3 * shape.hidden, false);
  model.continue_from({.channels = shape.hidden, .height = model.activation().height});
  model.attention(prefix + "attn",
                  {.heads = shape.heads, .keys = model.activation().positions(), .causal = true});
  model.linear(prefix + "attn.out_proj", shape.hidden, false);
  model.add(prefix + "attn.add", given);
  const Activation attended = model.activation();
  model.layer_norm(prefix + "norm_2", false);
  model.linear(prefix + "ffn.up_proj", shape.feed_forward, false);
  model.gelu(prefix + "ffn.act");
  model.linear(prefix + "ffn.down_proj", shape.hidden, false);
  model.add(prefix + "ffn.add", attended);
  model.end_block();
}

}  // namespace

Model build_model(const std::string& name, const MptShape& shape, std::int64_t tokens,
                  AttentionKernel attention) {
  ModuleRecorder model(name, {.height = tokens}, attention);
  const std::size_t words = model.embedding("transformer.wte", shape.vocabulary, shape.hidden);
  model.look_up(words);
  for (std::int64_t layer = 0; layer < shape.layers; ++layer)
    block(model, "transformer.blocks." + std::to_string(layer) + ".", shape);
  model.layer_norm("transformer.norm_f", false);
  return finish_decoder(std::move(model), shape.head,
                        {.words = words, .vocabulary = shape.vocabulary, .tied = shape.tied},
                        "transformer.");
}

}  // namespace ddpsim
