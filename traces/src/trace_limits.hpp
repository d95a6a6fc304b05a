// Thrown if a trace exceeds what the compact records can hold. The reader adds file and place.
#pragma once

#include <stdexcept>

namespace ddpsim {

class TraceLimit : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace ddpsim
