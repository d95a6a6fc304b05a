#include "ddpsim/sim/values/data_parallel.hpp"

namespace ddpsim {

SchemeFacts DataParallel::facts() const {
  return {.runs_reducer = false,
          .unknown = kUnknownOfPyTorch,
          .allows_unused = false,
          .one_at_a_time = false,
          .by_servers = false,
          .has_settings = false};
}

std::vector<SchemeOption> DataParallel::options() {
  return {megabytes_option("input_mb", inputs, 0), megabytes_option("output_mb", outputs, 0)};
}

}  // namespace ddpsim
