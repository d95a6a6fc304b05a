// Collectives by the words of NCCL: what is asked for, and the ways it can be carried out.
#pragma once

#include <optional>
#include <string_view>

namespace ddpsim {

enum class CollectiveKind { all_reduce, broadcast };
/// In NCCL's index order. Its last one, PAT, reduces nothing and is left out.
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
