// Arguments in the wrong place: a cluster before its workload, or a workload in place of a log. They are looked for only after a
// command has failed.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ddpsim/formats/hint.hpp"

namespace CLI {
class App;
}

namespace ddpsim {

struct Misplaced {
  /// Says which argument is in the wrong place, and the command that was meant.
  Complaint complaint;
  /// Whether two arguments were swapped, which is a usage error.
  bool swapped = false;
};

/// Returns the misplaced argument of a parsed `command`, if any. `line` has all words of the command line, the program's name
/// first. `complaint` is the error of the command: a single argument that it does not name is not blamed.
std::optional<Misplaced> find_misplaced(const CLI::App& command, std::span<char* const> line,
                                        std::string_view complaint);

}  // namespace ddpsim
