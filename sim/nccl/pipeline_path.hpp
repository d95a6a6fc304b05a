// What every operation of the pipeline cost model goes over: latencies and rates of one choice on one
// cluster.
#pragma once

#include <limits>

#include "ddpsim/sim/nccl/nccl.hpp"

namespace ddpsim {

inline constexpr double kKiB = 1024;

/// Latencies in microseconds, rates in bytes per second for all channels together.
struct Path {
  double payload = 1;  ///< share of the bytes on the wire that are data
  double start_us = 0;
  double local_us = 0;
  double local_rate =
      std::numeric_limits<double>::infinity();  ///< in the switch: of its wires alone
  double network_rate = std::numeric_limits<double>::infinity();

  double slowest() const { return local_rate < network_rate ? local_rate : network_rate; }
};

Path path_of(CollectiveKind kind, const CollectiveChoice& choice, const Cluster& cluster);

/// What the network carries in messages of so many bytes of data, over TCP connections that are busy
/// for such a share of the operation.
double rate_of_messages(const Path& path, const CollectiveChoice& choice, double message,
                        const Cluster& cluster, double busy = 1);

/// Latency of one hop between nodes for messages of so many bytes of data.
double network_hop_us(const CollectiveChoice& choice, double message, const Cluster& cluster);

/// Microseconds to move `bytes`; nothing takes no time even where nothing could move.
inline double move_us(double bytes, double rate) {
  return bytes > 0 ? bytes / rate * 1e6 : 0;
}

/// Depth of a binary tree over the nodes.
int tree_depth(int nodes);
/// Bytes that the busiest GPU of a node's chain sends per byte of a tree's operation: one neighbour
/// gets them up or down, two both.
double chain_traffic(int gpus_per_node);
/// Bytes that the busiest node's NICs carry per direction and byte of the operation, in a double
/// binary tree of S/2 per edge: 1 edge each with two nodes, 3 with three, 4 from then on.
double tree_traffic(int nodes);

}  // namespace ddpsim
