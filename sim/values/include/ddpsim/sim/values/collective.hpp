// Collectives by the words of NCCL: what is asked for, and the ways it can be carried out.
//
// The size S of each is what nccl-tests prints in its first column (doc/PERFORMANCE.md and the *_perf sources), n ranks:
//   all-reduce      S is every rank's buffer                     busbw = 2(n - 1)/n * S / time
//   all-gather      S is what every rank ends with: S/n of each          (n - 1)/n
//   reduce-scatter  S is what every rank begins with; S/n of the sum stay  (n - 1)/n
//   broadcast, reduce  S is the buffer, from or to rank 0                  1
//   send-recv       S goes from every rank to the next, all at once        1
// Send-recv is sendrecv_perf: each rank calls ncclSend to the next and ncclRecv from the one before in one group, next
// along NCCL's first ring, and the slowest pair ends it: inside the node where there is one node, else neighbours in two
// nodes, unless links inside a node are slower. A pair has one NIC; NCCL takes all of a GPU's own since 2.18, which is
// left out.
#pragma once

#include <optional>
#include <string_view>

namespace ddpsim {

enum class CollectiveKind { all_reduce, broadcast, reduce_scatter, all_gather, reduce, send_recv };
/// In NCCL's index order. Its last one, PAT, is left out: all-gathers and reduce-scatters of one
/// GPU a node, since 2.23.
enum class Algorithm {
  tree,            ///< double binary tree over the nodes, a chain inside each
  ring,            ///< one ring per channel through all ranks
  collnet_direct,  ///< the network's switches reduce; every GPU talks to the heads of its node
  collnet_chain,   ///< the network's switches reduce; a chain inside each node
  nvls,            ///< the NVSwitches of one node reduce
  nvls_tree,       ///< the NVSwitches reduce inside nodes, a double binary tree between them
};
enum class Protocol { ll, ll128, simple };  // in NCCL's index order
inline constexpr int kAlgorithms = 6;
inline constexpr int kProtocols = 3;

std::string_view name_of(CollectiveKind kind);  ///< "all-reduce", …, "send-recv"
/// Shares of S/n that one hop of a ring carries, as nccl-tests and NCCL's tuning table count them: busbw is algbw times
/// these over n.
int ring_steps(CollectiveKind kind, int ranks);
/// Two phases, one, or none that leaves each rank another part: reduce-scatter, then all-gather.
int ring_phases(CollectiveKind kind);

std::string_view name_of(Algorithm algorithm);  ///< "tree", "ring", "collnetdirect", …, "nvlstree"
std::string_view name_of(Protocol protocol);    ///< "LL", "LL128", "Simple"

/// As people and NCCL write them: "Ring", "NVLS_TREE", "ll128"; case and underscores mean nothing.
std::optional<Algorithm> parse_algorithm(std::string_view word);
std::optional<Protocol> parse_protocol(std::string_view word);

/// Enumerators that are allowed. One alone converts: `.algorithms = Algorithm::ring`.
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
