// The one-line form: node:COUNT gpu:PER_NODExMODEL INTERCONNECT [nic:…] [oversubscription:R]
// [latency:T], in any order. Messages place themselves at the token: "cluster:nic:8x200Gb: …".
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <map>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/quantity.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "description.hpp"

namespace ddpsim {
namespace {

const std::vector<std::string>& known_keys() {
  static const std::vector<std::string> keys = {"node", "gpu", "nvswitch",         "nvlink",
                                                "pcie", "nic", "oversubscription", "latency"};
  return keys;
}

/// One "key:value" of the line.
struct Token {
  std::string text;
  std::string key;
  std::string value;

  [[noreturn]] void fail(std::string message, std::string hint = "") const {
    const std::string shown = in_quotes(text);
    throw InputError(
        {"cluster", shown.substr(1, shown.size() - 2), std::move(message), std::move(hint)});
  }

  std::int64_t integer(std::string_view digits, const char* what, std::int64_t high) const {
    std::int64_t number = 0;
    const char* const end = digits.data() + digits.size();
    const auto result = std::from_chars(digits.data(), end, number);
    const bool whole = result.ptr == end && !digits.empty();
    if (!whole || result.ec == std::errc::invalid_argument) {
      fail(fmt::format("{} is not a number of {}", in_quotes(digits), what));
    }
    if (result.ec != std::errc() || number < 1 || number > high) {
      fail(fmt::format("{} is out of range; expected 1 to {} {}", in_quotes(digits), high, what));
    }
    return number;
  }

  Bandwidth bandwidth(std::string_view written) const {
    const auto parsed = parse_bandwidth(written);
    if (!parsed.value) fail(parsed.problem);
    return *parsed.value;
  }

  /// "8x200Gbps" -> {"8", "200Gbps"}.
  std::pair<std::string_view, std::string_view> counted(std::string_view written,
                                                        const char* form) const {
    const std::size_t cross = written.find('x');
    if (cross == written.npos || cross == 0 || cross + 1 == written.size()) {
      fail(fmt::format("{} is not {}", in_quotes(written), form));
    }
    return {written.substr(0, cross), written.substr(cross + 1)};
  }
};

using Tokens = std::map<std::string, Token>;

Tokens split(std::string_view line) {
  Tokens tokens;
  constexpr std::string_view kSpace = " \t\r\n";
  for (std::size_t at = line.find_first_not_of(kSpace); at < line.size();) {
    const std::size_t end = std::min(line.find_first_of(kSpace, at), line.size());
    Token token;
    token.text = line.substr(at, end - at);
    const std::size_t colon = token.text.find(':');
    token.key = token.text.substr(0, colon);
    bool known = false;
    for (const std::string& key : known_keys()) known = known || key == token.key;
    if (!known) {
      std::string all;
      for (const std::string& key : known_keys()) all += (all.empty() ? "" : ", ") + key;
      const auto near = nearest(token.key, known_keys());
      token.fail("unknown key " + in_quotes(token.key),
                 near ? fmt::format("Did you mean \"{}\"?", *near) : "Known keys: " + all);
    }
    if (colon == token.text.npos || colon + 1 == token.text.size()) {
      token.fail(fmt::format("\"{}\" has no value; expected {}:…", token.key, token.key));
    }
    token.value = token.text.substr(colon + 1);
    if (tokens.count(token.key) != 0) token.fail(fmt::format("\"{}\" is given twice", token.key));
    tokens.emplace(token.key, token);
    at = line.find_first_not_of(kSpace, end);
  }
  return tokens;
}

const Token* find(const Tokens& tokens, const std::string& key) {
  const auto found = tokens.find(key);
  return found == tokens.end() ? nullptr : &found->second;
}

/// Cuts ":pair" off "2x25GBps:pair" and returns "pair".
std::optional<std::string> cut_suffix(std::string& value) {
  const std::size_t colon = value.find(':');
  if (colon == value.npos) return std::nullopt;
  std::string suffix = value.substr(colon + 1);
  value.resize(colon);
  return suffix;
}

void read_gpu(const Token& token, NodeDescription& out) {
  const auto [count, model] = token.counted(token.value, "PER_NODExMODEL, such as \"8xA100\"");
  out.gpus_per_node = static_cast<int>(token.integer(count, "GPUs per node", kMostGpusPerNode));
  out.gpus_in_layout = out.gpus_per_node;
  const auto gpu = find_gpu(model);
  if (!gpu) {
    const auto names = gpu_names();
    const auto near = nearest(model, names);
    std::string all;
    for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
    token.fail("unknown GPU " + in_quotes(model),
               near ? fmt::format("Did you mean \"{}\"?", *near) : "Known GPUs: " + all);
  }
  out.gpu = *gpu;
}

void read_nvlink(const Token& token, std::optional<int> gpus, InterconnectDescription& out) {
  std::string value = token.value;
  const auto layout = cut_suffix(value);
  const auto [links, rate] = token.counted(value, "LINKSxBANDWIDTH, such as \"6x25GBps\"");
  out.kind = IntraKind::nvlink;
  out.links_per_gpu = static_cast<int>(token.integer(links, "links per GPU", kMostLinksPerGpu));
  out.per_link = token.bandwidth(rate);
  if (!layout) {
    if (gpus) out.layout = default_layout(*gpus);
  } else if (*layout == "pair") {
    out.layout = NvlinkLayout::pair;
  } else if (*layout == "mesh") {
    out.layout = NvlinkLayout::mesh;
  } else if (*layout == "cube") {
    out.layout = NvlinkLayout::cube;
  } else {
    const std::vector<std::string> words = {"pair", "mesh", "cube"};
    const auto near = nearest(*layout, words);
    token.fail(fmt::format("{} is not a layout; expected pair, mesh or cube", in_quotes(*layout)),
               near ? fmt::format("Did you mean \"{}\"?", *near) : "");
  }
}

void read_nic(const Token& token, ClusterDescription& cluster) {
  NodeDescription& out = cluster.types.front();
  std::string value = token.value;
  const auto kind = cut_suffix(value);
  const auto [count, rate] = token.counted(value, "PER_NODExBANDWIDTH, such as \"8x200Gbps\"");
  out.nics = static_cast<int>(token.integer(count, "NICs per node", kMostNicsPerNode));
  out.per_nic = token.bandwidth(rate);
  const auto known = network_kind(kind.value_or("ib"));
  if (!known) {
    const auto near = nearest(*kind, network_words());
    token.fail(fmt::format("{} is not a network; expected ib, roce, tcp, efa or slingshot",
                           in_quotes(*kind)),
               near ? fmt::format("Did you mean \"{}\"?", *near) : "");
  }
  cluster.network.kind = *known;
}

void read_interconnect(const Tokens& tokens, NodeDescription& out) {
  const Token* chosen = nullptr;
  for (const char* key : {"nvswitch", "nvlink", "pcie"}) {
    const Token* token = find(tokens, key);
    if (token == nullptr) continue;
    if (chosen != nullptr) {
      token->fail(fmt::format("\"{}\" is given as well as \"{}\"", key, chosen->key),
                  "GPUs are joined in one way: keep one of nvswitch, nvlink, pcie");
    }
    chosen = token;
  }
  if (chosen == nullptr) return;
  if (chosen->key == "nvlink") {
    const bool sized = find(tokens, "gpu") != nullptr;
    read_nvlink(*chosen, sized ? std::optional(out.gpus_per_node) : std::nullopt, out.interconnect);
    if (!sized) return;
    const std::string problem = layout_problem(out.interconnect, out.gpus_per_node);
    if (!problem.empty()) chosen->fail(problem);
    return;
  }
  out.interconnect.kind = chosen->key == "pcie" ? IntraKind::pcie : IntraKind::nvswitch;
  out.interconnect.per_gpu = chosen->bandwidth(chosen->value);
}

void read_network(const Tokens& tokens, ClusterDescription& cluster) {
  const Token* nic = find(tokens, "nic");
  if (nic != nullptr) read_nic(*nic, cluster);
  Network& out = cluster.network;
  if (const Token* token = find(tokens, "oversubscription")) {
    double ratio = 0;
    const char* const end = token->value.data() + token->value.size();
    const auto result = std::from_chars(token->value.data(), end, ratio);
    if (result.ec != std::errc() || result.ptr != end || !(ratio >= 1) ||
        !(ratio <= kMostOversubscription)) {
      token->fail(in_quotes(token->value) + " is not a ratio from 1 (none) to 1000");
    }
    out.oversubscription = ratio;
  }
  if (const Token* token = find(tokens, "latency")) {
    const auto parsed = parse_duration(token->value);
    if (!parsed.value) token->fail(parsed.problem);
    if (*parsed.value > Duration::seconds(1)) {
      token->fail(in_quotes(token->value) + " is out of range; expected at most 1s, one way");
    }
    out.latency = *parsed.value;
  }
  for (const char* key : {"oversubscription", "latency"}) {
    const Token* token = find(tokens, key);
    if (token != nullptr && nic == nullptr) {
      token->fail("describes the network, and there is none",
                  "Add one, such as \"nic:1x100Gbps:ib\"");
    }
  }
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
  const Tokens tokens = split(line);
  NodeDescription& node = out.types.front();
  if (const Token* token = find(tokens, "node")) {
    node.count = static_cast<int>(token->integer(token->value, "nodes", kMostNodes));
  }
  if (const Token* token = find(tokens, "gpu")) read_gpu(*token, node);
  read_interconnect(tokens, node);
  read_network(tokens, out);
  if (find(tokens, "node") == nullptr) missing("the number of nodes", "Add \"node:COUNT\"");
  if (find(tokens, "gpu") == nullptr) {
    missing("the GPUs", "Add \"gpu:PER_NODExMODEL\", such as \"gpu:8xA100\"");
  }
  if (node.interconnect.kind == IntraKind::none && node.gpus_per_node > 1) {
    missing("how the GPUs of a node are joined",
            "Add one of \"nvswitch:300GBps\", \"nvlink:6x25GBps\", \"pcie:12GBps\"");
  }
  // Name it by its own words in the reader's order of interest, whatever the order written.
  for (const std::string& key : known_keys()) {
    if (const Token* token = find(tokens, key)) {
      out.name += (out.name.empty() ? "" : " ") + token->text;
    }
  }
  return out;
}

Cluster parse_cluster_line(std::string_view line) {
  return seal(describe_line(line)).cluster;
}

}  // namespace ddpsim
