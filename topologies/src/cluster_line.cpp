// The one-line form: node:COUNT gpu:PER_NODExMODEL INTERCONNECT [root:GPUS] [domain:NODES] [nic:…]
// [oversubscription:R[,R]] [leaf:NODES [pod:NODES]] [rail:NODES] [placement:ORDER] [latency:T]
// [connection:BW] [switches:FILE], in any order.
#include <fmt/format.h>

#include "cluster_words.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "description.hpp"

namespace ddpsim {
namespace {

const std::vector<std::string>& keys_of_a_line() {
  static const std::vector<std::string> keys = {
      "node", "gpu",       "nvswitch", "nvlink",           "xgmi",    "pcie",
      "root", "domain",    "nic",      "oversubscription", "leaf",    "pod",
      "rail", "placement", "latency",  "connection",       "switches"};
  return keys;
}

void read_gpu(const ClusterWord& word, NodeDescription& out) {
  const auto [count, model] = word.counted(word.value, "PER_NODExMODEL, such as \"8xA100\"");
  out.gpus_per_node = static_cast<int>(word.integer(count, "GPUs per node", kMostGpusPerNode));
  out.gpus_in_layout = out.gpus_per_node;
  out.gpu = read_gpu_model(word, model);
}

[[noreturn]] void missing(const char* what, const char* hint) {
  throw InputError({"cluster", "", fmt::format("missing {}", what), hint});
}

}  // namespace

ClusterDescription describe_line(std::string_view line) {
  ClusterDescription out;
  out.file = "cluster";
  out.from_line = true;
  out.summary = "one-line cluster";
  const ClusterWords words = split_words(line, keys_of_a_line());
  NodeDescription& node = out.types.front();
  if (const ClusterWord* word = find_word(words, "node")) {
    node.count = static_cast<int>(word->integer(word->value, "nodes", kMostNodes));
  }
  if (const ClusterWord* word = find_word(words, "gpu")) read_gpu(*word, node);
  read_interconnect(words, find_word(words, "gpu") != nullptr, node);
  if (const ClusterWord* word = find_word(words, "root"))
    read_root(*word, node.gpus_per_node, node.interconnect);
  const ClusterWord* nic = find_word(words, "nic");
  if (nic != nullptr) {
    const NicWord written = read_nics(*nic, true);
    node.nics = written.count;
    node.per_nic = written.rate;
    out.network.kind = written.kind;
    out.network.sockets = written.sockets;
    state_gpudirect(written, out);
  }
  read_network_words(words, nic != nullptr, out);
  read_domain(words, out);
  if (find_word(words, "node") == nullptr) missing("the number of nodes", "Add \"node:COUNT\"");
  if (find_word(words, "gpu") == nullptr) {
    missing("the GPUs", "Add \"gpu:PER_NODExMODEL\", such as \"gpu:8xA100\"");
  }
  if (node.interconnect.kind == IntraKind::none && node.gpus_per_node > 1) {
    missing("how the GPUs of a node are joined",
            node.gpu.vendor == GpuVendor::amd
                ? "Add one of \"xgmi:7x64GBps\", \"pcie:25GBps\""
                : "Add one of \"nvswitch:300GBps\", \"nvlink:6x25GBps\", \"pcie:12GBps\"");
  }
  // Name it by its own words in the reader's order of interest, whatever the order written.
  for (const std::string& key : keys_of_a_line()) {
    if (const ClusterWord* word = find_word(words, key)) {
      out.name += (out.name.empty() ? "" : " ") + word->text;
    }
  }
  return out;
}

Cluster parse_cluster_line(std::string_view line) {
  return resolve(describe_line(line)).cluster;
}

}  // namespace ddpsim
