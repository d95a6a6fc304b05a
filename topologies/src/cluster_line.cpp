// The one-line form, with words in any order: node:COUNT gpu:PER_NODExMODEL INTERCONNECT
// [root:GPUS] [domain:NODES] [nic:…] [oversubscription:R[,R]] [leaf:NODES [pod:NODES]] [rail:NODES]
// [placement:ORDER] [latency:T] [connection:BW] [switches:FILE].
#include "ddpsim/topologies/cluster_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cluster_words.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "ddpsim/topologies/kind_words.hpp"
#include "description.hpp"

namespace ddpsim {
namespace {

constexpr std::array kLineWords = {
    LineWord{"node", "2", "nodes"},
    LineWord{"gpu", "8xA100", "GPUs of a node, and which"},
    LineWord{"nvswitch", "300GBps", "NVSwitch; rate of each GPU, one way", WordRole::joins_gpus},
    LineWord{"nvlink", "6x25GBps",
             "NVLink from GPU to GPU; links of each GPU and the rate of a link",
             WordRole::joins_gpus},
    LineWord{"xgmi", "7x64GBps", "xGMI (AMD); links of each GPU and the rate of a link",
             WordRole::joins_gpus},
    LineWord{"pcie", "25GBps", "PCIe only; rate of each GPU's slot", WordRole::joins_gpus},
    LineWord{"root", "4", "GPUs below one root port of the processor", WordRole::general, false},
    LineWord{"domain", "18", "nodes whose GPUs one NVLink domain joins"},
    LineWord{"nic", "8x200Gbps:ib", "NICs of a node, the rate of each, and the kind of network"},
    LineWord{"oversubscription", "2", "bandwidth into a switch over its bandwidth upwards",
             WordRole::network},
    LineWord{"leaf", "4", "nodes under one leaf switch", WordRole::network},
    LineWord{"pod", "16", "nodes whose leaves share spines", WordRole::network},
    LineWord{"rail", "32", "nodes of a pod that has a leaf for each rail", WordRole::network},
    LineWord{"placement", "ordered", "whether ranks follow the leaves, or are scattered",
             WordRole::network},
    LineWord{"latency", "2us", "latency of the network, one way", WordRole::network},
    LineWord{"connection", "10Gbps", "what one TCP connection carries", WordRole::network},
    LineWord{"switches", "FILE", "file with the switch of each node", WordRole::network},
};

const std::vector<std::string>& keys_of_a_line() {
  static const std::vector<std::string> keys = keys_of_words([](const LineWord&) { return true; });
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

std::string rate_value(Bandwidth rate) {
  return fmt::format("{:.6g}GBps", rate.gigabytes_per_second());
}

/// "nvlink:6x25GBps:mesh". For nodes that are wired link by link, what their rings use.
std::string joined_by(const NodeDescription& node, const Interconnect& used) {
  const InterconnectDescription& links = node.interconnect;
  const std::string_view word = kind_word(used.kind, node.gpu.vendor);
  if (used.kind != IntraKind::nvlink) {
    std::string text = fmt::format("{}:{}", word, rate_value(used.per_gpu));
    if (links.peers) text += fmt::format(":{}", kind_word(*links.peers));
    if (links.gpus_per_root > 0) text += fmt::format(" root:{}", links.gpus_per_root);
    return text;
  }
  if (node.wiring) {
    const int count = std::max(1, used.links_per_gpu);
    return fmt::format("{}:{}x{}", word, count, rate_value(used.per_gpu / count));
  }
  std::string text = fmt::format("{}:{}x{}", word, links.links_per_gpu, rate_value(links.per_link));
  if (links.layout != default_layout(node.gpus_per_node, node.gpu.vendor))
    text += fmt::format(":{}", word_for(links.layout));
  return text;
}

std::string nic_word(const Network& network, int hosts_per_node) {
  std::string text = fmt::format("nic:{}x{:.6g}Gbps:{}", network.nics_per_node / hosts_per_node,
                                 8 * network.per_nic.gigabytes_per_second(), kind_word(network));
  return network.kind != NetworkKind::tcp && !network.gpudirect ? text + ":no-gdr" : text;
}

bool describes_nodes(const std::string& line) {
  try {
    resolve(describe_line(line));
    return true;
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace

const char* word_for(NvlinkLayout layout) {
  return layout == NvlinkLayout::pair ? "pair" : layout == NvlinkLayout::mesh ? "mesh" : "cube";
}

std::span<const LineWord> line_words() {
  return kLineWords;
}

std::vector<std::string> keys_of_words(bool (*test)(const LineWord& word)) {
  std::vector<std::string> keys;
  for (const LineWord& word : kLineWords)
    if (test(word)) keys.emplace_back(word.key);
  return keys;
}

std::optional<std::string> line_of(const ClusterDescription& description, const Cluster& resolved) {
  const NodeDescription& node = description.types.front();
  std::string line = fmt::format("node:{} gpu:{}x{}", resolved.hosts(), resolved.gpus_per_host(),
                                 resolved.gpu.product());
  const bool domain = resolved.hosts_per_node > 1;
  if (resolved.gpus_per_host() > 1 || domain) line += " " + joined_by(node, resolved.intra);
  if (domain) line += fmt::format(" domain:{}", resolved.hosts_per_node);
  const Network& network = resolved.network;
  if (network.kind != NetworkKind::none) {
    line += " " + nic_word(network, resolved.hosts_per_node);
    if (network.oversubscription > 1)
      line += fmt::format(" oversubscription:{:.6g}", network.oversubscription);
  }
  return describes_nodes(line) ? std::optional(line) : std::nullopt;
}

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
  // The name consists of the user's words, in the order that readers expect.
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
