// The one-line form: node:COUNT gpu:PER_NODExMODEL INTERCONNECT [nic:…] [oversubscription:R]
// [leaf:NODES] [latency:T] [connection:BW] [switches:FILE], in any order.
#include <fmt/format.h>

#include <cstddef>

#include "cluster_words.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "ddpsim/topologies/kind_words.hpp"
#include "description.hpp"

namespace ddpsim {
namespace {

const std::vector<std::string>& keys_of_a_line() {
  static const std::vector<std::string> keys = {"node", "gpu",     "nvswitch",   "nvlink",
                                                "xgmi", "pcie",    "nic",        "oversubscription",
                                                "leaf", "latency", "connection", "switches"};
  return keys;
}

void read_gpu(const ClusterWord& word, NodeDescription& out) {
  const auto [count, model] = word.counted(word.value, "PER_NODExMODEL, such as \"8xA100\"");
  out.gpus_per_node = static_cast<int>(word.integer(count, "GPUs per node", kMostGpusPerNode));
  out.gpus_in_layout = out.gpus_per_node;
  out.gpu = read_gpu_model(word, model);
}

/// nvlink and xgmi. `gpus`: absent where none are written.
void read_nvlink(const ClusterWord& word, std::optional<int> gpus, InterconnectDescription& out) {
  const bool xgmi = word.key == "xgmi";
  std::string_view value = word.value;
  std::optional<std::string> layout;
  if (const std::size_t colon = value.find(':'); colon != value.npos) {
    layout = value.substr(colon + 1);
    value = value.substr(0, colon);
  }
  const auto [links, rate] = word.counted(value, xgmi ? "LINKSxBANDWIDTH, such as \"7x64GBps\""
                                                      : "LINKSxBANDWIDTH, such as \"6x25GBps\"");
  out.kind = IntraKind::nvlink;
  out.links_per_gpu = static_cast<int>(word.integer(links, "links per GPU", kMostLinksPerGpu));
  out.per_link = word.bandwidth(rate);
  if (!layout) {
    if (gpus) out.layout = default_layout(*gpus, xgmi ? GpuVendor::amd : GpuVendor::nvidia);
  } else if (*layout == "pair") {
    out.layout = NvlinkLayout::pair;
  } else if (*layout == "mesh") {
    out.layout = NvlinkLayout::mesh;
  } else if (*layout == "cube" && !xgmi) {
    out.layout = NvlinkLayout::cube;
  } else {
    const std::vector<std::string> words = {"pair", "mesh", "cube"};
    word.fail(fmt::format("{} is not a layout{}; expected {}", in_quotes(*layout),
                          xgmi ? " of xGMI" : "", xgmi ? "pair or mesh" : "pair, mesh or cube"),
              xgmi ? "" : did_you_mean(*layout, words));
  }
}

/// BANDWIDTH[:p2p, :p2p-sockets or :no-p2p]
void read_pcie(const ClusterWord& word, InterconnectDescription& out) {
  out.kind = IntraKind::pcie;
  const std::string_view value = word.value;
  const std::size_t colon = value.find(':');
  out.per_gpu = word.bandwidth(value.substr(0, colon));
  if (colon == value.npos) return;
  const std::string said(value.substr(colon + 1));
  std::vector<std::string> known;
  for (const PeerAccess peers : {PeerAccess::one_root, PeerAccess::sockets, PeerAccess::host}) {
    known.emplace_back(kind_word(peers));
    if (said == known.back()) out.peers = peers;
  }
  if (!out.peers)
    word.fail(fmt::format("{} does not say how peers reach each other; expected {}",
                          in_quotes(said), "p2p, p2p-sockets or no-p2p"),
              did_you_mean(said, known));
}

void read_interconnect(const ClusterWords& words, NodeDescription& out) {
  const ClusterWord* chosen = nullptr;
  for (const char* key : {"nvswitch", "nvlink", "xgmi", "pcie"}) {
    const ClusterWord* word = find_word(words, key);
    if (word == nullptr) continue;
    if (chosen != nullptr) {
      word->fail(fmt::format("\"{}\" is given as well as \"{}\"", key, chosen->key),
                 "GPUs are joined in one way: keep one of nvswitch, nvlink, xgmi, pcie");
    }
    chosen = word;
  }
  if (chosen == nullptr) return;
  const bool sized = find_word(words, "gpu") != nullptr;
  if (sized)
    if (const auto foreign = foreign_link(chosen->key, out.gpu))
      chosen->fail(foreign->message, foreign->hint);
  if (chosen->key == "nvlink" || chosen->key == "xgmi") {
    read_nvlink(*chosen, sized ? std::optional(out.gpus_per_node) : std::nullopt, out.interconnect);
    if (!sized) return;
    const std::string problem = layout_problem(out.interconnect, out.gpus_per_node);
    if (!problem.empty()) chosen->fail(problem);
    return;
  }
  if (chosen->key == "pcie") return read_pcie(*chosen, out.interconnect);
  out.interconnect.kind = IntraKind::nvswitch;
  out.interconnect.per_gpu = chosen->bandwidth(chosen->value);
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
  read_interconnect(words, node);
  const ClusterWord* nic = find_word(words, "nic");
  if (nic != nullptr) {
    const NicWord written = read_nics(*nic, true);
    node.nics = written.count;
    node.per_nic = written.rate;
    out.network.kind = written.kind;
    out.network.sockets = written.sockets;
  }
  read_network_words(words, nic != nullptr, out);
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
