// The parts of ddpsim.cluster/1 that say how things are wired:
//
//   "wiring": {"vertices": [{"name": "gpu0", "kind": "gpu|nvswitch|pcie-switch|cpu|nic",
//                            "rate": "200Gbps"}],
//              "links": [{"between": ["gpu0", "gpu1"], "kind": "nvlink", "links": 2,
//                         "per_link": "25GBps"}
//                      | {"between": ["gpu0", "pcie0"], "kind": "pcie|socket", "rate": "15.75GBps"}]}
//   "switches": {"kind": "one-switch|leaf-spine|rail", "nodes_per_leaf": 16, "spines": 4}
//             | {"list": "hosts.txt"}
//   "degraded": [{"link": "node0/gpu0 > node0/gpu3", "rate": "25GBps"}]
//
// `rate` belongs to NICs, where it is optional: absent, "per_nic" of the network holds. " - " instead
// of " > " in the name of a link means both directions.
#pragma once

#include "ddpsim/formats/decoder.hpp"
#include "description.hpp"

namespace ddpsim {

/// NVLinks get NCCL's figures for `gpu`.
NodeGraph read_wiring(const Cursor& cursor, const GpuModel& gpu);
SwitchPlan read_switches(const Cursor& cursor, const std::string& file);
std::vector<DegradedLink> read_degraded(const Cursor& cursor);

}  // namespace ddpsim
