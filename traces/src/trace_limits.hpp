// Thrown where a trace leaves what the compact records can hold; the reader adds file and place.
#pragma once

#include <stdexcept>

namespace ddpsim {

class TraceLimit : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace ddpsim
