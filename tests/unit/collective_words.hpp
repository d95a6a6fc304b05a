// Short words for what tests of collectives name in every line.
#pragma once

#include <array>

#include "ddpsim/sim/values/collective.hpp"

namespace ddpsim {

inline constexpr auto kAllReduce = CollectiveKind::all_reduce;
inline constexpr auto kBroadcast = CollectiveKind::broadcast;
inline constexpr auto kReduceScatter = CollectiveKind::reduce_scatter;
inline constexpr auto kAllGather = CollectiveKind::all_gather;
inline constexpr auto kReduce = CollectiveKind::reduce;
inline constexpr auto kSendRecv = CollectiveKind::send_recv;
/// Whatever rings alone carry out, too.
inline constexpr std::array kAllKinds{kAllReduce, kBroadcast, kReduceScatter,
                                      kAllGather, kReduce,    kSendRecv};
inline constexpr auto kRing = Algorithm::ring;
inline constexpr auto kTree = Algorithm::tree;

}  // namespace ddpsim
