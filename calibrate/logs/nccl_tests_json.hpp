// Reads what nccl-tests writes with -J FILE (2.17 and later).
#pragma once

#include <string>
#include <string_view>

#include "raw_log.hpp"

namespace ddpsim {

RawLog scan_nccl_tests_json(std::string_view text, const std::string& file);

}  // namespace ddpsim
