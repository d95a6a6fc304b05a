// How long a collective takes from the last arrival to the end, alone on an idle network.
//
// - T = launch + start(protocol) + local hops * latency + (X^q + Y^q)^(1/q)
// - X = network hops * (latency + one message), Y = traffic / rate, q = overlap
//
// Symbols: n ranks, N nodes, g GPUs per node, S bytes per rank, c channels.
//
// Ring all-reduce: hops = 2(n - 1), of which 2(N - 1) are on the network; traffic = 2(n - 1)/n * S.
// A thread block moves S/n more for the last copy, into the result. Only a calibration tells how
// much of it the links do not hide (ring_ends). Simple walks in loops of half a buffer per channel
// and rank. A loop cannot end before its hops are walked, but the next one starts right after it.
// On each network hop, one message is stored before it is sent on.
//
// Reduce-scatter and all-gather: one of these two phases. They have n - 1 hops, N - 1 of them on
// the network, and traffic = (n - 1)/n * S. Each takes half of what an all-reduce needs beyond its
// start and its last copy.
//
// Tree all-reduce: hops = 2(g - 1) + 2 log2(N). A GPU in the middle of the local chain passes S up
// and S down. A NIC carries S/2 per tree edge and direction: 1 S with two nodes, 3/2 with three, 2
// from four on. Simple fills 2 chunks per hop; a NIC is filled by the half that its tree sends that
// way. A tree is a pipeline of chunks, so its terms add up (q = 1). Before NCCL 2.8, up comes
// before down. Only single connections feel this, because each is busy in one of the two.
//
// Broadcast and reduce: hops = n - 1, N - 1 of them on the network. There is one more if the ring
// enters or leaves the root's node by another GPU. Traffic = S, filled by a chunk on every hop
// except the slowest, at the rate of its links. Simple sends a chunk of one step in one piece
// (SLICESTEPS = CHUNKSTEPS = 1). The terms add up too. A reduce is a broadcast in reverse.
//
// Send-recv: one hop, with S through one NIC if it leaves the node. In the switch: see
// in_switch_cost.cpp.
//
// The rate is the lowest of three: links inside a node, NICs of a node, and thread blocks. Each is
// reduced to the protocol's share of payload: LL 1/2, LL128 15/16, Simple 1.
//
// Assumptions: ranks in lockstep, equal channels, no other traffic. The structure comes from NCCL's
// kernels (all_reduce.h, prims_*.h), the constants from open logs.
//
// The model does not hold if a provider changes its own protocol: Slingshot does so between 64 KiB
// and 8 MiB, differently at every site. Nor does it hold if GPUs share one PCIe uplink, or in noisy
// clouds. Several hundred nodes are an extrapolation of hop latencies.

#include "pipeline_cost.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/elementary.hpp"
#include "in_switch_cost.hpp"
#include "pipeline_path.hpp"

namespace ddpsim {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
/// NCCL_STEPS: messages in a buffer. A ring's chunk has four, sent in two slices.
constexpr int kSteps = 8;
/// Older versions send everything up a tree, then everything down, so a connection idles in one of
/// the two (all_reduce.h of 2.4 to 2.7).
constexpr NcclVersion kFirstTwoWayTrees{2, 8, 0};

/// Largest amount of data in a chunk by protocol, for any size.
double chunk_limit(const CollectiveChoice& choice, int steps) {
  switch (choice.protocol) {
    case Protocol::ll:
      return 32 * kKiB;
    case Protocol::ll128:
      return 576'000;
    case Protocol::simple:
      break;
  }
  return static_cast<double>(choice.buffer.count()) / kSteps * steps;
}

/// Terms that every operation over a path shares; the others are still 0.
PipelineTerms terms_of(const Path& path) {
  return {.start_us = path.start_us, .local_hop_us = path.local_us, .payload = path.payload};
}

/// All-reduce, reduce-scatter and all-gather: every rank passes on n parts.
PipelineTerms ring_of_parts(CollectiveKind kind, const CollectiveChoice& choice, double size,
                            const Cluster& cluster, Path path) {
  const double n = cluster.ranks();
  const double hops = ring_steps(kind, cluster.ranks());
  const double network_hops = ring_phases(kind) * (cluster.nodes - 1.0);
  const double local_hops = hops - network_hops;
  const double share = size / (choice.channels * n);  // of one rank in one channel
  const double chunk = std::min(share, chunk_limit(choice, kSteps / 2));
  const bool simple = choice.protocol == Protocol::simple;
  const double message = simple ? chunk / 2 : chunk;
  path.network_rate = rate_of_messages(path, choice, message, cluster);
  PipelineTerms terms = terms_of(path);
  terms.latency_us = local_hops * path.local_us;
  const PathConstants constants = constants_of(cluster);
  terms.transfer_us = std::max(move_us(hops / n * size, path.slowest()),
                               move_us((hops + constants.ring_ends) / n * size, path.local_rate));
  const double walks = simple ? std::max(1.0, share / chunk_limit(choice, kSteps / 2)) : 1;
  terms.loops = std::ceil(walks);
  if (cluster.nodes <= 1) return terms;

  terms.network_hop_us = network_hop_us(choice, message, cluster);
  const double latency = network_hops * terms.network_hop_us;
  const double store = network_hops * move_us(message * choice.channels, path.network_rate);
  const double walk = latency + store;
  const double busy = terms.transfer_us;
  if (!(busy < kInfinite)) return terms;
  const double q = constants.overlap;
  // The longer one is factored out, because powers of many microseconds would overflow.
  const double longer = std::max(walk, busy);
  const double together =
      longer *
      elementary::pow(elementary::pow(walk / longer, q) + elementary::pow(busy / longer, q), 1 / q);
  const double visible = std::max(0.0, std::max(together, walks * walk) - busy) / walk;
  terms.latency_us += visible * latency;
  terms.fill_us = visible * store;
  return terms;
}

/// NCCL halves a tree's chunks until enough of them fill its depth; for Simple only up to 2.19
/// (enqueue.cc). It is smooth here, so that times do not jump between sizes.
double tree_chunk(const CollectiveChoice& choice, double share, int depth) {
  const double limit = chunk_limit(choice, 1);
  if (choice.protocol == Protocol::ll) return std::min(share, limit);
  if (choice.protocol == Protocol::ll128)
    return std::min({share, limit, std::max(share / (4 * depth), 32 * kKiB)});
  if (choice.nccl >= NcclVersion{2, 20, 0}) return std::min(share, limit);
  const double per_hop = share / depth;
  double chunk = std::min(limit, std::max(128 * kKiB, per_hop / 8));
  chunk = std::min(chunk, std::max(64 * kKiB, per_hop / 4));
  chunk = std::min(chunk, std::max(32 * kKiB, per_hop));
  return std::min(share, chunk);
}

PipelineTerms tree_all_reduce(const CollectiveChoice& choice, double size, const Cluster& cluster,
                              Path path) {
  const int local_depth = cluster.gpus_per_node - 1;
  const int network_depth = tree_depth(cluster.nodes);
  const int depth = local_depth + network_depth;
  const double share = size / choice.channels;
  const double chunk = tree_chunk(choice, share, depth);
  // Before 2.8, a connection idles while the other half of the trees uses its direction.
  const double busy = choice.nccl < kFirstTwoWayTrees ? 0.5 * tree_traffic(cluster.nodes) : 1;
  path.network_rate = rate_of_messages(path, choice, chunk, cluster, busy);
  PipelineTerms terms = terms_of(path);
  if (choice.protocol == Protocol::simple) {
    terms.fill_us = 2 * (local_depth * move_us(chunk * choice.channels, path.local_rate) +
                         network_depth * move_us(chunk * choice.channels / 2, path.network_rate));
  } else {
    terms.fill_us = 2 * network_depth * move_us(chunk * choice.channels, path.network_rate);
  }
  if (cluster.nodes > 1) {
    terms.network_hop_us = network_hop_us(choice, chunk, cluster);
  }
  terms.latency_us = 2 * (local_depth * path.local_us + network_depth * terms.network_hop_us);
  terms.transfer_us =
      std::max(move_us(tree_traffic(cluster.nodes) * size, path.network_rate),
               move_us(chain_traffic(cluster.gpus_per_node) * size, path.local_rate));
  return terms;
}

/// Broadcast and reduce.
PipelineTerms ring_chain(const CollectiveChoice& choice, double size, const Cluster& cluster,
                         Path path) {
  const int network_hops = cluster.nodes - 1;
  const int local_hops = cluster.ranks() - 1 - network_hops;
  const double chunk = std::min(chunk_limit(choice, 1), size / choice.channels);
  path.network_rate = rate_of_messages(path, choice, chunk, cluster);
  PipelineTerms terms = terms_of(path);
  if (choice.protocol == Protocol::simple) {
    const double chunks = chunk * choice.channels;
    terms.fill_us = local_hops * move_us(chunks, path.local_rate) +
                    network_hops * move_us(chunks, path.network_rate) -
                    move_us(chunks, path.slowest());
  }
  if (network_hops > 0)
    terms.network_hop_us = network_hop_us(choice, chunk, cluster) * unhidden_hop_share(cluster);
  terms.latency_us = local_hops * path.local_us + network_hops * terms.network_hop_us;
  terms.transfer_us = move_us(size, path.slowest());
  return terms;
}

PipelineTerms send_recv(const CollectiveChoice& choice, double size, const Cluster& cluster,
                        Path path) {
  const double slice = std::min(chunk_limit(choice, 1), size / choice.channels / 2);
  path.network_rate = rate_of_messages(path, choice, slice, cluster);
  PipelineTerms terms = terms_of(path);
  if (cluster.nodes > 1) terms.network_hop_us = network_hop_us(choice, slice, cluster);
  terms.latency_us = cluster.nodes > 1 ? terms.network_hop_us : path.local_us;
  terms.transfer_us = move_us(size, path.slowest());
  return terms;
}

PipelineTerms cost_terms(CollectiveKind kind, const CollectiveChoice& choice, Bytes size,
                         const Cluster& cluster) {
  const double bytes = static_cast<double>(std::max<std::int64_t>(0, size.count()));
  switch (choice.algorithm) {
    case Algorithm::nvls:
    case Algorithm::nvls_tree:
      return nvls_terms(kind, choice, bytes, cluster);
    case Algorithm::collnet_direct:
    case Algorithm::collnet_chain:
      return collnet_all_reduce(choice, bytes, cluster);
    case Algorithm::tree:
    case Algorithm::ring:
      break;
  }
  const Path path = path_of(kind, choice, cluster);
  if (kind == CollectiveKind::send_recv) return send_recv(choice, bytes, cluster, path);
  if (ring_phases(kind) == 0) return ring_chain(choice, bytes, cluster, path);
  if (choice.algorithm == Algorithm::tree) return tree_all_reduce(choice, bytes, cluster, path);
  return ring_of_parts(kind, choice, bytes, cluster, path);
}

/// Scales all terms: measurements show how much longer an operation takes, but not in which part.
void correct(PipelineTerms& terms, double factor) {
  for (double* us : {&terms.start_us, &terms.latency_us, &terms.fill_us, &terms.transfer_us,
                     &terms.local_hop_us, &terms.network_hop_us})
    *us *= factor;
}

}  // namespace

PipelineTerms pipeline_terms(CollectiveKind kind, const CollectiveChoice& choice, Bytes size,
                             const Cluster& cluster) {
  PipelineTerms terms = cost_terms(kind, choice, size, cluster);
  // The correction is for all-reduces. For other collectives, the logs give only constants.
  if (cluster.calibration && kind == CollectiveKind::all_reduce) {
    correct(terms, elementary::exp(correction_at(*cluster.calibration,
                                                 operating_point_of(choice, size, cluster))));
  }
  return terms;
}

double fastest_correction(const Cluster& cluster) {
  // A release without logs has a correction too: what all releases share.
  std::set<NcclVersion> releases{NcclVersion()};
  for (const CalibratedShape& log : cluster.calibration->shapes)
    if (log.nccl) releases.insert(*log.nccl);
  double least = 0;
  for (std::int64_t size = 1 << 16; size <= std::int64_t{1} << 34; size += size / 4)
    for (const Algorithm algorithm : {Algorithm::tree, Algorithm::ring})
      for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple})
        for (const NcclVersion& nccl : releases) {
          const CollectiveChoice choice{.algorithm = algorithm, .protocol = protocol, .nccl = nccl};
          least = std::min(least, correction_at(*cluster.calibration,
                                                operating_point_of(choice, Bytes(size), cluster)));
        }
  constexpr double kBetweenSizes = 1.02;
  return least < 0 ? kBetweenSizes * elementary::exp(-least) : 1;
}

OperatingPoint operating_point_of(const CollectiveChoice& choice, Bytes size,
                                  const Cluster& cluster) {
  OperatingPoint place{cluster.nodes, cluster.gpus_per_node, size, choice.algorithm,
                       choice.protocol};
  if (cluster.calibration && of_several_releases(*cluster.calibration)) place.nccl = choice.nccl;
  return place;
}

Duration cost(CollectiveKind kind, const CollectiveChoice& choice, Bytes size,
              const Cluster& cluster) {
  if (cluster.ranks() <= 1) return Duration();
  return Duration::microseconds(pipeline_terms(kind, choice, size, cluster).total_us());
}

}  // namespace ddpsim
