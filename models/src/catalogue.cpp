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
#include "vgg.hpp"

namespace ddpsim {
namespace {

struct Entry {
  std::string_view name;
  std::variant<ResNetShape, VggShape, AlexNetShape, DenseNetShape, InceptionV3Shape, BertShape,
               Gpt2Shape>
      shape;
};

// In the order `list` shows them. A new model is one line here and, at most, one file beside.
constexpr Entry kModels[] = {
    {"resnet18", ResNetShape{ResidualBlock::basic, {2, 2, 2, 2}}},
    {"resnet34", ResNetShape{ResidualBlock::basic, {3, 4, 6, 3}}},
    {"resnet50", ResNetShape{ResidualBlock::bottleneck, {3, 4, 6, 3}}},
    {"resnet101", ResNetShape{ResidualBlock::bottleneck, {3, 4, 23, 3}}},
    {"resnet152", ResNetShape{ResidualBlock::bottleneck, {3, 8, 36, 3}}},
    {"resnext50_32x4d", ResNetShape{ResidualBlock::bottleneck, {3, 4, 6, 3}, 32, 4}},
    {"resnext101_32x8d", ResNetShape{ResidualBlock::bottleneck, {3, 4, 23, 3}, 32, 8}},
    {"vgg11", VggShape{{1, 1, 2, 2, 2}}},
    {"vgg16", VggShape{{2, 2, 3, 3, 3}}},
    {"vgg19", VggShape{{2, 2, 4, 4, 4}}},
    {"alexnet", AlexNetShape{}},
    {"densenet121", DenseNetShape{32, {6, 12, 24, 16}}},
    {"inception_v3", InceptionV3Shape{}},
    {"bert-base", BertShape{12, 768}},
    {"bert-large", BertShape{24, 1024}},
    {"gpt2", Gpt2Shape{12, 768}},
    {"gpt2-medium", Gpt2Shape{24, 1024}},
    {"gpt2-large", Gpt2Shape{36, 1280}},
    {"gpt2-xl", Gpt2Shape{48, 1600}},
};

}  // namespace

std::optional<Model> find_model(std::string_view name) {
  const auto* found = std::find_if(std::begin(kModels), std::end(kModels),
                                   [&](const Entry& entry) { return entry.name == name; });
  if (found == std::end(kModels)) return std::nullopt;
  return std::visit([&](const auto& shape) { return build_model(std::string(name), shape); },
                    found->shape);
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kModels) names.emplace_back(entry.name);
  return names;
}

}  // namespace ddpsim
