#include "ddpsim/sim/values/data_loader.hpp"

#include <array>
#include <cstddef>

namespace ddpsim {

std::string_view name_of(SupplyCause cause) {
  constexpr std::array<std::string_view, 7> kNames = {"none",       "workers", "cores",   "storage",
                                                      "pin_memory", "copy",    "recorded"};
  return kNames.at(static_cast<std::size_t>(cause));
}

}  // namespace ddpsim
