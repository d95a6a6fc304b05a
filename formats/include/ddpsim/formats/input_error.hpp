// Bad input gets one message: file, place, what is wrong, what would be right.
#pragma once

#include <stdexcept>
#include <string>

#include "ddpsim/formats/hint.hpp"

namespace ddpsim {

struct Diagnostic {
  std::string file;  ///< path as the user gave it, "command line", or "" when unknown
  std::string
      where;  ///< JSON pointer "/backward/ready/3/at_us", "line 7", "byte 812"; may be empty
  std::string message;  ///< what is wrong
  Hint hint = {};       ///< what would be right
};

/// "file:where: message. hint", on one line: what cannot be shown (quote.hpp) is replaced.
std::string to_string(const Diagnostic& diagnostic);

/// Thrown by readers, caught by the command line only (exit code 3).
class InputError : public std::runtime_error {
 public:
  explicit InputError(Diagnostic diagnostic)
      : std::runtime_error(to_string(diagnostic)), diagnostic_(std::move(diagnostic)) {}
  const Diagnostic& diagnostic() const { return diagnostic_; }

 private:
  Diagnostic diagnostic_;
};

}  // namespace ddpsim
