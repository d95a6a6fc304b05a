// Collectives in NCCL's terms: the operations, and the algorithms and protocols that carry them
// out.
//
// The size S of each is what nccl-tests prints in its first column (doc/PERFORMANCE.md and the
// *_perf sources). For n ranks, busbw is S / time times a factor:
//
// - all-reduce         2(n - 1)/n   S is the buffer of every rank
// - all-gather          (n - 1)/n   S is what every rank ends with, S/n from each
// - reduce-scatter      (n - 1)/n   S is what every rank begins with; it keeps S/n of the sum
// - broadcast, reduce           1   S is the buffer, from or to rank 0
// - send-recv                   1   S goes from every rank to the next, all at once
//
// Send-recv is sendrecv_perf: in one group, each rank calls ncclSend to the next rank and ncclRecv
// from the one before, in the order of NCCL's first ring. The slowest pair decides the time. On one
// node that pair is inside it. On several nodes it is two neighbours on different nodes, unless
// links inside a node are slower. A pair has one NIC here. NCCL has used all NICs of a GPU since
// 2.18, which is not simulated.
#pragma once

#include <optional>
#include <string_view>

namespace ddpsim {

enum class CollectiveKind { all_reduce, broadcast, reduce_scatter, all_gather, reduce, send_recv };
/// In NCCL's index order. Its last algorithm, PAT, is not simulated: all-gathers and
/// reduce-scatters with one GPU per node, since 2.23.
enum class Algorithm {
  /// A double binary tree over the nodes, with a chain inside each.
  tree,
  ring,  ///< one ring per channel through all ranks
  /// The network's switches reduce, and every GPU talks to the heads of its node.
  collnet_direct,
  /// The network's switches reduce, with a chain inside each node.
  collnet_chain,
  nvls,  ///< the NVSwitches of one node reduce
  /// The NVSwitches reduce inside nodes, with a double binary tree between them.
  nvls_tree,
};
enum class Protocol { ll, ll128, simple };  // in NCCL's index order
inline constexpr int kAlgorithms = 6;
inline constexpr int kProtocols = 3;

std::string_view name_of(CollectiveKind kind);  ///< "all-reduce", …, "send-recv"
/// Number of blocks of S/n that one hop of a ring carries, as nccl-tests and NCCL's tuning table
/// count them. busbw = algbw * ring_steps / n.
int ring_steps(CollectiveKind kind, int ranks);
/// Number of ring phases that leave each rank with a different part: 2 for all-reduce
/// (reduce-scatter, then all-gather), 1 for each of those two, 0 otherwise.
int ring_phases(CollectiveKind kind);

std::string_view name_of(Algorithm algorithm);  ///< "tree", "ring", "collnetdirect", …, "nvlstree"
std::string_view name_of(Protocol protocol);    ///< "LL", "LL128", "Simple"

/// Accepts what people and NCCL write: "Ring", "NVLS_TREE", "ll128". Case and underscores are
/// ignored.
std::optional<Algorithm> parse_algorithm(std::string_view word);
std::optional<Protocol> parse_protocol(std::string_view word);

/// A set of enumerators. A single one converts implicitly: `.algorithms = Algorithm::ring`.
template <typename Enum, int kCount>
class SetOf {
 public:
  constexpr SetOf() = default;
  constexpr SetOf(Enum only) { add(only); }  // NOLINT(google-explicit-constructor)
  static constexpr SetOf all() {
    SetOf set;
    set.bits_ = (1U << kCount) - 1;
    return set;
  }
  constexpr bool has(Enum value) const { return (bits_ & bit(value)) != 0; }
  constexpr void add(Enum value) { bits_ |= bit(value); }
  constexpr void remove(Enum value) { bits_ &= ~bit(value); }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr bool operator==(const SetOf&) const = default;

 private:
  static constexpr unsigned bit(Enum value) { return 1U << static_cast<unsigned>(value); }
  unsigned bits_ = 0;
};
using AlgorithmSet = SetOf<Algorithm, kAlgorithms>;
using ProtocolSet = SetOf<Protocol, kProtocols>;

}  // namespace ddpsim
