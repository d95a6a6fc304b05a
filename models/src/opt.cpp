#include "opt.hpp"

#include <utility>

#include "module_recorder.hpp"

namespace ddpsim {
namespace {

void branch_out(ModuleRecorder& model, const std::string& prefix, const OptShape& shape,
                const Activation& given) {
  if (shape.dropout) model.dropout(prefix + "dropout");
  model.add(prefix + "add", given);
}

void attend(ModuleRecorder& model, const std::string& prefix, const OptShape& shape) {
  const Activation normed = model.activation();
  for (const char* projection : {"q_proj", "k_proj", "v_proj"}) {
    model.continue_from(normed);
    model.linear(prefix + projection, shape.hidden, shape.bias);
  }
  model.attention(prefix + "attention",
                  {.heads = shape.heads, .keys = model.activation().positions(), .causal = true});
  model.linear(prefix + "out_proj", shape.hidden, shape.bias);
}

void layer(ModuleRecorder& model, const std::string& prefix, const OptShape& shape) {
  model.begin_block();
  const Activation given = model.activation();
  // Defined in the order key, value, query; run in the order query, key, value.
  for (const char* projection : {"k_proj", "v_proj", "q_proj", "out_proj"})
    model.define_module(prefix + "self_attn." + projection, shape.bias);
  model.define_module(prefix + "self_attn_layer_norm", true);
  if (shape.norm_first) {
    model.layer_norm(prefix + "self_attn_layer_norm");
    model.used_by(3);
  }
  attend(model, prefix + "self_attn.", shape);
  branch_out(model, prefix + "self_attn.", shape, given);
  if (!shape.norm_first) model.layer_norm(prefix + "self_attn_layer_norm");
  const Activation attended = model.activation();
  for (const char* linear : {"fc1", "fc2"}) model.define_module(prefix + linear, shape.bias);
  model.define_module(prefix + "final_layer_norm", true);
  if (shape.norm_first) model.layer_norm(prefix + "final_layer_norm");
  model.linear(prefix + "fc1", shape.feed_forward, shape.bias);
  model.relu(prefix + "activation_fn");
  model.linear(prefix + "fc2", shape.hidden, shape.bias);
  branch_out(model, prefix, shape, attended);
  if (!shape.norm_first) model.layer_norm(prefix + "final_layer_norm");
  model.end_block();
}

}  // namespace

Model build_model(const std::string& name, const OptShape& shape, std::int64_t tokens,
                  AttentionKernel attention) {
  constexpr std::int64_t kOffset = 2;  // rows before the first position's row
  const std::string decoder = "model.decoder.";
  const bool narrow = shape.embedded != shape.hidden;
  const bool final_norm = shape.norm_first && shape.final_norm;
  ModuleRecorder model(name, {.height = tokens}, attention);
  const std::size_t words =
      model.embedding(decoder + "embed_tokens", shape.vocabulary, shape.embedded);
  const std::size_t positions =
      model.embedding(decoder + "embed_positions", shape.positions + kOffset, shape.hidden);
  if (narrow)
    for (const char* projection : {"project_out", "project_in"})
      model.define_module(decoder + projection, false);
  if (final_norm) model.define_module(decoder + "final_layer_norm", true);
  model.look_up(words);
  const Activation embedded = model.activation();
  model.look_up(positions);
  const Activation positioned = model.activation();
  if (narrow) {
    model.continue_from(embedded);
    model.linear(decoder + "project_in", shape.hidden, false);
  }
  model.add(decoder + "add", positioned);
  for (std::int64_t k = 0; k < shape.layers; ++k)
    layer(model, decoder + "layers." + std::to_string(k) + ".", shape);
  if (final_norm) model.layer_norm(decoder + "final_layer_norm");
  if (narrow) model.linear(decoder + "project_out", shape.embedded, false);
  return finish_decoder(std::move(model), shape.head,
                        {.words = words, .vocabulary = shape.vocabulary, .tied = shape.tied},
                        "model.");
}

}  // namespace ddpsim
