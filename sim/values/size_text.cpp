#include "ddpsim/sim/values/size_text.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace ddpsim {
namespace {

constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};

}  // namespace

std::string size_text(Bytes size) {
  std::int64_t count = size.count();
  std::size_t unit = 0;
  while (count != 0 && count % 1024 == 0 && unit + 1 < kUnits.size()) {
    count /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", count, kUnits[unit]);
}

std::string rounded_size_text(Bytes size) {
  auto count = static_cast<double>(size.count());
  std::size_t unit = 0;
  while (count >= 1024 && unit + 1 < kUnits.size()) {
    count /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}g} {}", count, count < 999.5 ? 3 : 4, kUnits[unit]);
}

}  // namespace ddpsim
