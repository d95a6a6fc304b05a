// Reads the text that nccl-tests and rccl-tests print, with anything between its lines.
#pragma once

#include <string>
#include <string_view>

#include "raw_log.hpp"

namespace ddpsim {

RawLog scan_nccl_tests_text(std::string_view text, const std::string& file);

}  // namespace ddpsim
