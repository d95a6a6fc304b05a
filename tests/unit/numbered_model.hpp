// The model that DeepSpeed and PyTorch were recorded with: an embedding of 23 rows of 13, four
// layers, a norm and a head. A layer is a norm, a Linear from 13 to 31 or 17, and one back.
#pragma once

#include <string>

#include "scheme_step.hpp"

namespace ddpsim::schemes {

/// Gradients come in the order of definition, reversed, as plain PyTorch writes them.
inline Workload numbered() {
  Workload step;
  step.name = "numbered";
  step.forward = 100_us;
  step.optimizer = 20_us;
  std::vector<Parameter>& all = step.parameters;
  all.push_back(parameter("embedding.weight", {23, 13}));
  for (int i = 0; i < 4; ++i) {
    const std::int64_t inner = i % 2 == 0 ? 31 : 17;
    const std::string layer = "layers." + std::to_string(i) + ".";
    all.push_back(parameter(layer + "norm.weight", {13}));
    all.push_back(parameter(layer + "norm.bias", {13}));
    all.push_back(parameter(layer + "up.weight", {inner, 13}));
    all.push_back(parameter(layer + "up.bias", {inner}));
    all.push_back(parameter(layer + "down.weight", {13, inner}));
    all.push_back(parameter(layer + "down.bias", {13}));
  }
  all.push_back(parameter("norm.weight", {13}));
  all.push_back(parameter("norm.bias", {13}));
  all.push_back(parameter("head.weight", {23, 13}));
  step.backward = Backward{.duration = 300_us, .ready = {}};
  for (std::size_t k = 0; k < all.size(); ++k) {
    step.backward->ready.push_back({.parameter = all.size() - 1 - k,
                                    .at = Duration::microseconds(10.0 * static_cast<double>(k + 1)),
                                    .copied_at = {}});
  }
  return step;
}

using Sizes = std::vector<std::int64_t>;

/// Bytes of all collectives of a kind, in the order launched.
inline Sizes bytes_of(const Step& step, CollectiveKind kind) {
  Sizes bytes;
  for (const CollectiveResult& one : step.collectives)
    if (one.kind == kind) bytes.push_back(one.bytes.count());
  return bytes;
}

inline Step run_numbered(Scheme scheme, int ranks) {
  return run(Job(numbered(), small::node(ranks), options(std::move(scheme)), FreeModel{}));
}

/// Exposed by phase, optimizer, iteration, in microseconds.
inline std::string parts(const StepTimes& times) {
  return fmt::format("forward {} backward {} optimizer {} | optimizer {} | iteration {}",
                     times.exposed_in_forward.microseconds(),
                     times.exposed_backward().microseconds(),
                     times.exposed_in_optimizer.microseconds(), times.optimizer.microseconds(),
                     times.iteration.microseconds());
}

}  // namespace ddpsim::schemes
