#include "ddpsim/sim/values/price.hpp"

namespace ddpsim {

std::string_view name_of(Price::Per per) {
  switch (per) {
    case Price::Per::node_hour:
      return "node_hour";
    case Price::Per::gpu_hour:
      return "gpu_hour";
    case Price::Per::node:
      return "node";
  }
  return "";
}

}  // namespace ddpsim
