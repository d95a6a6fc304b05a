#pragma once

#include <stdexcept>
#include <string>

namespace ddpsim {

/// The command line does not make sense; exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace ddpsim
