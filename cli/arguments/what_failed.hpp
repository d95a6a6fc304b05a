#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include "ddpsim/formats/hint.hpp"

namespace ddpsim {

/// Explains a failure that is not the fault of an input.
inline Complaint what_failed(const std::exception& error) {
  const bool no_memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
                         dynamic_cast<const std::length_error*>(&error) != nullptr;
  if (no_memory)
    return {"memory ran out", "Ask for less at once, or use a machine with more memory"};
  return {error.what()};
}

}  // namespace ddpsim
