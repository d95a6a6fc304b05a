// Files compiled into the program (bundled workloads and clusters); see cmake/Embed.cmake.
#pragma once

#include <span>
#include <string_view>

namespace ddpsim {

struct EmbeddedFile {
  std::string_view name;  ///< without folder and extension
  std::string_view text;
};

}  // namespace ddpsim
