#include "cluster_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "ddpsim/formats/files.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quantity.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "ddpsim/formats/words.hpp"
#include "ddpsim/topologies/cluster_line.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "ddpsim/topologies/kind_words.hpp"
#include "nccl_rates.hpp"
#include "switch_list.hpp"

namespace ddpsim {
namespace {

/// Reads nvlink and xgmi. `gpus` is absent if the words do not state it.
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

/// Reads BANDWIDTH[:p2p, :p2p-sockets or :no-p2p].
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

/// Removes ":gdr" or ":no-gdr" from the end.
std::optional<bool> take_gpudirect(std::string_view& value) {
  for (const bool direct : {true, false}) {
    const std::string_view word = direct ? ":gdr" : ":no-gdr";
    if (!value.ends_with(word)) continue;
    value.remove_suffix(word.size());
    return direct;
  }
  return std::nullopt;
}

double read_ratio(const ClusterWord& word, std::string_view written) {
  const auto ratio = parse_number<double>(written);
  if (!ratio || !(*ratio >= 1 && *ratio <= kMostOversubscription))
    word.fail(in_quotes(written) + " is not a ratio from 1 (none) to 1000");
  return *ratio;
}

/// The description of switches, which must be of this kind.
SwitchPlan& plan_of(const ClusterWord& word, SwitchPlan::Kind kind, ClusterDescription& out) {
  if (out.switches && out.switches->kind != kind)
    word.fail("conflicts with another word that places nodes on switches", "Keep one of them");
  if (!out.switches) out.switches = SwitchPlan{.kind = kind};
  return *out.switches;
}

int nodes_below(const ClusterWord& word, const char* what) {
  return static_cast<int>(word.integer(word.value, what, kMostNodesPerLeaf));
}

void read_pod(const ClusterWord& word, ClusterDescription& out) {
  if (!out.switches || out.switches->kind != SwitchPlan::Kind::leaf_spine)
    word.fail("states how many nodes share spines, but not how many share a leaf",
              "Add \"leaf:NODES\"");
  out.switches->nodes_per_pod = nodes_below(word, "nodes per pod");
  if (const std::string problem = pod_problem(*out.switches); !problem.empty()) word.fail(problem);
}

/// Reads "R", or "R,R" for leaves and pods.
void read_oversubscription(const ClusterWord& word, ClusterDescription& out) {
  const std::string_view value = word.value;
  const std::size_t comma = value.find(',');
  out.network.oversubscription = read_ratio(word, value.substr(0, comma));
  if (comma == value.npos) return;
  if (!out.switches || out.switches->nodes_per_pod == 0)
    word.fail("states a second ratio, but not how many nodes share a pod",
              "Add \"leaf:NODES pod:NODES\", or give one ratio");
  out.switches->pod_oversubscription = read_ratio(word, value.substr(comma + 1));
}

void read_placement(const ClusterWord& word, ClusterDescription& out) {
  if (!out.switches || out.switches->kind == SwitchPlan::Kind::one_switch)
    word.fail("states the placement of ranks on leaves, but not which nodes share a leaf",
              "Add \"leaf:NODES\", \"rail:NODES\" or \"switches:FILE\"");
  const auto placement = placement_of(word.value);
  if (!placement)
    word.fail(fmt::format("{} is no order of ranks; expected ordered or scattered",
                          in_quotes(word.value)),
              did_you_mean(word.value, std::vector<std::string>{"ordered", "scattered"}));
  out.switches->placement = placement;
}

/// Reads which nodes share switches, and the oversubscription of each tier.
void read_tiers(const ClusterWords& words, ClusterDescription& out) {
  if (const ClusterWord* word = find_word(words, "switches"))
    out.switches = parse_switch_list(read_file(word->value, kLargestSwitchList), word->value);
  if (const ClusterWord* word = find_word(words, "leaf"))
    plan_of(*word, SwitchPlan::Kind::leaf_spine, out).nodes_per_leaf =
        nodes_below(*word, "nodes per leaf");
  if (const ClusterWord* word = find_word(words, "rail"))
    plan_of(*word, SwitchPlan::Kind::rail, out).nodes_per_leaf =
        nodes_below(*word, "nodes on a rail's leaf");
  if (const ClusterWord* word = find_word(words, "pod")) read_pod(*word, out);
  if (const ClusterWord* word = find_word(words, "oversubscription"))
    read_oversubscription(*word, out);
  if (const ClusterWord* word = find_word(words, "placement")) read_placement(*word, out);
}

}  // namespace

void read_root(const ClusterWord& word, int gpus, InterconnectDescription& out) {
  if (out.kind != IntraKind::pcie)
    word.fail("states how many GPUs share a PCIe root port, but PCIe does not join them",
              "Leave it out, or write pcie:RATE to join the GPUs by PCIe");
  out.gpus_per_root = static_cast<int>(word.integer(word.value, "GPUs per root port", gpus));
  if (out.peers == PeerAccess::one_root && out.gpus_per_root < gpus)
    word.fail("contradicts pcie:RATE:p2p, which puts all GPUs under one root port",
              "Leave one of the two out");
}

void ClusterWord::fail(std::string message, Hint hint) const {
  throw InputError({"cluster", legible(text), std::move(message), std::move(hint)});
}

std::int64_t ClusterWord::integer(std::string_view digits, const char* what,
                                  std::int64_t high) const {
  std::string_view rest = digits;
  const auto number = take_number<std::int64_t>(rest);
  if (!rest.empty() || digits.empty()) {
    fail(fmt::format("{} is not a number of {}", in_quotes(digits), what));
  }
  if (!number || *number < 1 || *number > high) {
    fail(fmt::format("{} is out of range; expected 1 to {} {}", in_quotes(digits), high, what));
  }
  return *number;
}

Bandwidth ClusterWord::bandwidth(std::string_view written) const {
  const auto parsed = parse_bandwidth(written);
  if (!parsed.value) fail(parsed.problem);
  return *parsed.value;
}

std::pair<std::string_view, std::string_view> ClusterWord::counted(std::string_view written,
                                                                   const char* form) const {
  const std::size_t cross = written.find('x');
  if (cross == written.npos || cross == 0 || cross + 1 == written.size()) {
    fail(fmt::format("{} is not {}", in_quotes(written), form));
  }
  return {written.substr(0, cross), written.substr(cross + 1)};
}

ClusterWords split_words(std::string_view line, const std::vector<std::string>& known) {
  ClusterWords words;
  for (const std::string_view text : words_of(line)) {
    ClusterWord word;
    word.text = text;
    const std::size_t colon = word.text.find(':');
    word.key = word.text.substr(0, colon);
    if (std::find(known.begin(), known.end(), word.key) == known.end()) {
      word.fail("unknown key " + in_quotes(word.key),
                did_you_mean_or_known(word.key, known, "Known keys"));
    }
    if (colon == word.text.npos || colon + 1 == word.text.size()) {
      word.fail(fmt::format("\"{}\" has no value; expected {}:…", word.key, word.key));
    }
    word.value = word.text.substr(colon + 1);
    if (words.count(word.key) != 0) word.fail(fmt::format("\"{}\" is given twice", word.key));
    words.emplace(word.key, word);
  }
  return words;
}

const ClusterWord* find_word(const ClusterWords& words, const std::string& key) {
  const auto found = words.find(key);
  return found == words.end() ? nullptr : &found->second;
}

GpuModel read_gpu_model(const ClusterWord& word, std::string_view name) {
  if (auto gpu = find_gpu(name)) {
    const std::string beyond = beyond_gpu_name(name);
    if (beyond.empty()) return *gpu;
    if (beyond.front() == '@')
      word.fail(fmt::format("{} behind the GPU's model {} is not understood", in_quotes(beyond),
                            gpu->name),
                fmt::format("The number of nodes is a word of its own: \"gpu:{} node:{}\"",
                            word.value.substr(0, word.value.find('@')), beyond.substr(1)));
  }
  word.fail(gpu_name_problem(name), gpus_instead_of(name));
}

const ClusterWord* interconnect_word(const ClusterWords& words) {
  const ClusterWord* chosen = nullptr;
  for (const std::string& key :
       keys_of_words([](const LineWord& one) { return one.role == WordRole::joins_gpus; })) {
    const ClusterWord* word = find_word(words, key);
    if (word == nullptr) continue;
    if (chosen != nullptr) {
      word->fail(fmt::format("\"{}\" conflicts with \"{}\"", key, chosen->key),
                 "Keep one of nvswitch, nvlink, xgmi, pcie");
    }
    chosen = word;
  }
  return chosen;
}

void read_interconnect(const ClusterWords& words, bool sized, NodeDescription& out) {
  const ClusterWord* chosen = interconnect_word(words);
  if (chosen == nullptr) return;
  if (sized)
    if (const auto foreign = foreign_link(chosen->key, out.gpu))
      chosen->fail(foreign->message, foreign->hint);
  if (chosen->key == "nvlink" || chosen->key == "xgmi") {
    read_nvlink(*chosen, sized ? std::optional(out.gpus_per_node) : std::nullopt, out.interconnect);
    if (!sized) return;
    const std::string problem = layout_problem(out.interconnect, out.gpus_per_node);
    if (!problem.empty()) {
      const bool switched = chosen->key == "nvlink" &&
                            chosen->value.find(':') == std::string::npos &&
                            out.interconnect.links_per_gpu == out.gpu.links;
      chosen->fail(problem,
                   switched
                       ? fmt::format("Where NVSwitches join them: \"nvswitch:{:g}GBps\"",
                                     nvlink_rate(out.gpu).nominal * out.interconnect.links_per_gpu)
                       : "");
    }
    return;
  }
  if (chosen->key == "pcie") return read_pcie(*chosen, out.interconnect);
  out.interconnect.kind = IntraKind::nvswitch;
  out.interconnect.per_gpu = chosen->bandwidth(chosen->value);
}

NicWord read_nics(const ClusterWord& word, bool count_needed) {
  constexpr const char* kForm = "PER_NODExBANDWIDTH, such as \"8x200Gbps\"";
  constexpr std::int64_t kMostBondedPorts = 8;
  NicWord out;
  std::string_view written = word.value;
  out.gpudirect = take_gpudirect(written);
  const std::size_t colon = written.find(':');
  std::string kind = "ib";
  if (colon != written.npos) {
    kind = written.substr(colon + 1);
    out.kind_stated = true;
    written = written.substr(0, colon);
  }
  if (count_needed || written.find('x') != written.npos) {
    const auto [count, rate] = word.counted(written, kForm);
    out.count = static_cast<int>(word.integer(count, "NICs per node", kMostNicsPerNode));
    written = rate;
  }
  const std::size_t cross = written.find('x');
  const std::int64_t ports =
      cross == written.npos
          ? 1
          : word.integer(written.substr(0, cross), "bonded ports of a NIC", kMostBondedPorts);
  out.rate = word.bandwidth(written.substr(cross == written.npos ? 0 : cross + 1)) *
             static_cast<double>(ports);
  Network named;
  if (!name_network(kind, named))
    word.fail(
        fmt::format("{} is not a network; expected ib, roce, tcp, tcp-vm, tcpx, efa or slingshot",
                    in_quotes(kind)),
        did_you_mean(kind, network_kind_words()));
  out.kind = named.kind;
  out.sockets = named.sockets;
  if (out.gpudirect && out.kind == NetworkKind::tcp)
    word.fail("states whether NICs reach GPU memory, which does not apply to sockets",
              "Leave out gdr or no-gdr, which apply to ib, roce, efa and slingshot");
  return out;
}

void state_gpudirect(const NicWord& word, ClusterDescription& out) {
  if (!word.gpudirect) return;
  out.network.gpudirect = *word.gpudirect;
  out.gpudirect_stated = true;
}

void read_domain(const ClusterWords& words, ClusterDescription& out) {
  if (const ClusterWord* word = find_word(words, "domain"))
    out.nodes_per_domain =
        static_cast<int>(word->integer(word->value, "nodes per NVLink domain", kMostGpusPerNode));
}

void read_network_words(const ClusterWords& words, bool has_network, ClusterDescription& out) {
  read_tiers(words, out);
  if (const ClusterWord* word = find_word(words, "latency")) {
    const auto parsed = parse_duration(word->value);
    if (!parsed.value) word->fail(parsed.problem);
    if (*parsed.value > Duration::seconds(1)) {
      word->fail(in_quotes(word->value) + " is out of range; expected at most 1s, one way");
    }
    out.network.latency = *parsed.value;
  }
  if (const ClusterWord* word = find_word(words, "connection")) {
    out.network.connection = word->bandwidth(word->value);
    if (has_network && !through_sockets(out.network)) word->fail(kNoConnections);
  }
  for (const std::string& key :
       keys_of_words([](const LineWord& one) { return one.role == WordRole::network; })) {
    const ClusterWord* word = find_word(words, key);
    if (word != nullptr && !has_network) {
      word->fail("describes a network, but the cluster has none",
                 "Add one, such as \"nic:1x100Gbps:ib\"");
    }
  }
}

}  // namespace ddpsim
