// The verdict of a page.
#pragma once

#include <string>

namespace ddpsim {

inline std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace ddpsim
