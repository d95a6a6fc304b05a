#include "ddpsim/models/catalogue.hpp"

#include <algorithm>
#include <iterator>

#include "resnet.hpp"

namespace ddpsim {
namespace {

struct Entry {
  std::string_view name;
  Model (*build)();
};

// In the order `list` shows them. A new model is one line here and, at most, one file beside.
constexpr Entry kModels[] = {
    {"resnet18",
     [] {
       return resnet("resnet18", {ResidualBlock::basic, {2, 2, 2, 2}});
     }},
    {"resnet50",
     [] {
       return resnet("resnet50", {ResidualBlock::bottleneck, {3, 4, 6, 3}});
     }},
};

}  // namespace

std::optional<Model> find_model(std::string_view name) {
  const auto* found = std::find_if(std::begin(kModels), std::end(kModels),
                                   [&](const Entry& entry) { return entry.name == name; });
  if (found == std::end(kModels)) return std::nullopt;
  return found->build();
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kModels) names.emplace_back(entry.name);
  return names;
}

}  // namespace ddpsim
