#include "epoch_arguments.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "help_group.hpp"
#include "option_keys.hpp"
#include "word_option.hpp"

namespace ddpsim {
namespace {

constexpr const char* kUneven = "--uneven-inputs";
constexpr std::int64_t kMostInputs = 1'000'000'000;

std::optional<std::int64_t> inputs_of(std::string_view text) {
  const auto count = parse_number<std::int64_t>(text);
  return count && *count >= 0 && *count <= kMostInputs ? count : std::nullopt;
}

RankInputs inputs_by_rank(const std::string& value) {
  const auto wrong = [&] {
    return WrongValue(
        fmt::format("{} is neither the batches of each rank, such as 10+9+10+8, nor a range, such "
                    "as 90..100 (at most {})",
                    in_quotes(value), kMostInputs));
  };
  if (const std::size_t dots = value.find(".."); dots != std::string::npos) {
    const auto least = inputs_of(std::string_view(value).substr(0, dots));
    const auto most = inputs_of(std::string_view(value).substr(dots + 2));
    if (!least || !most || *least > *most) throw wrong();
    return std::pair(*least, *most);
  }
  std::vector<std::int64_t> listed;
  for (std::size_t begin = 0; begin <= value.size();) {
    const std::size_t end = std::min(value.find('+', begin), value.size());
    const auto count = inputs_of(std::string_view(value).substr(begin, end - begin));
    if (!count) throw wrong();
    listed.push_back(*count);
    begin = end + 1;
  }
  return listed;
}

/// Parses "inputs=10+9+8+10,divide_by_initial_world_size=false" or "inputs=90..100". Throws UsageError.
UnevenRequest parse_uneven(const std::string& text) {
  UnevenRequest parsed;
  const OptionKey inputs{"inputs",
                         [&](const std::string& value) { parsed.inputs = inputs_by_rank(value); }};
  const std::vector<std::string> given = take_keys(
      kUneven, text,
      {inputs, flag_key("divide_by_initial_world_size", parsed.divide_by_initial_world_size),
       flag_key("throw_on_early_termination", parsed.throw_on_early_termination)});
  if (std::ranges::find(given, "inputs") == given.end())
    throw UsageError(kUneven,
                     "inputs is missing; state the batches of each rank, such as inputs=10+9+10+8 "
                     "or inputs=90..100");
  return parsed;
}

}  // namespace

void add_epoch_options(CLI::App& command, EpochArguments& arguments) {
  const HelpGroup group(command, kRecordingGroup);
  command
      .add_option("--dataset-size", arguments.dataset_size,
                  "Simulate an epoch of this many samples, dealt out by DistributedSampler: steps, "
                  "repeated samples, last batch, time")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000'000}));
  add_word_option<DropLast>(
      command, "--drop-last", arguments.drop_last,
      {{"none", DropLast::none},
       {"sampler", DropLast::sampler},
       {"loader", DropLast::loader},
       {"both", DropLast::both}},
      "With --dataset-size, set drop_last=True of the DistributedSampler, the "
      "DataLoader or both (default: none)");
  command
      .add_option(kUneven, arguments.uneven_inputs,
                  "Give ranks different numbers of batches under DDP's join(): inputs=10+9+10+8 or "
                  "inputs=90..100 (docs/reference/data_loading.md has more keys)")
      ->type_name("KEY=VALUE,…");
}

void set_epoch(const EpochArguments& arguments, DataRequest& request) {
  const DropLast drop = arguments.drop_last;
  if (drop != DropLast::none && !arguments.dataset_size)
    throw UsageError("--drop-last", "this option needs the size of the data set",
                     "Add --dataset-size");
  if (arguments.dataset_size)
    request.set = DataSet{.size = *arguments.dataset_size,
                          .sampler_drop_last = drop == DropLast::sampler || drop == DropLast::both,
                          .loader_drop_last = drop == DropLast::loader || drop == DropLast::both};
  if (arguments.uneven_inputs) request.uneven = parse_uneven(*arguments.uneven_inputs);
}

}  // namespace ddpsim
