#include "ddpsim/sim/timeline.hpp"

namespace ddpsim {

std::string_view name_of(Track track) {
  switch (track) {
    case Track::host:
      return "host";
    case Track::compute:
      return "compute";
    case Track::communication:
      return "communication";
  }
  return "";
}

}  // namespace ddpsim
