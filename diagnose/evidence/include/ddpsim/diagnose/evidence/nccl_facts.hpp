// What NCCL's own debug lines (NCCL_DEBUG=INFO, NCCL 2.4 to 2.32; RCCL prints the same) say of a job: one rank's log or
// many, one behind the other.
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

/// A word and where it was first read.
struct NotedWord {
  std::string word;
  std::string place;
};

/// What one end of the channels from one rank to another says of its network: "Channel 00/0 : 0[0] -> 8[0] [send] via
/// NET/IB/1/GDRDMA". Communicators of one job may use the same numbers, hence counts.
struct NcclNetEnd {
  int with_gpudirect = 0;  ///< lines that end in /GDRDMA
  int without = 0;
  std::uint64_t nics = 0;  ///< a bit for each index
  std::string
      host;  ///< of the first line without, else of the first with; empty where lines name none
  std::string place;
};

/// Sends and receives of a host over the network.
struct NcclHostNet {
  int sends_with = 0, sends_without = 0;  ///< with and without GPUDirect RDMA
  int receives_with = 0, receives_without = 0;
};

/// Channels as one rank prints them: two sides are compared by ranks that both have, since a job may log one alone.
struct NcclRankLines {
  int with_gpudirect = 0, without = 0;         ///< ends over the network
  std::set<std::pair<std::string, int>> nics;  ///< host and index
  int peer_to_peer = 0, shared_memory = 0;     ///< inside the node
  int nvlink_between_nodes = 0;                ///< "P2P/MNNVL": of these, those that leave it
  /// The log holds its channels from before the first to behind the last: what it does not name is not there.
  bool complete = false;
};

/// Of the communicator with most ranks.
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
  std::string algorithm;  ///< "RING", "TREE", "NVLS" …, also where the log has an index
  std::string protocol;   ///< "LL", "LL128", "SIMPLE"
  std::optional<int> channels;
  std::string place;
};

struct NcclFacts {
  std::size_t lines = 0;
  std::vector<NotedWord> versions;       ///< "2.21.5", each once; RCCL's are "RCCL 2.18.3"
  std::optional<NotedWord> cuda_driver;  ///< "cudaDriverVersion 12080": 12.8
  std::vector<NotedWord> announced;      ///< "Using network IB", each once
  std::map<std::string, int>
      networks;  ///< what channels went over, and how many ends did: "IB", "Socket", "AWS Libfabric"
  std::map<std::string, std::string> network_places;
  /// By channel, from rank, to rank.
  std::map<std::pair<int, std::pair<int, int>>, NcclNetEnd> sends, receives;
  std::map<std::string, NcclHostNet> hosts;
  std::map<int, NcclRankLines> ranks;  ///< that printed channels
  std::map<std::string, std::vector<std::string>>
      nics;  ///< by host: "mlx5_0:1/IB" of "NET/IB : Using …"
  /// By host and index, ports that NCCL merged into one device (2.24 on): {"mlx5_0", "mlx5_1"} of "Made virtual device".
  std::map<std::pair<std::string, int>, std::vector<std::string>> virtual_nics;
  std::map<std::string, std::pair<double, std::string>>
      nic_gbps;  ///< slowest by port ("mlx5_0:1"), and the place
  bool merged_nics =
      false;  ///< several ports under one index (2.20 on): numbers of NICs are others
  std::optional<NotedWord> provider;        ///< of libfabric: "efa", "tcp;ofi_rxm"
  std::optional<int> provider_nics;         ///< "(found 4 nics)"
  std::vector<NotedWord> interfaces;        ///< of "NET/Socket : Using …"
  std::optional<std::string> no_ib_device;  ///< place of "NET/IB : No device found"
  std::optional<NotedWord> ib_not_opened;   ///< a device that is there and could not be opened
  std::vector<NotedWord> plugins;           ///< loaded, each once
  std::vector<NotedWord> plugin_versions;   ///< "aws-ofi-nccl 1.9.1", "libfabric 1.15", each once
  /// By host and HCA: whether any line says that GPUDirect RDMA is enabled for it, and the place of the first.
  std::map<std::string, std::pair<bool, std::string>> gpudirect_of_nics;
  std::optional<NotedWord> plugin_not_found;  ///< asked for by name, or its own library is missing
  int peer_to_peer = 0;                       ///< channels inside nodes, by transport
  int shared_memory = 0;
  /// Channels inside nodes from rank to rank: by peer-to-peer, through shared memory.
  std::map<std::pair<int, int>, std::pair<int, int>> local_pairs;
  bool torn = false;  ///< a line was cut into by another, and left out
  std::string shared_memory_place;
  std::optional<NotedWord> peer_access_refused;   ///< CUDA says no: the line's own words
  std::optional<NotedWord> nvlink_refused;        ///< … between GPUs that NVLink connects
  std::vector<LoggedCommunicator> communicators;  ///< by number of ranks
  std::optional<bool> pxn;                        ///< "use ring PXN 1 GDR 1": of any rank
  bool rings_connected = false;
  std::string rings_place;  ///< of the first "Connected all rings"
  bool trees_connected = false;
  bool rings_followed = false;  ///< the log goes on behind "Connected all rings"
  std::optional<std::pair<bool, std::string>> trees_enabled;  ///< 2.4: "Trees disabled", its place
  bool initialised = false;                                   ///< "Init COMPLETE"
  bool connected = false;                      ///< "Connected …", or a choice: something was sent
  std::map<std::int64_t, NcclChoice> choices;  ///< by bytes of an all-reduce
  std::optional<NotedWord>
      search_failed;  ///< "Could not find a path for pattern 1, falling back to simple order"
  std::vector<NotedWord> warnings;  ///< "NCCL WARN …", each kind once

  /// Names of networks: what channels went over, else what was announced, else whose devices are listed.
  std::set<std::string> network_names() const;
  /// Place of the first line that names the network; "NCCL's log" where there is none.
  std::string network_place() const;
  /// One node holds the whole job, as its lines tell.
  bool one_node() const;
  bool several_nodes() const;  ///< as its lines tell; false where none tells
  /// Channels of a network that is not TCP's, and none of TCP's.
  bool sends_beside_sockets() const;
  const LoggedCommunicator* largest() const;
  /// All variables that NCCL reads as it begins were read: it prints each when it first does.
  bool variables_read() const;
};

/// Of libfabric's providers those over TCP: "tcp", "tcp;ofi_rxm", "sockets".
bool goes_over_tcp(const NotedWord& provider);

/// Reads lines in their order; threads of several ranks may alternate.
class NcclLineReader {
 public:
  /// False: the line is none of NCCL's.
  bool take(std::string_view line, const std::string& place, NcclFacts& facts);
  /// False: the last line of a text, without a line end, may be cut where that changes what it says.
  bool is_whole(std::string_view line) const;

 private:
  struct Thread {
    int ranks = 0;
    std::optional<int> nodes, local_ranks;
    std::optional<int> channels, nvls, collnet;
    std::string place;
    bool taken = false;  ///< its channels are a communicator's
  };
  void take_communicator(std::string_view line, const std::string& key, const std::string& place,
                         NcclFacts& facts);
  void note_order(bool channel, bool end, const std::optional<int>& rank, const std::string& thread,
                  NcclFacts& facts);
  std::map<std::string, Thread> threads_;
  std::map<std::string, std::set<int>> open_;  ///< by thread: ranks whose channels may go on
  std::map<std::string, bool> begun_;          ///< by process: its first line is none of channels
  std::set<std::string, std::less<>> paths_;   ///< "NET/IB/0/GDRDMA", of the first channels
};

std::vector<Finding> nccl_problems(const NcclFacts& facts);
std::vector<Finding> nccl_changes(const NcclFacts& before, const NcclFacts& after);

}  // namespace ddpsim
