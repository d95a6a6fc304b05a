#include "ddpsim/sim/values/bucket.hpp"

namespace ddpsim {

std::string_view name_of(ClosedBy closed_by) {
  switch (closed_by) {
    case ClosedBy::limit:
      return "limit";
    case ClosedBy::end:
      return "end";
    case ClosedBy::sparse:
      return "sparse";
  }
  return "";
}

}  // namespace ddpsim
