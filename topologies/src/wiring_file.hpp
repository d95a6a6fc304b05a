// The parts of ddpsim.cluster/1 that say how things are wired: docs/formats.md, Mixed nodes and
// wiring, Switches and degraded links.
#pragma once

#include "ddpsim/formats/decoder.hpp"
#include "description.hpp"

namespace ddpsim {

/// NVLinks, or xGMI, get NCCL's figures for `gpu`.
NodeGraph read_wiring(const Cursor& cursor, const GpuModel& gpu);
SwitchPlan read_switches(const Cursor& cursor, const std::string& file);
std::vector<DegradedLink> read_degraded(const Cursor& cursor);

}  // namespace ddpsim
