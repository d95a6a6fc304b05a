// Ranks that differ, on the command line: --straggler, --jitter, --stagger, --seed; and what all of
// them lose: --gpu-spread, --rank-slowdown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ddpsim/sim/values/cluster.hpp"
#include "ddpsim/sim/values/rank_variation.hpp"
#include "ddpsim/sim/values/simulation_options.hpp"

namespace CLI {
class App;
}

namespace ddpsim {

struct VariationArguments {
  std::vector<std::string> stragglers;
  std::optional<std::string> jitter;
  std::optional<std::string> stagger;
  std::optional<std::string> gpu_spread;
  std::optional<std::string> rank_slowdown;
  std::uint64_t seed = 1;
};

void add_variation_options(CLI::App& command, VariationArguments& arguments);
/// For commands that know the steady step only: not offered, and refused with what has it instead.
void hide_run_options(CLI::App& command);

/// Throws UsageError, also for ranks the cluster does not have and for jitter or stagger where only
/// the steady step (`iterations` 0) is asked for.
RankVariation rank_variation(const VariationArguments& arguments, const Cluster& cluster,
                             int iterations);

/// The slowest of such GPUs and the published rest with their ranges; or what is given, which is certain.
void set_rank_slowdown(const VariationArguments& arguments, const GpuModel& gpu,
                       SimulationOptions& options);

}  // namespace ddpsim
