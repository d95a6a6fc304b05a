// What an operation of NCCL takes. Two pure functions, never mixed:
//
//   select_algorithm(kind, size, cluster, tuning) -> algorithm, protocol, channels
//       NCCL's own table, bit for bit
//   cost(kind, choice, size, cluster) -> duration
//       our pipeline cost model
//
// NCCL's time estimate selects; it does not predict.
#pragma once

#include <optional>

#include "ddpsim/sim/values/cluster.hpp"
#include "ddpsim/sim/values/collective.hpp"
#include "ddpsim/sim/values/quantities.hpp"
#include "ddpsim/sim/values/versions.hpp"

namespace ddpsim {

/// What a user can set of NCCL, by the name of its environment variable.
struct CollectiveTuning {
  NcclVersion nccl{};
  std::optional<AlgorithmSet> algorithms{};  ///< NCCL_ALGO; other rings ignore it
  std::optional<ProtocolSet> protocols{};    ///< NCCL_PROTO; lists LL128 even where NCCL would not
  std::optional<int> min_channels{};         ///< NCCL_MIN_NCHANNELS, of rings and trees
  std::optional<int> max_channels{};         ///< NCCL_MAX_NCHANNELS, of rings and trees
  Bytes buffer = kDefaultBuffer;             ///< NCCL_BUFFSIZE: per channel and peer, Simple's
  bool nvls = true;                          ///< NCCL_NVLS_ENABLE
  bool collnet = false;                      ///< NCCL_COLLNET_ENABLE; needs switches that reduce

  static constexpr Bytes kDefaultBuffer{4 * 1'048'576};
};

struct CollectiveChoice {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  int channels = 1;          ///< channels this operation uses; one thread block (SM) each
  Duration nccl_estimate{};  ///< NCCL's own time for it: a selector, not a prediction
  Bytes buffer = CollectiveTuning::kDefaultBuffer;  ///< sets the chunks of the Simple protocol
  NcclVersion nccl{};                               ///< that chose
  int channel_limit = 0;  ///< set for the job and below what NCCL takes by itself; 0: none such
};

/// NCCL's selection for one operation of `size` bytes, as collective.hpp counts them, over all ranks of the cluster.
/// Ties go to the lower algorithm index, then protocol index, as in NCCL's loops. With one rank
/// NCCL runs no tuning: the choice is ring/Simple/1 channel with estimate 0. So it is, with all
/// channels, where the tuning leaves nothing that works on this cluster; see can_select_algorithm.
CollectiveChoice select_algorithm(CollectiveKind kind, Bytes size, const Cluster& cluster,
                                  const CollectiveTuning& tuning);

/// Whether an all-reduce has any algorithm and protocol left that the version and the cluster allow.
bool can_select_algorithm(const Cluster& cluster, const CollectiveTuning& tuning);

/// Duration of the kernel from the last arrival to the end, without contention.
Duration cost(CollectiveKind kind, const CollectiveChoice& choice, Bytes size,
              const Cluster& cluster);

/// GPUs that share a root port at most, where nobody says how many: of the machines whose tables are known one, two, four and,
/// by cascaded switches, eight.
inline constexpr int kMostPerRoot = 8;

/// Heads of NVLS in a node at most (NCCL_MAX_NVLS_ARITY); in other collectives than all-reduces every GPU is a head.
inline constexpr int kMostNvlsHeads = 32;

/// Time per byte at the two ends of what nobody says of a PCIe node, over what is predicted: whether peers reach each
/// other, and how many GPUs share a root port.
struct PeerEnds {
  double fastest = 1;
  double slowest = 1;
};

/// 1 and 1 where both are said, and without PCIe between GPUs.
PeerEnds peer_ends(const Cluster& cluster);

/// What no all-reduce by ring or tree goes below, wherever its nodes lie: nothing but data on the wires it passes.
/// Nothing is known of what switches reduce, nor of other collectives.
Duration least_time(CollectiveKind kind, const CollectiveChoice& choice, Bytes size,
                    const Cluster& cluster);

/// Where an all-reduce stands in the calibration of its cluster.
OperatingPoint operating_point_of(const CollectiveChoice& choice, Bytes size,
                                  const Cluster& cluster);

}  // namespace ddpsim
