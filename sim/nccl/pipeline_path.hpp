// The path of an operation in the pipeline cost model: latencies and rates of one choice on one
// cluster.
#pragma once

#include <limits>

#include "ddpsim/sim/nccl/nccl.hpp"

namespace ddpsim {

inline constexpr double kKiB = 1024;

/// Latencies in microseconds, rates in bytes per second for all channels together.
struct Path {
  double payload = 1;  ///< data share of the bytes sent
  double start_us = 0;
  double local_us = 0;
  /// In the switch, this is the rate of its links alone.
  double local_rate = std::numeric_limits<double>::infinity();
  double network_rate = std::numeric_limits<double>::infinity();

  double slowest() const { return local_rate < network_rate ? local_rate : network_rate; }
};

Path path_of(CollectiveKind kind, const CollectiveChoice& choice, const Cluster& cluster);

/// Rate of the network in messages of that many bytes of data. Its TCP connections are busy for the
/// share `busy` of the operation.
double rate_of_messages(const Path& path, const CollectiveChoice& choice, double message,
                        const Cluster& cluster, double busy = 1);

/// Latency of one hop between nodes for messages of that many bytes of data.
double network_hop_us(const CollectiveChoice& choice, double message, const Cluster& cluster);

/// Microseconds to move `bytes`. Zero bytes take no time even at rate 0.
inline double move_us(double bytes, double rate) {
  return bytes > 0 ? bytes / rate * 1e6 : 0;
}

/// Depth of a binary tree over the nodes.
int tree_depth(int nodes);
/// Bytes that the busiest GPU of a node's chain sends per byte of a tree's operation. With one
/// neighbour it sends them up or down, with two it sends both.
double chain_traffic(int gpus_per_node);
/// Bytes that the busiest node's NICs carry per direction and byte of the operation, in a double
/// binary tree. Each edge carries S/2. There is 1 edge with two nodes, 3 with three and 4 with
/// more.
double tree_traffic(int nodes);

}  // namespace ddpsim
