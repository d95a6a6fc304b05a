// DDP logging data as people print them: print(data) and pprint(data) of Python's dict, JSON with something in front, and what
// C++ prints of them, a "key: value" a line (torch/csrc/distributed/c10d/logger.hpp).
#pragma once

#include <string>
#include <string_view>

namespace ddpsim {

/// Whether the text holds keys that only DDP's logging data have, in a form that is not plain JSON.
bool holds_printed_ddp_log(std::string_view text);

/// Of those the beginning is one: nothing but the words of its own line stands in front.
bool begins_with_ddp_log(std::string_view text);

struct PrintedDdpLog {
  std::string json;        ///< the same as a JSON object
  std::size_t line = 1;    ///< where it begins
  std::size_t number = 1;  ///< of printouts in the text; the last one is taken
};

/// Throws InputError naming the line: what is printed is cut off, or is of several ranks.
PrintedDdpLog read_printed_ddp_log(std::string_view text, const std::string& file);

}  // namespace ddpsim
