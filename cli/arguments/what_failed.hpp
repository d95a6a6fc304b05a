#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include "ddpsim/formats/hint.hpp"

namespace ddpsim {

/// The reason of a failure that no input explains, in words for a user.
inline Complaint what_failed(const std::exception& error) {
  const bool no_memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
                         dynamic_cast<const std::length_error*>(&error) != nullptr;
  if (no_memory)
    return {"memory ran out", "Ask for less at once, or run it where there is more memory"};
  return {error.what()};
}

}  // namespace ddpsim
