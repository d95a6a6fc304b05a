// An error in the user's input: the file, the place, what is wrong and what would be right.
#pragma once

#include <stdexcept>
#include <string>

#include "ddpsim/formats/hint.hpp"

namespace ddpsim {

struct Diagnostic {
  /// Path as the user gave it, "command line", or "" if unknown.
  std::string file;
  /// JSON pointer "/backward/ready/3/at_us", "line 7", "byte 812"; may be empty.
  std::string where;
  std::string message;  ///< what is wrong
  Hint hint = {};       ///< what would be right
};

/// "file:where: message. hint" on one line. Characters that cannot be shown (quote.hpp) are
/// replaced.
std::string to_string(const Diagnostic& diagnostic);

/// Thrown by readers. Only the command line catches it (exit code 3).
class InputError : public std::runtime_error {
 public:
  explicit InputError(Diagnostic diagnostic)
      : std::runtime_error(to_string(diagnostic)), diagnostic_(std::move(diagnostic)) {}
  const Diagnostic& diagnostic() const { return diagnostic_; }

 private:
  Diagnostic diagnostic_;
};

}  // namespace ddpsim
