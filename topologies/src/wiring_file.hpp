// The parts of ddpsim.cluster/1 that describe wiring (docs/reference/formats.md: Mixed nodes and wiring,
// Switches and degraded links).
#pragma once

#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/formats/object_type.hpp"
#include "description.hpp"

namespace ddpsim {

const ObjectType& wiring_type();
/// Types of objects that `switches` may hold.
const std::vector<ValueType>& switches_types();
const ObjectType& degraded_link_type();

/// NVLinks and xGMI links get NCCL's values for `gpu`.
NodeGraph read_wiring(const Cursor& cursor, const GpuModel& gpu);
SwitchPlan read_switches(const Cursor& cursor, const std::string& file);
std::vector<DegradedLink> read_degraded(const Cursor& cursor);

}  // namespace ddpsim
