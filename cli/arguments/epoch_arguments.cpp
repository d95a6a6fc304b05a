#include "epoch_arguments.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "ddp_arguments.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "help_group.hpp"
#include "option_keys.hpp"
#include "scheme_arguments.hpp"
#include "word_option.hpp"

namespace ddpsim {
namespace {

constexpr const char* kUneven = "--uneven-inputs";
constexpr std::int64_t kMostInputs = 1'000'000'000;

std::optional<std::int64_t> inputs_of(std::string_view text) {
  const auto count = parse_number<std::int64_t>(text);
  return count && *count >= 0 && *count <= kMostInputs ? count : std::nullopt;
}

struct Inputs {
  std::vector<std::int64_t> listed;  ///< by rank
  std::optional<std::pair<std::int64_t, std::int64_t>> spread;
};

std::string take_inputs(const std::string& value, Inputs& inputs) {
  const auto wrong = [&] {
    return fmt::format(
        "{} is neither a number of batches for each rank, 10+9+10+8, nor from which to which, "
        "90..100 (up to {})",
        in_quotes(value), kMostInputs);
  };
  if (const std::size_t dots = value.find(".."); dots != std::string::npos) {
    const auto least = inputs_of(std::string_view(value).substr(0, dots));
    const auto most = inputs_of(std::string_view(value).substr(dots + 2));
    if (!least || !most || *least > *most) return wrong();
    inputs.spread = {*least, *most};
    return "";
  }
  for (std::size_t begin = 0; begin <= value.size();) {
    const std::size_t end = std::min(value.find('+', begin), value.size());
    const auto count = inputs_of(std::string_view(value).substr(begin, end - begin));
    if (!count) return wrong();
    inputs.listed.push_back(*count);
    begin = end + 1;
  }
  return "";
}

/// Evenly from the least to the most, rank by rank.
std::vector<std::int64_t> spread_over(std::pair<std::int64_t, std::int64_t> range, int ranks) {
  std::vector<std::int64_t> inputs;
  for (int rank = 0; rank < ranks; ++rank)
    inputs.push_back(range.first + (range.second - range.first) * rank / std::max(ranks - 1, 1));
  if (ranks == 1) inputs.front() = range.second;
  return inputs;
}

struct UnevenWords {
  Inputs inputs;
  UnevenInputs uneven;
};

UnevenWords read_words(const std::string& text) {
  UnevenWords parsed;
  const OptionKey inputs{
      "inputs", [&](const std::string& value) { return take_inputs(value, parsed.inputs); }};
  const std::vector<std::string> given = take_keys(
      kUneven, text,
      {inputs, flag_key("divide_by_initial_world_size", parsed.uneven.divide_by_initial_world_size),
       flag_key("throw_on_early_termination", parsed.uneven.throw_on_early_termination)});
  if (std::ranges::find(given, "inputs") == given.end())
    throw UsageError(
        fmt::format("{}: inputs is missing: how many batches ranks have, as in inputs=10+9+10+8 or "
                    "inputs=90..100",
                    kUneven));
  return parsed;
}

}  // namespace

void add_epoch_options(CLI::App& command, EpochArguments& arguments) {
  const HelpGroup group(command, kRecordingGroup);
  command
      .add_option("--dataset-size", arguments.dataset_size,
                  "samples of an epoch, dealt out by DistributedSampler: its steps, what repeats, "
                  "the batch at its end, its time")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000'000}));
  add_word_option<DropLast>(command, "--drop-last", arguments.drop_last,
                            {{"none", DropLast::none},
                             {"sampler", DropLast::sampler},
                             {"loader", DropLast::loader},
                             {"both", DropLast::both}},
                            "of --dataset-size, whose drop_last=True: DistributedSampler's, "
                            "DataLoader's, both (default: none)");
  command
      .add_option(kUneven, arguments.uneven_inputs,
                  "ranks with different numbers of batches, within DDP's join(): inputs=10+9+10+8 "
                  "or inputs=90..100, divide_by_initial_world_size, throw_on_early_termination")
      ->type_name("KEY=VALUE,…");
}

void require_of_epoch(const EpochArguments& arguments, const DdpArguments& ddp,
                      const std::optional<std::string>& scheme) {
  if (arguments.drop_last != DropLast::none && !arguments.dataset_size)
    throw UsageError("--drop-last: it is of a data set; add --dataset-size");
  if (!arguments.uneven_inputs) return;
  read_words(*arguments.uneven_inputs);
  if (arguments.dataset_size)
    throw UsageError(
        "--uneven-inputs: of --dataset-size DistributedSampler gives every rank as many; leave one "
        "out");
  const std::array<std::pair<const char*, bool>, 5> not_joined = {{
      {"--sync-batchnorm", ddp.sync_batchnorm},
      {"--static-graph", ddp.static_graph},
      {"--process-groups", ddp.process_groups > 1},
      {"--comm-hook powersgd", ddp.comm_hook == CommHook::power_sgd},
      {"--comm-hook post_localSGD", ddp.comm_hook == CommHook::post_local_sgd},
  }};
  for (const auto& [option, given] : not_joined)
    if (given)
      throw UsageError(
          fmt::format("{}: a rank without inputs does not shadow what {} sends; leave one out",
                      kUneven, option));
  if (scheme && !std::holds_alternative<Ddp>(parse_scheme(*scheme)))
    throw UsageError(
        fmt::format("{}: it is DistributedDataParallel's join(), and --scheme {} is not simulated "
                    "with it; leave one out",
                    kUneven, name_of(parse_scheme(*scheme))));
}

std::optional<DataSet> data_set(const EpochArguments& arguments, const std::string& workload_source,
                                const Workload& workload) {
  if (!arguments.dataset_size) return std::nullopt;
  if (!workload.batch_per_gpu)
    throw InputError({.file = workload_source,
                      .where = "/batch_per_gpu",
                      .message = "--dataset-size: nothing says how many samples a batch has",
                      .hint = "Add batch_per_gpu to the workload, or leave the option out"});
  const DropLast drop = arguments.drop_last;
  return DataSet{.size = *arguments.dataset_size,
                 .sampler_drop_last = drop == DropLast::sampler || drop == DropLast::both,
                 .loader_drop_last = drop == DropLast::loader || drop == DropLast::both};
}

UnevenInputs parse_uneven_inputs(const std::string& text, int ranks) {
  UnevenWords parsed = read_words(text);
  std::vector<std::int64_t> inputs = parsed.inputs.spread
                                         ? spread_over(*parsed.inputs.spread, ranks)
                                         : std::move(parsed.inputs.listed);
  if (inputs.size() != static_cast<std::size_t>(ranks))
    throw UsageError(fmt::format("{}: inputs names {} ranks, and the cluster has {}", kUneven,
                                 inputs.size(), ranks));
  parsed.uneven.least = *std::ranges::min_element(inputs);
  parsed.uneven.most = *std::ranges::max_element(inputs);
  parsed.uneven.total = 0;
  for (const std::int64_t count : inputs) parsed.uneven.total += count;
  return parsed.uneven;
}

}  // namespace ddpsim
