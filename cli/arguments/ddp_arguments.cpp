#include "ddp_arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cmath>

#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/formats/words.hpp"
#include "help_group.hpp"
#include "word_option.hpp"

namespace ddpsim {
namespace {

double mib_number(std::string_view text, const std::string& option) {
  const auto value = parse_number<double>(text);
  if (!value || !std::isfinite(*value) || *value < 0)
    throw UsageError(
        option,
        fmt::format(
            "\"{}\" is not a number of MiB; expected 0 or more, as for PyTorch's bucket_cap_mb",
            text));
  return *value;
}

constexpr int kMostRanksOfGroup = 10'000'000;
constexpr int kLongestPeriod = 1'000'000;
// Higher ranks compress too little to be used.
constexpr int kHighestRank = 1024;

PowerSgd power_sgd(const DdpArguments& arguments) {
  const bool given = arguments.matrix_approximation_rank || arguments.min_compression_rate;
  if (given && arguments.comm_hook != CommHook::power_sgd)
    throw UsageError(
        "--matrix-approximation-rank and --min-compression-rate are options of powerSGD_hook; add "
        "--comm-hook powersgd");
  if (arguments.min_compression_rate && !std::isfinite(*arguments.min_compression_rate))
    throw UsageError("--min-compression-rate", "expected a finite number (default: 2)");
  const PowerSgd standard;
  return {.matrix_approximation_rank =
              arguments.matrix_approximation_rank.value_or(standard.matrix_approximation_rank),
          .min_compression_rate =
              arguments.min_compression_rate.value_or(standard.min_compression_rate)};
}

LocalSgd local_sgd(const DdpArguments& arguments) {
  const bool given = arguments.local_sgd_period || arguments.local_sgd_gradients;
  if (given && arguments.comm_hook != CommHook::post_local_sgd)
    throw UsageError(
        "--local-sgd-period and --local-sgd-gradients are options of post_localSGD_hook; add "
        "--comm-hook post_localSGD");
  const LocalSgd standard;
  return {
      .period = arguments.local_sgd_period.value_or(standard.period),
      .averages_gradients = arguments.local_sgd_gradients.value_or(standard.averages_gradients)};
}

}  // namespace

void add_bucket_options(CLI::App& command, DdpArguments& arguments) {
  const HelpGroup group(command, kDdpGroup);
  common(command.add_option("--bucket-cap-mb", arguments.bucket_cap_mb,
                            "Set bucket_cap_mb (default: PyTorch's own, which is not the same as "
                            "passing 25)"))
      ->type_name("MIB");
  command
      .add_option("--first-bucket-mb", arguments.first_bucket_mb,
                  "Set torch.distributed._DEFAULT_FIRST_BUCKET_BYTES (PyTorch 1.10 and later)")
      ->type_name("MIB");
  command
      .add_option("--bucket-cap-mb-list", arguments.bucket_cap_mb_list,
                  "Set one cap per bucket; the last one repeats (PyTorch 2.11 and later)")
      ->type_name("MIB,…");
  common(command.add_option("--torch", arguments.torch,
                            fmt::format("Use this PyTorch (default: as recorded, else {})",
                                        to_string(kAssumedTorch))))
      ->type_name("VERSION");
  command.add_flag("--find-unused-parameters", arguments.find_unused_parameters,
                   "Set find_unused_parameters=True");
  command.add_flag("--static-graph", arguments.static_graph,
                   "Set static_graph=True (PyTorch 1.9 and later)");
}

void add_step_options(CLI::App& command, DdpArguments& arguments) {
  const HelpGroup group(command, kDdpGroup);
  command.add_flag("--gradient-as-bucket-view", arguments.gradient_as_bucket_view,
                   "Set gradient_as_bucket_view=True (PyTorch 1.7 and later)");
  command.add_flag("--no-broadcast-buffers", arguments.no_broadcast_buffers,
                   "Set broadcast_buffers=False");
  command
      .add_option("--process-groups", arguments.process_groups,
                  fmt::format("Use this many round-robin process groups, each with one collective "
                              "in flight (up to PyTorch 1.13, default: {})",
                              arguments.process_groups))
      ->check(CLI::Range(1, 64));
  std::vector<std::pair<std::string, CommHook>> hooks;
  for (const CommHook hook : comm_hooks()) hooks.emplace_back(word_of(hook), hook);
  common(add_word_option(command, "--comm-hook", arguments.comm_hook, std::move(hooks),
                         "Use this communication hook (default: none)"));
  command
      .add_option("--comm-hook-min-mb", arguments.comm_hook_min_mb,
                  "Compress only buckets of at least this size, by a hook of your own around fp16 "
                  "or bf16 (docs/reference/formats.md)")
      ->type_name("MIB");
  const PowerSgd standard;
  command
      .add_option(
          "--matrix-approximation-rank", arguments.matrix_approximation_rank,
          fmt::format("Set powerSGD_hook's matrix_approximation_rank; the step is one after "
                      "start_powerSGD_iter (default: {})",
                      standard.matrix_approximation_rank))
      ->check(CLI::Range(1, kHighestRank));
  command
      .add_option(
          "--min-compression-rate", arguments.min_compression_rate,
          fmt::format("With powerSGD_hook, compress a matrix only if that makes it at least "
                      "this many times smaller (default: {})",
                      standard.min_compression_rate))
      ->check(CLI::PositiveNumber);
  command
      .add_option("--local-sgd-period", arguments.local_sgd_period,
                  fmt::format("With post_localSGD_hook, average all parameters every this many "
                              "steps after start_localSGD_iter (default: {})",
                              LocalSgd().period))
      ->check(CLI::Range(1, kLongestPeriod));
  add_word_option(command, "--local-sgd-gradients", arguments.local_sgd_gradients,
                  {{"node", true}, {"none", false}},
                  "With post_localSGD_hook, all-reduce gradients within each node or not at all "
                  "(default: node; none needs PyTorch 1.12)");
  command.add_flag("--apply-optimizer-in-backward", arguments.optimizer_in_backward,
                   "Update each bucket's parameters once it is reduced "
                   "(_apply_optimizer_in_backward, PyTorch 2.0 and later)");
  command.add_flag("--sync-batchnorm", arguments.sync_batchnorm,
                   "Replace every BatchNorm by SyncBatchNorm over DDP's process group (PyTorch 1.1 "
                   "and later)");
  command
      .add_option("--sync-batchnorm-group", arguments.sync_batchnorm_group,
                  "With --sync-batchnorm, synchronize within process groups of this many ranks, in "
                  "whole nodes (default: all ranks)")
      ->check(CLI::Range(1, kMostRanksOfGroup));
  common(
      command.add_option("--accumulate", arguments.accumulate,
                         "Run this many micro-batches per step, all but the last under no_sync() "
                         "(default: as recorded, else 1)"))
      ->check(CLI::Range(1, 100000));
}

std::vector<double> mib_list(const std::string& text, const std::string& option) {
  std::vector<double> values;
  for (const std::string_view item : split(text, ',')) values.push_back(mib_number(item, option));
  return values;
}

std::optional<TorchVersion> stated_torch(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  const std::optional<TorchVersion> torch = parse_torch_version(*text);
  if (!torch)
    throw UsageError("--torch", fmt::format("\"{}\" is not a version such as 2.8", *text));
  if (const std::string problem = never_released_torch(*text); !problem.empty())
    throw UsageError("--torch", problem);
  return torch;
}

DdpOptions ddp_options(const DdpArguments& arguments) {
  DdpOptions options;
  if (arguments.bucket_cap_mb)
    options.bucket_cap_mb = mib_number(*arguments.bucket_cap_mb, "--bucket-cap-mb");
  if (arguments.first_bucket_mb)
    options.first_bucket_mb = mib_number(*arguments.first_bucket_mb, "--first-bucket-mb");
  if (arguments.bucket_cap_mb_list)
    options.bucket_cap_mb_list = mib_list(*arguments.bucket_cap_mb_list, "--bucket-cap-mb-list");
  options.find_unused_parameters = arguments.find_unused_parameters;
  options.static_graph = arguments.static_graph;
  options.gradient_as_bucket_view = arguments.gradient_as_bucket_view;
  options.broadcast_buffers = !arguments.no_broadcast_buffers;
  options.process_groups = arguments.process_groups;
  options.comm_hook = arguments.comm_hook;
  if (arguments.comm_hook_min_mb)
    options.comm_hook_min_mb = mib_number(*arguments.comm_hook_min_mb, "--comm-hook-min-mb");
  options.power_sgd = power_sgd(arguments);
  options.local_sgd = local_sgd(arguments);
  options.optimizer_in_backward = arguments.optimizer_in_backward;
  options.sync_batchnorm = arguments.sync_batchnorm;
  options.sync_batchnorm_group = arguments.sync_batchnorm_group;
  return options;
}

}  // namespace ddpsim
