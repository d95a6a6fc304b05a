// An epoch's inputs: --dataset-size and --drop-last, or --uneven-inputs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ddpsim/sim/values/data_set.hpp"
#include "ddpsim/sim/values/uneven_inputs.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace CLI {
class App;
}

namespace ddpsim {

struct DdpArguments;

enum class DropLast { none, sampler, loader, both };

struct EpochArguments {
  std::optional<std::int64_t> dataset_size;
  DropLast drop_last = DropLast::none;
  std::optional<std::string> uneven_inputs;
};

void add_epoch_options(CLI::App& command, EpochArguments& arguments);

/// Throws UsageError where they do not go together, or with what DDP is asked for.
void require_of_epoch(const EpochArguments& arguments, const DdpArguments& ddp,
                      const std::optional<std::string>& scheme);

/// Throws InputError where the workload does not say its batch.
std::optional<DataSet> data_set(const EpochArguments& arguments, const std::string& workload_source,
                                const Workload& workload);

/// "inputs=10+9+8+10,divide_by_initial_world_size=false", "inputs=90..100". Throws UsageError.
UnevenInputs parse_uneven_inputs(const std::string& text, int ranks);

}  // namespace ddpsim
