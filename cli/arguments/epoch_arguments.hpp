// The inputs of an epoch: --dataset-size and --drop-last, or --uneven-inputs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ddpsim/jobs/job_request.hpp"

namespace CLI {
class App;
}

namespace ddpsim {

enum class DropLast { none, sampler, loader, both };

struct EpochArguments {
  std::optional<std::int64_t> dataset_size;
  DropLast drop_last = DropLast::none;
  std::optional<std::string> uneven_inputs;
};

void add_epoch_options(CLI::App& command, EpochArguments& arguments);

/// Sets the data set or the uneven inputs of `request`, if given. Throws UsageError.
void set_epoch(const EpochArguments& arguments, DataRequest& request);

}  // namespace ddpsim
