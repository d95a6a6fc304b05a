// Ranks that differ, on the command line: --straggler, --jitter, --stagger, --seed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ddpsim/sim/cluster.hpp"
#include "ddpsim/sim/rank_variation.hpp"

namespace CLI {
class App;
}

namespace ddpsim {

struct VariationArguments {
  std::vector<std::string> stragglers;
  std::optional<std::string> jitter;
  std::optional<std::string> stagger;
  std::uint64_t seed = 1;
};

void add_variation_options(CLI::App& command, VariationArguments& arguments);

/// Throws UsageError, also for ranks the cluster does not have and for jitter or stagger where only
/// the steady step (`iterations` 0) is asked for.
RankVariation rank_variation(const VariationArguments& arguments, const Cluster& cluster,
                             int iterations);

}  // namespace ddpsim
