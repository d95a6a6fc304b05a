// `key:value` words on the command line: the one-line cluster, and what completes a file.
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

/// One word. Messages place themselves at it: "cluster:nic:8x200Gb: …".
struct ClusterWord {
  std::string text;
  std::string key;
  std::string value;

  [[noreturn]] void fail(std::string message, Hint hint = {}) const;
  std::int64_t integer(std::string_view digits, const char* what, std::int64_t high) const;
  Bandwidth bandwidth(std::string_view written) const;
  /// "8x200Gbps" -> {"8", "200Gbps"}; `form` says what was expected.
  std::pair<std::string_view, std::string_view> counted(std::string_view written,
                                                        const char* form) const;
};

using ClusterWords = std::map<std::string, ClusterWord>;

/// Keys outside `known` and keys given twice are errors.
ClusterWords split_words(std::string_view line, const std::vector<std::string>& known);

const ClusterWord* find_word(const ClusterWords& words, const std::string& key);

GpuModel read_gpu_model(const ClusterWord& word, std::string_view name);

/// nvswitch, nvlink, xgmi or pcie; null where none is given.
const ClusterWord* interconnect_word(const ClusterWords& words);
/// `sized`: GPUs and their number stand in `out` and must fit.
void read_interconnect(const ClusterWords& words, bool sized, NodeDescription& out);

/// root:GPUS, how many of the node's GPUs share a root port.
void read_root(const ClusterWord& word, int gpus, InterconnectDescription& out);

/// "COUNTx[PORTSx]RATE[:KIND]", where the ports of a NIC are bonded into one; without "COUNTx" the count is 0: as many as the node has.
struct NicWord {
  int count = 0;
  Bandwidth rate;
  NetworkKind kind = NetworkKind::infiniband;
  bool kind_stated = false;
  Sockets sockets = Sockets::host;
  std::optional<bool> gpudirect;
};
NicWord read_nics(const ClusterWord& word, bool count_needed);
/// Takes over whether NICs reach GPU memory, where the word says it.
void state_gpudirect(const NicWord& word, ClusterDescription& out);

/// domain: nodes whose GPUs one NVLink domain joins.
void read_domain(const ClusterWords& words, ClusterDescription& out);

/// oversubscription, leaf, pod, rail, placement, latency, connection and switches; `has_network`: they describe something.
void read_network_words(const ClusterWords& words, bool has_network, ClusterDescription& out);

}  // namespace ddpsim
