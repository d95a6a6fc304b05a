// The workload file, ddpsim.workload/1. Reading checks every value once. Writing the same workload
// always gives the same bytes.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

struct ObjectType;

/// Parses a ddpsim.workload/1 document. `file` is its name in messages. Throws InputError.
Workload parse_workload(std::string_view text, const std::string& file);

/// The document as text, indented by two spaces, with keys in the order of the schema. Times in
/// microseconds are printed from integer picoseconds. parse_workload(format_workload(w)) == w.
std::string format_workload(const Workload& workload);

/// Describes the JSON document. Members are written in this order, among them every member that a
/// reader requires.
const ObjectType& workload_document();

}  // namespace ddpsim
