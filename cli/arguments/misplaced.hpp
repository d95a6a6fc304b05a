// Arguments that stand where another kind belongs: a cluster first and the workload second, a workload where a
// log is read. Asked only once a command has failed.
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
  Complaint complaint;   ///< what stands where, and the command as it was meant
  bool swapped = false;  ///< two of them, the other way round: a usage error
};

/// `command`: as parsed. `line`: all words of it, the program's name first. `complaint`: with what it
/// failed; a single argument that it does not name is not to blame.
std::optional<Misplaced> find_misplaced(const CLI::App& command, std::span<char* const> line,
                                        std::string_view complaint);

}  // namespace ddpsim
