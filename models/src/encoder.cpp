#include "encoder.hpp"

#include <cstddef>
#include <utility>

#include "module_recorder.hpp"

namespace ddpsim {
namespace {

using Kind = HeadStep::Kind;

constexpr const char* kDistanceTable = "encoder.rel_embeddings.weight";

BlockModules bert_block(const BertShape& shape) {
  const std::string attention = "attention.self.";
  BlockModules block;
  block.hidden = shape.hidden;
  block.attention = {.hidden = shape.hidden,
                     .heads = shape.heads,
                     .key_heads = shape.heads,
                     .head_features = shape.hidden / shape.heads,
                     .query = {attention + "query", true},
                     .key = {attention + "key", true},
                     .value = {attention + "value", true},
                     .output = {"attention.output.dense", true},
                     .dropout = shape.dropout};
  block.around_attention.behind = {.name = "attention.output.LayerNorm", .bias = true};
  block.feed_forward = {.features = shape.feed_forward,
                        .gate = {},
                        .up = {"intermediate.dense", true},
                        .down = {"output.dense", true}};
  block.around_feed_forward.behind = {.name = "output.LayerNorm", .bias = true};
  block.dropout = shape.dropout;
  return block;
}

/// Looks up words, then adds the rows of the other tables.
std::size_t embed(ModuleRecorder& model, const EncoderShape& shape) {
  const std::string prefix = shape.base + shape.embeddings;
  const std::int64_t features = shape.embedded > 0 ? shape.embedded : shape.hidden;
  std::vector<std::size_t> tables;
  for (const TokenTable& table : shape.tables)
    tables.push_back(model.embedding(prefix + table.name, table.rows, features));
  for (std::size_t k = 0; k < tables.size(); ++k) {
    model.look_up(tables[k]);
    if (k > 0) model.add(prefix + shape.tables[k].name + ".add", model.activation());
  }
  run_norm(model, prefix, shape.embeddings_norm);
  if (shape.dropout) model.dropout(prefix + "dropout");
  if (!shape.embeddings_defined.empty()) model.define_in_order(0, prefix, shape.embeddings_defined);
  if (shape.projection.exists())
    model.linear(shape.base + shape.projection.name, shape.hidden, shape.projection.bias);
  return tables.front();
}

/// DeBERTa: the embeddings of distances, which every block projects. Without a norm, the blocks
/// read the parameter directly.
void run_distances(ModuleRecorder& model, const EncoderShape& shape) {
  const std::string table = shape.base + kDistanceTable;
  if (!shape.distance_norm) {
    model.table(table, shape.distances, shape.hidden);
    return;
  }
  const Activation tokens = model.activation();
  model.continue_from({.channels = shape.hidden, .height = shape.distances, .single = true});
  model.layer_norm(shape.base + "encoder.LayerNorm");
  model.with_parameter(table, {shape.distances, shape.hidden});
  for (int others = 0; others < 2; ++others)
    model.finish_weight_last();  // its input's gradient comes first
  model.continue_from(tokens);
}

void run_convolution(ModuleRecorder& model, const EncoderShape& shape) {
  const Activation given = model.activation();
  const std::string prefix = shape.base + "encoder.conv.";
  model.conv2d(prefix + "conv", {.out = shape.hidden,
                                 .kernel = {.height = shape.convolution, .width = 1},
                                 .padding = {.height = (shape.convolution - 1) / 2, .width = 0},
                                 .bias = true,
                                 .one_dimension = true});
  if (shape.dropout) model.dropout(prefix + "dropout");
  model.relu(prefix + "tanh");
  model.add(prefix + "add", given);
  model.layer_norm(prefix + "LayerNorm");
}

void run_blocks(ModuleRecorder& model, const EncoderShape& shape) {
  if (shape.distances > 0) run_distances(model, shape);
  const auto count = static_cast<std::int64_t>(shape.layers.size());
  if (shape.groups > 0) {
    model.share_parameters();
    for (std::int64_t layer = 0; layer < count; ++layer) {
      const std::int64_t group = layer * shape.groups / count;
      for (std::size_t k = 0; k < shape.kinds.size(); ++k)
        run_block(model,
                  shape.base + shape.blocks_module + "." + std::to_string(group) +
                      ".albert_layers." + std::to_string(k) + ".",
                  shape.kinds[k]);
    }
    return;
  }
  for (std::int64_t layer = 0; layer < count; ++layer) {
    run_block(model, shape.base + shape.blocks_module + "." + std::to_string(layer) + ".",
              shape.kinds[shape.layers[static_cast<std::size_t>(layer)]]);
    if (layer == 0 && shape.convolution > 0) run_convolution(model, shape);
  }
}

void run_head(ModuleRecorder& model, const EncoderShape& shape, std::size_t words) {
  const Activation encoded = model.activation();
  for (const HeadStep& step : shape.head) {
    switch (step.kind) {
      case Kind::first_token:
        model.continue_from({.channels = shape.hidden});
        break;
      case Kind::all_tokens:
        model.continue_from(encoded);
        break;
      case Kind::linear:
        model.linear(step.name, step.out, step.bias);
        break;
      case Kind::norm:
        model.layer_norm(step.name, step.bias);
        break;
      case Kind::activation:
        run_activation(model, step.name, step.activation);
        break;
      case Kind::dropout:
        model.dropout(step.name);
        break;
      case Kind::words:
        model.tied_linear(words, step.name);
        break;
      case Kind::loss:
        model.cross_entropy("loss");
        break;
    }
  }
}

}  // namespace

EncoderShape bert_encoder(const BertShape& shape, const std::string& base) {
  EncoderShape encoder;
  encoder.hidden = shape.hidden;
  encoder.base = base;
  encoder.tables = {{"word_embeddings", shape.vocabulary},
                    {"token_type_embeddings", shape.segments},
                    {"position_embeddings", shape.positions}};
  encoder.embeddings_defined =
      "word_embeddings position_embeddings token_type_embeddings LayerNorm";
  encoder.kinds = {bert_block(shape)};
  encoder.layers.assign(static_cast<std::size_t>(shape.layers), 0);
  encoder.positions = {shape.positions, shape.positions};  // position_ids, token_type_ids
  encoder.dropout = shape.dropout;
  return encoder;
}

std::vector<HeadStep> pooled(const std::string& module, std::int64_t hidden) {
  return {
      {.kind = Kind::first_token},
      {.kind = Kind::linear, .name = module, .out = hidden},
      {.kind = Kind::activation, .name = module + ".tanh", .activation = ActivationFunction::relu}};
}

std::vector<HeadStep> bert_words(const std::string& module, std::int64_t hidden) {
  return {{.kind = Kind::all_tokens},
          {.kind = Kind::linear, .name = module + ".transform.dense", .out = hidden},
          {.kind = Kind::activation, .name = module + ".transform.gelu"},
          {.kind = Kind::norm, .name = module + ".transform.LayerNorm"},
          {.kind = Kind::words, .name = module + ".bias"},
          {.kind = Kind::loss}};
}

Model build_model(const std::string& name, const EncoderShape& shape, std::int64_t tokens,
                  AttentionKernel attention) {
  ModuleRecorder model(name, {.height = tokens}, attention);
  for (const std::int64_t places : shape.positions) model.buffer(Dtype::int64, places);
  const std::size_t words = embed(model, shape);
  run_blocks(model, shape);
  run_norm(model, shape.base, shape.last_norm);
  for (const std::int64_t features : shape.frequencies)
    for (int copy = 0; copy < 2; ++copy) model.buffer(Dtype::float32, features);
  run_head(model, shape, words);
  if (!shape.words_name.empty()) model.rename_parameter(words, shape.words_name);
  if (!shape.defined.empty()) model.define_in_order(0, "", shape.defined);
  return std::move(model).finish();
}

Model build_model(const std::string& name, const BertShape& shape, std::int64_t tokens,
                  AttentionKernel attention) {
  const std::string base = shape.head == BertHead::pooler ? "" : "bert.";
  EncoderShape encoder = bert_encoder(shape, base);
  const auto add = [&](const std::vector<HeadStep>& steps) {
    encoder.head.insert(encoder.head.end(), steps.begin(), steps.end());
  };
  if (shape.head != BertHead::masked_words) add(pooled(base + "pooler.dense", shape.hidden));
  if (shape.head != BertHead::pooler) {
    add(bert_words("cls.predictions", shape.hidden));
    encoder.defined = "bert cls.predictions.bias cls";
  }
  if (shape.head == BertHead::pretraining)
    add({{.kind = Kind::first_token},
         {.kind = Kind::linear, .name = "cls.seq_relationship", .out = 2}});
  return build_model(name, encoder, tokens, attention);
}

}  // namespace ddpsim
