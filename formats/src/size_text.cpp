#include "ddpsim/formats/size_text.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>

namespace ddpsim {

std::string size_text(Bytes size) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::int64_t count = size.count();
  std::size_t unit = 0;
  while (count != 0 && count % 1024 == 0 && unit + 1 < kUnits.size()) {
    count /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", count, kUnits[unit]);
}

}  // namespace ddpsim
