#include "memory_arguments.hpp"

#include <CLI/CLI.hpp>
#include <utility>
#include <vector>

#include "ddpsim/formats/quantity.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "help_group.hpp"
#include "word_option.hpp"

namespace ddpsim {
void add_memory_options(CLI::App& command, MemoryArguments& arguments) {
  const HelpGroup group(command, kMemoryGroup);
  std::vector<std::pair<std::string, std::optional<Optimizer>>> optimizers;
  for (const Optimizer optimizer : kOptimizers)
    optimizers.emplace_back(word_of(optimizer), optimizer);
  add_word_option(command, "--optimizer", arguments.optimizer, std::move(optimizers),
                  "Count this optimizer's state as memory; its time stays as recorded or estimated "
                  "(default: momentum for image models, adam for others)");
  command.add_flag("--master-weights", arguments.master_weights,
                   "Keep fp32 copies of half-precision parameters, as apex O2 and Megatron do");
  command
      .add_option("--memory", arguments.limit,
                  "Refuse a job that needs more memory per GPU than this, such as 40GB (default: "
                  "what the cluster's GPU has)")
      ->type_name("SIZE");
}

MemoryRequest memory_request(const MemoryArguments& arguments) {
  MemoryRequest request{
      .optimizer = arguments.optimizer, .master_weights = arguments.master_weights, .limit = {}};
  if (!arguments.limit) return request;
  const Parsed<Bytes> parsed = parse_bytes(*arguments.limit);
  if (!parsed.value) throw UsageError("--memory", parsed.problem);
  request.limit = parsed.value;
  return request;
}

}  // namespace ddpsim
