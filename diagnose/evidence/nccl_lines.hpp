// Adds to the facts what NCCL's lines say about networks and channels. `said` is the text after
// "NCCL INFO ".
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "ddpsim/diagnose/evidence/nccl_facts.hpp"

namespace ddpsim {

// Limits on what these facts keep of one log, about 30 MiB. A job of 10,000 GPUs stays below each
// limit.
constexpr std::size_t kMostEnds = 50'000;  // for sends, and for receives
constexpr std::size_t kMostHosts = 10'000;
constexpr std::size_t kMostThreads = 30'000;
constexpr std::size_t kMostNics = 32;  // for one host, and for one rank
constexpr int kMostNamedRanks = 10'000'000;

/// The text before "NCCL INFO" or "NCCL WARN": "[1,0]<stdout>:node3:812:820 [0]", "gpu32 [0]".
struct NcclLineHead {
  std::string host;
  std::string thread;  ///< as printed, host included
};

/// The networks, devices and interfaces that NCCL finds and uses.
void take_network_line(std::string_view said, const NcclLineHead& head, const std::string& place,
                       NcclFacts& facts);
/// A plugin that was loaded, or requested and not found. "Could not find: libnccl-net.so" alone is
/// how every job without a plugin begins.
void take_plugin_line(std::string_view said, const std::string& place, NcclFacts& facts);
/// "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA", or "Ring 00 : …" in 2.4. Returns the
/// rank that this end belongs to.
std::optional<int> take_channel_line(std::string_view said, const NcclLineHead& head,
                                     const std::string& place, NcclFacts& facts);
/// "via NET/AWS Libfabric/3/GDRDMA", without the two ranks.
void take_lone_path(std::string_view path, const std::string& place, NcclFacts& facts);

}  // namespace ddpsim
