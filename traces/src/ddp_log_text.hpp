// DDP logging data in printed form: print(data) and pprint(data) of Python's dict, JSON with text
// in front, and C++ output with one "key: value" per line (torch/csrc/distributed/c10d/logger.hpp).
#pragma once

#include <string>
#include <string_view>

namespace ddpsim {

/// Whether the text holds keys that occur only in DDP logging data, in a form other than plain
/// JSON.
bool holds_printed_ddp_log(std::string_view text);

/// Whether printed DDP logging data begins the text. Only words on its own first line may precede
/// it.
bool begins_with_ddp_log(std::string_view text);

struct PrintedDdpLog {
  std::string json;      ///< the same as a JSON object
  std::size_t line = 1;  ///< line where it begins
  /// Number of printouts in the text. The last one is used.
  std::size_t number = 1;
};

/// Throws InputError with the line, if the printout is cut off or mixes several ranks.
PrintedDdpLog read_printed_ddp_log(std::string_view text, const std::string& file);

}  // namespace ddpsim
