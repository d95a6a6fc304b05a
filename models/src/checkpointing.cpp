#include "ddpsim/models/checkpointing.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ddpsim/formats/number.hpp"

namespace ddpsim {
namespace {

bool keeps_something(const Layer& layer) {
  return layer.kept > 0 || layer.kept_bytes > 0;
}

/// One past the last layer that runs again. The block's output is the next block's input, so it
/// already exists.
std::size_t end_of_second_run(const Model& model, const Block& block) {
  std::size_t end = block.last;
  if (model.layers[end - 1].kept_bytes > 0) return end;
  --end;
  while (end > block.first && !keeps_something(model.layers[end - 1])) --end;
  return end;
}

void checkpoint(const Model& model, const Block& block, Checkpointing::Policy policy,
                std::vector<LayerFate>& fates) {
  const std::size_t end = end_of_second_run(model, block);
  int products = 0;
  for (std::size_t k = block.first; k < block.last; ++k) {
    const Layer& layer = model.layers[k];
    const bool product = layer.kind == LayerKind::linear && layer.product.has_value();
    if (product) ++products;
    const bool saved = policy == Checkpointing::Policy::selective &&
                       (layer.fused.has_value() || (product && products % 2 == 1));
    if (saved)
      fates[k] = LayerFate::saved;
    else if (k < end)
      fates[k] = LayerFate::run_again;
  }
}

}  // namespace

std::optional<Checkpointing> checkpointing_from_name(std::string_view name) {
  using Policy = Checkpointing::Policy;
  if (name == "none") return Checkpointing{};
  if (name == "full") return Checkpointing{.policy = Policy::full};
  if (name == "selective") return Checkpointing{.policy = Policy::selective};
  const auto blocks = parse_number<std::int64_t>(name);
  if (!blocks || *blocks < 1) return std::nullopt;
  return Checkpointing{.policy = Policy::full, .blocks = blocks};
}

std::string name_of(const Checkpointing& checkpointing) {
  switch (checkpointing.policy) {
    case Checkpointing::Policy::none:
      return "none";
    case Checkpointing::Policy::selective:
      return "selective";
    case Checkpointing::Policy::full:
      break;
  }
  return checkpointing.blocks ? fmt::to_string(*checkpointing.blocks) : "full";
}

std::vector<LayerFate> layer_fates(const Model& model, const Checkpointing& checkpointing) {
  std::vector<LayerFate> fates(model.layers.size(), LayerFate::kept);
  if (checkpointing.policy == Checkpointing::Policy::none) return fates;
  const auto count = static_cast<std::int64_t>(model.blocks.size());
  const std::int64_t checkpointed = std::min(checkpointing.blocks.value_or(count), count);
  for (std::int64_t k = 0; k < checkpointed; ++k)
    checkpoint(model, model.blocks[static_cast<std::size_t>(k)], checkpointing.policy, fates);
  return fates;
}

}  // namespace ddpsim
