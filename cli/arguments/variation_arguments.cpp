#include "variation_arguments.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <string>

#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quantity.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "help_group.hpp"
#include "repeatable.hpp"

namespace ddpsim {
namespace {

/// Parses "3:1.2".
Straggler parse_straggler(const std::string& text) {
  constexpr double kLeast = 0.01;
  constexpr double kMost = 100;
  const std::size_t colon = text.find(':');
  const auto rank = parse_number<int>(std::string_view(text).substr(0, colon));
  const auto slowdown = colon == std::string::npos
                            ? std::nullopt
                            : parse_number<double>(std::string_view(text).substr(colon + 1));
  if (!rank || !slowdown || *rank < 0 || !(*slowdown >= kLeast && *slowdown <= kMost))
    throw UsageError("--straggler", fmt::format("\"{}\" is not RANK:FACTOR such as 3:1.2 (rank 3 "
                                                "takes 1.2 times as long; factors from {} to {})",
                                                text, kLeast, kMost));
  return {*rank, *slowdown};
}

/// Parses "2%" to 0.02.
double parse_share(const char* option, const std::string& text) {
  const bool percent = text.ends_with('%');
  const auto value = percent
                         ? parse_number<double>(std::string_view(text).substr(0, text.size() - 1))
                         : std::nullopt;
  if (!value || !(*value >= 0 && *value < 100))
    throw UsageError(option,
                     fmt::format("\"{}\" is not a share of the compute time such as 2%", text));
  return *value / 100;
}

Duration parse_stagger(const std::string& text) {
  const Parsed<Duration> parsed = parse_duration(text);
  if (!parsed.value) throw UsageError("--stagger", parsed.problem);
  if (*parsed.value < Duration()) throw UsageError("--stagger", "must not be negative");
  return *parsed.value;
}

}  // namespace

void add_variation_options(CLI::App& command, VariationArguments& arguments) {
  const HelpGroup group(command, kVariationGroup);
  repeatable(command.add_option(
                 "--straggler", arguments.stragglers,
                 "Make one rank compute this many times as long, such as 3:1.2; repeatable"))
      ->type_name("RANK:FACTOR");
  command
      .add_option(
          "--jitter", arguments.jitter,
          "With --iterations, vary each rank's compute time from step to step by this much, "
          "such as 2%")
      ->type_name("PERCENT");
  command
      .add_option("--stagger", arguments.stagger,
                  "With --iterations, start the last rank this much after the first, such as 5ms")
      ->type_name("TIME");
  command
      .add_option("--gpu-spread", arguments.gpu_spread,
                  "Set the standard deviation of speed among GPUs of one model (default: 0.7% to "
                  "1.5%, by model)")
      ->type_name("PERCENT");
  command
      .add_option("--rank-slowdown", arguments.rank_slowdown,
                  "Set how much longer compute takes on one of several GPUs than on one alone "
                  "(default: --gpu-spread and the multi-GPU overhead)")
      ->type_name("PERCENT");
  const auto not_a_seed = [](const std::string& text) {
    if (parse_number<std::uint64_t>(text)) return std::string();
    return fmt::format("\"{}\" is not a whole number from 0 to {}", text,
                       std::numeric_limits<std::uint64_t>::max());
  };
  command
      .add_option("--seed", arguments.seed,
                  fmt::format("Set the random seed of --jitter (default: {})", arguments.seed))
      ->check(CLI::Validator(not_a_seed, ""));
}

void hide_run_options(CLI::App& command) {
  for (const char* name : {"--jitter", "--stagger"}) command.get_option(name)->group("");
  command.remove_option(command.get_option("--seed"));
}

VariationRequest variation_request(const VariationArguments& arguments) {
  VariationRequest request;
  RankVariation& ranks = request.ranks;
  for (const std::string& text : arguments.stragglers) {
    const Straggler straggler = parse_straggler(text);
    for (const Straggler& other : ranks.stragglers)
      if (other.rank == straggler.rank)
        throw UsageError("--straggler", fmt::format("rank {} is given twice", other.rank));
    ranks.stragglers.push_back(straggler);
  }
  if (arguments.jitter) ranks.jitter = parse_share("--jitter", *arguments.jitter);
  if (arguments.stagger) ranks.stagger = parse_stagger(*arguments.stagger);
  ranks.seed = arguments.seed;
  if (arguments.rank_slowdown)
    request.rank_slowdown = parse_share("--rank-slowdown", *arguments.rank_slowdown);
  if (arguments.gpu_spread) request.gpu_spread = parse_share("--gpu-spread", *arguments.gpu_spread);
  return request;
}

}  // namespace ddpsim
