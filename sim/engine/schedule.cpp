#include "ddpsim/sim/schedule.hpp"

namespace ddpsim {

std::string_view name_of(Purpose purpose) {
  switch (purpose) {
    case Purpose::forward:
      return "forward";
    case Purpose::buffer_copy:
      return "buffer copies";
    case Purpose::buffer_broadcast:
      return "buffer broadcast";
    case Purpose::rebuild:
      return "rebuild buckets";
    case Purpose::backward:
      return "backward";
    case Purpose::copy_in:
      return "copy into bucket";
    case Purpose::hook:
      return "gradient hooks";
    case Purpose::launch:
      return "launch";
    case Purpose::search_unused:
      return "search unused parameters";
    case Purpose::all_reduce:
      return "all_reduce";
    case Purpose::local_used_map:
      return "local-used map";
    case Purpose::copy_out:
      return "copy out of bucket";
    case Purpose::optimizer:
      return "optimizer";
  }
  return "";
}

}  // namespace ddpsim
