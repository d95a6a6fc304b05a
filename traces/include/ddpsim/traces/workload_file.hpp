// The workload file, ddpsim.workload/1: reading checks everything once, writing is byte-stable.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

struct ObjectType;

/// Parses a ddpsim.workload/1 document. `file` names it in messages. Throws InputError.
Workload parse_workload(std::string_view text, const std::string& file);

/// The document as text, two-space indented, keys in the order of the schema, times in microseconds
/// printed from integer picoseconds. parse_workload(format_workload(w)) == w.
std::string format_workload(const Workload& workload);

/// What the document may hold. Written are its members in this order, and all that a reader takes to be there.
const ObjectType& workload_document();

}  // namespace ddpsim
