// `key:value` words on the command line. They form the one-line cluster, or complete a file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ddpsim/formats/suggest.hpp"
#include "description.hpp"

namespace ddpsim {

/// One word. Its messages name it as their place: "cluster:nic:8x200Gb: …".
struct ClusterWord {
  std::string text;
  std::string key;
  std::string value;

  [[noreturn]] void fail(std::string message, Hint hint = {}) const;
  std::int64_t integer(std::string_view digits, const char* what, std::int64_t high) const;
  Bandwidth bandwidth(std::string_view written) const;
  /// Splits "8x200Gbps" into {"8", "200Gbps"}. `form` is the expected form, for messages.
  std::pair<std::string_view, std::string_view> counted(std::string_view written,
                                                        const char* form) const;
};

using ClusterWords = std::map<std::string, ClusterWord>;

/// Splits a line into words. Unknown keys, and keys given twice, are errors.
ClusterWords split_words(std::string_view line, const std::vector<std::string>& known);

const ClusterWord* find_word(const ClusterWords& words, const std::string& key);

GpuModel read_gpu_model(const ClusterWord& word, std::string_view name);

/// The word nvswitch, nvlink, xgmi or pcie; null if none is given.
const ClusterWord* interconnect_word(const ClusterWords& words);
/// Reads how GPUs are joined. `sized`: `out` already holds the GPUs and their number, which must
/// fit.
void read_interconnect(const ClusterWords& words, bool sized, NodeDescription& out);

/// Reads root:GPUS, the number of a node's GPUs that share a root port.
void read_root(const ClusterWord& word, int gpus, InterconnectDescription& out);

/// "COUNTx[PORTSx]RATE[:KIND]". The ports of a NIC are bonded into one. Without "COUNTx" the count
/// is 0: as many as the node has.
struct NicWord {
  int count = 0;
  Bandwidth rate;
  NetworkKind kind = NetworkKind::infiniband;
  bool kind_stated = false;
  Sockets sockets = Sockets::host;
  std::optional<bool> gpudirect;
};
NicWord read_nics(const ClusterWord& word, bool count_needed);
/// Sets whether NICs reach GPU memory, if the word says so.
void state_gpudirect(const NicWord& word, ClusterDescription& out);

/// Reads domain: the number of nodes whose GPUs one NVLink domain joins.
void read_domain(const ClusterWords& words, ClusterDescription& out);

/// Reads oversubscription, leaf, pod, rail, placement, latency, connection and switches.
/// `has_network`: there is a network that they can describe.
void read_network_words(const ClusterWords& words, bool has_network, ClusterDescription& out);

}  // namespace ddpsim
