// What NCCL's lines about networks and channels add to the facts. `said` is what stands behind "NCCL INFO ".
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "ddpsim/diagnose/evidence/nccl_facts.hpp"

namespace ddpsim {

// What one log may make these facts remember: about 30 MiB. A job of 10,000 GPUs stays below each.
constexpr std::size_t kMostEnds = 50'000;  // of sends, and of receives
constexpr std::size_t kMostHosts = 10'000;
constexpr std::size_t kMostThreads = 30'000;
constexpr std::size_t kMostNics = 32;  // of one host, and of one rank
constexpr int kMostNamedRanks = 10'000'000;

/// What stands in front of "NCCL INFO" or "NCCL WARN": "[1,0]<stdout>:node3:812:820 [0]", "gpu32 [0]".
struct NcclLineHead {
  std::string host;
  std::string thread;  ///< as printed, host included
};

/// Which networks, devices and interfaces NCCL finds and takes.
void take_network_line(std::string_view said, const NcclLineHead& head, const std::string& place,
                       NcclFacts& facts);
/// Loaded, or asked for and not there. "Could not find: libnccl-net.so" alone is how every job without a plugin begins.
void take_plugin_line(std::string_view said, const std::string& place, NcclFacts& facts);
/// "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA"; "Ring 00 : …" in 2.4. The rank whose end it is.
std::optional<int> take_channel_line(std::string_view said, const NcclLineHead& head,
                                     const std::string& place, NcclFacts& facts);
/// "via NET/AWS Libfabric/3/GDRDMA" without the ranks it is between.
void take_lone_path(std::string_view path, const std::string& place, NcclFacts& facts);

}  // namespace ddpsim
