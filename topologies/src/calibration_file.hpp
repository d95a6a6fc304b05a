// The part of ddpsim.cluster/1 that `ddpsim calibrate` writes:
//
//   "calibration": {
//     "constants": {"launch_us": 5.5, "start_us": [0, 36, 38], "local_us": […], "hop_us": […],
//                   "rendezvous_us": 0, "channel_us": 0.3, "local_share": 0.9, "nic_share": 0.94,
//                   "lone_gpu": 0.66, "ll_gbps": 2.9, "ll128_gbps": 5.7, "nvls_start_us": 31,
//                   "nvls_wave_us": 2.3, "nvls_share": 0.7, "overlap": 2.5, "block_us": 0.7,
//                   "ring_ends": 0.5, "tree_share": 0.9, "ll_share": 0.5, "hop_growth": [0.1, 0.7, 0.6]},
//     "selection": {"tree_factor": 0.95, "ll128_between_nodes": false},
//     "misfit": {"small": 0.1, "middle": 0.2, "large": 0.1},
//     "repeats": {"small": 0.02, "middle": 0.05, "large": 0.01},
//     "logs": [{"source": "a.txt", "nodes": 2, "gpus_per_node": 8, "nccl": "2.21.5",
//               "smallest_bytes": 8, "largest_bytes": 4294967296}],
//     "correction": [{"nodes": 2, "gpus_per_node": 8, "points": [[8, "tree", "LL", -0.1, 0.2], …]}]}
//
// Triples are by protocol: LL, LL128, Simple. A point has its size in bytes, what NCCL chose, and its
// weights in the correction: for all scales, for its own. A scale's "nccl" stands there where the
// logs are of several releases, a log's "fault" where it was fitted although health distrusts it.
// Files without the last three constants, "selection" or "repeats" leave them out. The values mean
// what sim/calibration.hpp says.
#pragma once

#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/formats/json_writer.hpp"
#include "ddpsim/sim/calibration.hpp"

namespace ddpsim {

Calibration read_calibration(const Cursor& cursor);

/// The section's object; numbers come back bit for bit.
void write_calibration(JsonWriter& json, const Calibration& calibration);

}  // namespace ddpsim
