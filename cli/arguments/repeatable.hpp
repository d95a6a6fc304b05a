// An option that may be given several times, with one value each.
#pragma once

#include <CLI/CLI.hpp>

namespace ddpsim {

/// Without allow_extra_args(false), CLI11 would take words behind the value as further values: a misplaced argument would name one more
/// file to write.
inline CLI::Option* repeatable(CLI::Option* option) {
  return option->expected(1)->take_all()->allow_extra_args(false);
}

}  // namespace ddpsim
