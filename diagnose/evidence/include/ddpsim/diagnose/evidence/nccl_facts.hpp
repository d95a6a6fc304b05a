// What NCCL's debug lines (NCCL_DEBUG=INFO, NCCL 2.4 to 2.32; RCCL prints the same) say about a
// job. The text is the log of one rank, or of several in sequence.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ddpsim/diagnose/evidence/finding.hpp"

namespace ddpsim {

/// A word, and the place where it was first read.
struct NotedWord {
  std::string word;
  std::string place;
};

/// What one end of the channels between two ranks says about its network: "Channel 00/0 : 0[0] ->
/// 8[0] [send] via NET/IB/1/GDRDMA". It counts lines, because communicators of one job may use the
/// same numbers.
struct NcclNetEnd {
  int with_gpudirect = 0;  ///< lines that end in /GDRDMA
  int without = 0;
  std::uint64_t nics = 0;  ///< one bit per index
  /// Host of the first line without GPUDirect RDMA, else of the first line with it. Empty if lines
  /// name no host.
  std::string host;
  std::string place;
};

/// How a host sends and receives over the network.
struct NcclHostNet {
  int sends_with = 0, sends_without = 0;  ///< with and without GPUDirect RDMA
  int receives_with = 0, receives_without = 0;
};

/// The channels that one rank prints. Two sides are compared by the ranks that both have, because a
/// job may log only one rank.
struct NcclRankLines {
  int with_gpudirect = 0, without = 0;         ///< ends over the network
  std::set<std::pair<std::string, int>> nics;  ///< host and index
  int peer_to_peer = 0, shared_memory = 0;     ///< inside the node
  /// "P2P/MNNVL": the peer-to-peer channels that leave the node.
  int nvlink_between_nodes = 0;
  /// Whether the log covers all channel lines of the rank, so that channels it does not name do not
  /// exist.
  bool complete = false;
};

/// Facts about one communicator.
struct LoggedCommunicator {
  int ranks = 0;
  std::optional<int> nodes;
  std::optional<int> local_ranks;
  std::optional<int> channels;       ///< of rings and trees: "16 coll channels"
  std::optional<int> nvls_channels;  ///< since 2.18
  std::optional<int> collnet_channels;
  std::string channels_place;
  std::string place;  ///< of the first line that names it
};

/// "AllReduce: 4194304 Bytes -> Algo RING proto SIMPLE …" (NCCL_DEBUG_SUBSYS=TUNING).
struct NcclChoice {
  /// "RING", "TREE", "NVLS" …, even if the log has an index.
  std::string algorithm;
  std::string protocol;  ///< "LL", "LL128", "SIMPLE"
  std::optional<int> channels;
  std::string place;
};

struct NcclFacts {
  std::size_t lines = 0;
  std::vector<NotedWord> versions;       ///< "2.21.5", each once; RCCL's are "RCCL 2.18.3"
  std::optional<NotedWord> cuda_driver;  ///< "cudaDriverVersion 12080": 12.8
  std::vector<NotedWord> announced;      ///< "Using network IB", each once
  /// Number of channel ends by network: "IB", "Socket", "AWS Libfabric".
  std::map<std::string, int> networks;
  std::map<std::string, std::string> network_places;
  /// By channel, sending rank and receiving rank.
  std::map<std::pair<int, std::pair<int, int>>, NcclNetEnd> sends, receives;
  std::map<std::string, NcclHostNet> hosts;
  std::map<int, NcclRankLines> ranks;  ///< that printed channels
  /// By host: "mlx5_0:1/IB" from "NET/IB : Using …".
  std::map<std::string, std::vector<std::string>> nics;
  /// By host and index: ports that NCCL merged into one device (from 2.24 on), {"mlx5_0", "mlx5_1"}
  /// from "Made virtual device".
  std::map<std::pair<std::string, int>, std::vector<std::string>> virtual_nics;
  /// Lowest speed and its place, by port ("mlx5_0:1").
  std::map<std::string, std::pair<double, std::string>> nic_gbps;
  /// Several ports share one index (from 2.20 on), so numbers of NICs cannot be compared.
  bool merged_nics = false;
  std::optional<NotedWord> provider;        ///< of libfabric: "efa", "tcp;ofi_rxm"
  std::optional<int> provider_nics;         ///< "(found 4 nics)"
  std::vector<NotedWord> interfaces;        ///< from "NET/Socket : Using …"
  std::optional<std::string> no_ib_device;  ///< place of "NET/IB : No device found"
  std::optional<NotedWord> ib_not_opened;   ///< exists, but could not be opened
  std::vector<NotedWord> plugins;           ///< loaded, each once
  std::vector<NotedWord> plugin_versions;   ///< "aws-ofi-nccl 1.9.1", "libfabric 1.15", each once
  /// By host and HCA: whether any line says that GPUDirect RDMA is enabled for it, and the place of
  /// the first line.
  std::map<std::string, std::pair<bool, std::string>> gpudirect_of_nics;
  /// Requested by name, or its own library is missing.
  std::optional<NotedWord> plugin_not_found;
  int peer_to_peer = 0;  ///< channels inside nodes, by transport
  int shared_memory = 0;
  /// Channels inside nodes by pair of ranks: number over peer-to-peer, number through shared
  /// memory.
  std::map<std::pair<int, int>, std::pair<int, int>> local_pairs;
  /// Whether another line cut into one, which was left out.
  bool torn = false;
  std::string shared_memory_place;
  std::optional<NotedWord> peer_access_refused;   ///< CUDA refuses; the line's own words
  std::optional<NotedWord> nvlink_refused;        ///< refused between GPUs that NVLink connects
  std::vector<LoggedCommunicator> communicators;  ///< ordered by number of ranks
  /// "use ring PXN 1 GDR 1", as any rank prints it.
  std::optional<bool> pxn;
  bool rings_connected = false;
  std::string rings_place;  ///< of the first "Connected all rings"
  bool trees_connected = false;
  bool rings_followed = false;  ///< the log goes on after "Connected all rings"
  std::optional<std::pair<bool, std::string>>
      trees_enabled;         ///< 2.4: "Trees disabled", and its place
  bool initialised = false;  ///< "Init COMPLETE"
  /// "Connected …" or a choice: something was sent.
  bool connected = false;
  std::map<std::int64_t, NcclChoice> choices;  ///< by bytes of an all-reduce
  /// Place of "Could not find a path for pattern 1, falling back to simple order".
  std::optional<NotedWord> search_failed;
  std::vector<NotedWord> warnings;  ///< "NCCL WARN …", each kind once

  /// Names of networks: those that channels used, else those that were announced, else those whose
  /// devices are listed.
  std::set<std::string> network_names() const;
  /// Place of the first line that names the network; "NCCL's log" if there is none.
  std::string network_place() const;
  /// Whether lines show that one node holds the whole job.
  bool one_node() const;
  /// Whether lines show several nodes; false if no line tells.
  bool several_nodes() const;
  /// Whether channels use a network other than TCP, and none uses TCP.
  bool sends_beside_sockets() const;
  const LoggedCommunicator* largest() const;
  /// Whether the log shows all variables that NCCL reads at start; it prints each one when it first
  /// reads it.
  bool variables_read() const;
};

/// Whether a libfabric provider runs over TCP: "tcp", "tcp;ofi_rxm", "sockets".
bool goes_over_tcp(const NotedWord& provider);

/// Reads lines in order; threads of several ranks may alternate.
class NcclLineReader {
 public:
  /// Returns false if the line is not NCCL's.
  bool take(std::string_view line, const std::string& place, NcclFacts& facts);
  /// Returns false for a last line without a line end that may have been cut in a way that changes
  /// its meaning.
  bool is_whole(std::string_view line) const;

 private:
  struct Thread {
    int ranks = 0;
    std::optional<int> nodes, local_ranks;
    std::optional<int> channels, nvls, collnet;
    std::string place;
    bool taken = false;  ///< its channels belong to a communicator
  };
  void take_communicator(std::string_view line, const std::string& key, const std::string& place,
                         NcclFacts& facts);
  void note_order(bool channel, bool end, const std::optional<int>& rank, const std::string& thread,
                  NcclFacts& facts);
  std::map<std::string, Thread> threads_;
  std::map<std::string, std::set<int>> open_;  ///< by thread: ranks whose channels may continue
  /// By process: whether its first line is not about channels.
  std::map<std::string, bool> begun_;
  std::set<std::string, std::less<>> paths_;  ///< "NET/IB/0/GDRDMA", from the first channels
};

std::vector<Finding> nccl_problems(const NcclFacts& facts);
std::vector<Finding> nccl_changes(const NcclFacts& before, const NcclFacts& after);

}  // namespace ddpsim
