// Rows of comma-separated tables, fields quoted as RFC 4180 says, lines ended by a single newline.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ddpsim {

std::string csv_field(std::string_view field);
std::string csv_row(std::span<const std::string> fields);

}  // namespace ddpsim
