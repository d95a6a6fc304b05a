#include "ddpsim/models/catalogue.hpp"

#include <algorithm>
#include <iterator>
#include <variant>

#include "alexnet.hpp"
#include "bert.hpp"
#include "densenet.hpp"
#include "gpt2.hpp"
#include "inception.hpp"
#include "resnet.hpp"
#include "transformer.hpp"
#include "vgg.hpp"

namespace ddpsim {
namespace {

constexpr std::int64_t kImageNet = 224;  // pixels a side

struct Entry {
  std::string_view name;
  std::variant<ResNetShape, VggShape, AlexNetShape, DenseNetShape, InceptionV3Shape, BertShape,
               Gpt2Shape, TransformerShape>
      shape;
  std::int64_t batch = 32;        ///< where nobody says
  std::int64_t size = kImageNet;  ///< of a sample, where nobody says
  std::int64_t most_tokens = 0;   ///< 0: takes images
};

// In the order `list` shows them. A new model is one line here and, at most, one file beside.
constexpr Entry kModels[] = {
    {"resnet18", ResNetShape{ResidualBlock::basic, {2, 2, 2, 2}}},
    {"resnet34", ResNetShape{ResidualBlock::basic, {3, 4, 6, 3}}},
    {"resnet50", ResNetShape{ResidualBlock::bottleneck, {3, 4, 6, 3}}},
    {"resnet101", ResNetShape{ResidualBlock::bottleneck, {3, 4, 23, 3}}},
    {"resnet152", ResNetShape{ResidualBlock::bottleneck, {3, 8, 36, 3}}},
    {"resnext50_32x4d", ResNetShape{ResidualBlock::bottleneck, {3, 4, 6, 3}, 32, 4}},
    {"resnext101_32x4d", ResNetShape{ResidualBlock::bottleneck, {3, 4, 23, 3}, 32, 4}},
    {"resnext101_32x8d", ResNetShape{ResidualBlock::bottleneck, {3, 4, 23, 3}, 32, 8}},
    {"vgg11", VggShape{{1, 1, 2, 2, 2}}},
    {"vgg13", VggShape{{2, 2, 2, 2, 2}}},
    {"vgg16", VggShape{{2, 2, 3, 3, 3}}},
    {"vgg19", VggShape{{2, 2, 4, 4, 4}}},
    {"alexnet", AlexNetShape{}, 128},
    {"densenet121", DenseNetShape{32, {6, 12, 24, 16}}},
    {"inception_v3", InceptionV3Shape{}, 32, 299},
    {"bert-base", BertShape{12, 768}, 32, 128, kBertPositions},
    {"bert-large", BertShape{24, 1024}, 16, 128, kBertPositions},
    {"gpt2", Gpt2Shape{12, 768}, 8, kGpt2Positions, kGpt2Positions},
    {"gpt2-medium", Gpt2Shape{24, 1024}, 4, kGpt2Positions, kGpt2Positions},
    {"gpt2-large", Gpt2Shape{36, 1280}, 2, kGpt2Positions, kGpt2Positions},
    {"gpt2-xl", Gpt2Shape{48, 1600}, 1, kGpt2Positions, kGpt2Positions},
    {"transformer-base", TransformerShape{512, 2048, 8}, 128, 32, kTransformerPositions},
    {"transformer-big", TransformerShape{1024, 4096, 16}, 128, 32, kTransformerPositions},
};

const Entry* find_entry(std::string_view name) {
  const auto* found = std::find_if(std::begin(kModels), std::end(kModels),
                                   [&](const Entry& entry) { return entry.name == name; });
  return found == std::end(kModels) ? nullptr : found;
}

Model build(const Entry& entry, std::int64_t size) {
  Model model = std::visit(
      [&](const auto& shape) { return build_model(std::string(entry.name), shape, size); },
      entry.shape);
  model.sample = entry.most_tokens > 0 ? SampleKind::sequence : SampleKind::image;
  model.sample_size = size;
  model.default_batch = entry.batch;
  return model;
}

}  // namespace

std::string source_of(const Model& model) {
  std::string text = "bundled model " + model.name;
  if (!model.buffers_as_in.empty()) text += ", buffers as in " + model.buffers_as_in;
  return text;
}

std::optional<Model> find_model(std::string_view name) {
  const Entry* entry = find_entry(name);
  if (entry == nullptr) return std::nullopt;
  return build(*entry, entry->size);
}

std::optional<Model> find_model(std::string_view name, std::int64_t tokens) {
  const Entry* entry = find_entry(name);
  if (entry == nullptr || tokens < 1 || tokens > entry->most_tokens) return std::nullopt;
  return build(*entry, tokens);
}

std::optional<std::int64_t> most_tokens(std::string_view name) {
  const Entry* entry = find_entry(name);
  if (entry == nullptr || entry->most_tokens == 0) return std::nullopt;
  return entry->most_tokens;
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kModels) names.emplace_back(entry.name);
  return names;
}

}  // namespace ddpsim
