// --straggler, --jitter, --stagger and --seed make ranks differ. --gpu-spread and --rank-slowdown slow all of them.
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
/// Hides the options of a run in commands that simulate only the steady step. If typed, they are refused with the command that has
/// them.
void hide_run_options(CLI::App& command);

/// Throws UsageError.
VariationRequest variation_request(const VariationArguments& arguments);

}  // namespace ddpsim
