#include "ddpsim/models/kept_activations.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ddpsim/formats/number.hpp"
#include "layer_memory.hpp"

namespace ddpsim {
namespace {

std::int64_t bytes_of(const Parameter& parameter) {
  return gradient_bytes(parameter).value_or(Bytes()).count();
}

/// The layer with the last product. The script holds its output while backward runs.
const Layer* gives_the_output(const Model& model) {
  const Layer* last = nullptr;
  for (const Layer& layer : model.layers)
    if (layer.product) last = &layer;
  return last;
}

/// "h.3.mlp.act" -> "h.*.mlp.act".
std::string of_all_blocks(const std::string& name) {
  std::string path;
  for (std::size_t from = 0; from <= name.size();) {
    const std::size_t dot = std::min(name.find('.', from), name.size());
    const std::string part = name.substr(from, dot - from);
    if (from > 0) path += '.';
    path += parse_number<std::int64_t>(part) ? "*" : part;
    from = dot + 1;
  }
  return path;
}

std::vector<KeptBy> largest(const std::map<std::string, std::int64_t>& by, std::int64_t all) {
  constexpr std::int64_t kWorthNaming = 100;  // one in so many bytes
  std::vector<KeptBy> named;
  for (const auto& [name, bytes] : by)
    if (bytes * kWorthNaming >= all) named.push_back({.name = name, .bytes = Bytes(bytes)});
  std::ranges::stable_sort(named, std::ranges::greater(), &KeptBy::bytes);
  return named;
}

std::int64_t input_bytes(const Model& model, const ComputeSetting& setting) {
  std::int64_t bytes = 0;
  for (Layer layer : model.layers) {
    if (layer.data_gradient || !layer.product) continue;
    layer.data_gradient = true;
    bytes += layer_bytes(layer, setting).gives;
  }
  return bytes;
}

/// Runs through backward, from the last layer to the first.
class Backwards {
 public:
  Backwards(const Model& model, const ComputeSetting& setting, const std::vector<LayerFate>& fates,
            std::int64_t kept)
      : model_(model),
        setting_(setting),
        fates_(fates),
        output_(gives_the_output(model)),
        there_(kept),
        uses_(model.parameters.size()) {
    for (const Layer& layer : model.layers)
      for (const std::size_t parameter : layer.parameters) ++uses_[parameter];
    uses_left_ = uses_;
  }

  /// `left` is the part of the kept activations that the script still holds.
  std::vector<Bytes> held(std::int64_t left) && {
    auto block = model_.blocks.rbegin();
    for (std::size_t k = model_.layers.size(); k-- > 0;) {
      if (block != model_.blocks.rend() && k + 1 == block->last) compute_again(*block++);
      run(model_.layers[k]);
    }
    held_.emplace_back(most_);
    held_.emplace_back(left);
    return std::move(held_);
  }

 private:
  /// Replaces what forward kept of a block by everything that its backward reads.
  void compute_again(const Block& block) {
    for (std::size_t k = block.first; k < block.last; ++k) {
      const LayerBytes bytes = layer_bytes(model_.layers[k], setting_, fates_[k]);
      there_ += bytes.output + bytes.own - bytes.stored;
    }
  }

  void run(const Layer& layer) {
    const LayerBytes bytes = layer_bytes(layer, setting_);
    if (!layer.reached) {
      there_ -= bytes.stored;
      return;
    }
    const bool reads_what_it_gave = layer.kind == LayerKind::elementwise;
    if (!reads_what_it_gave && &layer != output_)
      there_ -= bytes.output;  // the later layers have read it
    std::int64_t written = 0;
    for (const std::size_t parameter : layer.parameters)
      written += bytes_of(model_.parameters[parameter]);
    most_ =
        std::max(most_, there_ + waiting_ + bytes.given + bytes.gives + bytes.working + written);
    if (layer.sums_branches) {
      waiting_ += bytes.given - for_branch_;
      for_branch_ = bytes.given;
    }
    there_ -= bytes.own + (reads_what_it_gave ? bytes.output : 0);
    for (const std::size_t parameter : layer.parameters) {
      const std::int64_t gradient = bytes_of(model_.parameters[parameter]);
      const int before = uses_[parameter] - uses_left_[parameter];
      // The first gradient of a Linear's weight is a view, so nothing is summed into it.
      if (before > 0) {
        const std::int64_t sum = before == 1 ? gradient : 0;
        most_ = std::max(most_, there_ + waiting_ + bytes.gives + written + sum);
        waiting_ -= gradient;
      }
      written -= gradient;
      if (--uses_left_[parameter] > 0) {
        waiting_ += gradient;
        continue;
      }
      held_.emplace_back(most_);
      most_ = there_ + waiting_ + bytes.gives + written;
    }
  }

  const Model& model_;
  const ComputeSetting& setting_;
  const std::vector<LayerFate>& fates_;
  const Layer* output_;
  std::int64_t there_;
  std::int64_t waiting_ = 0;  ///< gradients other than those of the running layer
  /// Part of `waiting_`: the gradient that waits at the last fork of branches.
  std::int64_t for_branch_ = 0;
  std::int64_t most_ = 0;
  std::vector<int> uses_;
  std::vector<int> uses_left_;
  std::vector<Bytes> held_;
};

}  // namespace

Activations kept_activations(const Model& model, const ComputeSetting& setting,
                             const Checkpointing& checkpointing) {
  const std::int64_t input = input_bytes(model, setting);
  const Layer* output = gives_the_output(model);
  const std::int64_t left = input + (output ? layer_bytes(*output, setting).output : 0);
  const std::vector<LayerFate> fates = layer_fates(model, checkpointing);
  std::int64_t kept = input;
  std::map<std::string, std::int64_t> by;
  for (std::size_t k = 0; k < model.layers.size(); ++k) {
    const std::int64_t stored = layer_bytes(model.layers[k], setting, fates[k]).stored;
    kept += stored;
    if (stored > 0) by[of_all_blocks(model.layers[k].name)] += stored;
  }
  return {.bytes = Bytes(kept),
          .recorded = false,
          .held = Backwards(model, setting, fates, kept).held(left),
          .by = largest(by, kept)};
}

}  // namespace ddpsim
