// DDP logging data: what DistributedDataParallel records about itself, written to a file by the
// training script:
//
//   json.dump(ddp_model._get_ddp_logging_data(), open("ddp-log.json", "w"))
//
// It holds the true ready order, the buckets as built and rebuilt, the cap, and forward and
// backward times in nanoseconds. It holds neither shapes nor the time when each gradient was ready.
#pragma once

#include <string>
#include <string_view>

#include "ddpsim/traces/import.hpp"

namespace ddpsim {

/// Throws InputError.
Imported parse_ddp_log(std::string_view text, const std::string& file,
                       const ImportOptions& options);

}  // namespace ddpsim
