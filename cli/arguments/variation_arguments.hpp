// Ranks that differ, on the command line: --straggler, --jitter, --stagger, --seed; and what all of
// them lose: --gpu-spread, --rank-slowdown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ddpsim/jobs/job_request.hpp"

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

/// Throws UsageError.
VariationRequest variation_request(const VariationArguments& arguments);

}  // namespace ddpsim
