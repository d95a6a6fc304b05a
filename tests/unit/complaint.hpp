// What is said of bad input.
#pragma once

#include <string>

#include "ddpsim/formats/input_error.hpp"

namespace ddpsim {

/// The message with which a reader ends; empty where it does not.
template <typename Read>
std::string complaint_of(Read read) {
  try {
    read();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace ddpsim
