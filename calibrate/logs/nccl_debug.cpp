// NCCL's debug lines. Each has a head: host:pid:thread [gpu] NCCL INFO …
//
//   NCCL version 2.26.5+cuda12.9
//   NCCL_ALGO set by environment to RING
//   Using network AWS Libfabric
//
//   comm 0x… rank 3 nRanks 16 nNodes 2 localRanks 8 localRank 3 MNNVL 0
//
//   ncclCommInitRank comm 0x… rank 3 nranks 16 cudaDev 3 … - Init COMPLETE
//
//   16 coll channels, 16 collnet channels, 0 nvls channels, …
//   Channel 00/0 : 1[1] -> 8[0] [send] via NET/IB/0/GDRDMA
//
//   AllReduce: 4194304 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..15}
//   AllReduce: 4194304 Bytes -> Algo 1 proto 2 time 123.4       (before 2.22)
#include "nccl_debug.hpp"

#include <algorithm>

#include "ddpsim/formats/number.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kMostSettings = 200;
constexpr std::size_t kMostDecisions = 100'000;

void take_version(const Words& words, RawLog& log) {
  for (const std::string_view name : {std::string_view("NCCL"), std::string_view("RCCL")}) {
    const auto at = find_words(words, {name, "version"});
    if (!at) continue;
    std::size_t value = *at + 2;
    if (value < words.size() && words[value] == ":") ++value;
    if (value >= words.size()) continue;
    const std::string_view text = words[value].substr(0, words[value].find_first_of("+-"));
    const std::optional<NcclVersion> version = parse_nccl_version(text);
    if (!version) continue;
    log.rccl = log.rccl || name == "RCCL";
    if (!log.nccl) log.nccl = version;
  }
  constexpr std::string_view kLibrary = "nccl-library=";
  for (const std::string_view word : words) {
    log.rccl = log.rccl || word == "rccl-tests" || word.starts_with("rccl-library=");
    if (!word.starts_with(kLibrary)) continue;
    const auto code = parse_number<std::int64_t>(word.substr(kLibrary.size()));
    if (code && !log.nccl) log.nccl = nccl_version_of_code(*code);
  }
}

using NcclSettings = std::vector<std::pair<std::string, std::string>>;

/// Adds a setting once. Values that are no plain word are left out.
void add_once(NcclSettings& settings, std::string_view name, std::string_view value) {
  constexpr std::string_view kNameLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  const auto known = [&](const auto& setting) { return setting.first == name; };
  const auto printable = [](char c) { return c > ' ' && c < 0x7F; };
  if (name.size() > 60 || value.size() > 200 || settings.size() >= kMostSettings ||
      name.find_first_not_of(kNameLetters) != std::string_view::npos ||
      !std::all_of(value.begin(), value.end(), printable) ||
      std::any_of(settings.begin(), settings.end(), known)) {
    return;
  }
  settings.emplace_back(name, value);
}

/// An algorithm by name, or by NCCL's index before 2.22.
std::optional<Algorithm> algorithm_of(std::string_view word) {
  const auto index = parse_number<std::int64_t>(word);
  if (index && *index >= 0 && *index < kAlgorithms) return static_cast<Algorithm>(*index);
  return parse_algorithm(word);
}

std::optional<Protocol> protocol_of(std::string_view word) {
  const auto index = parse_number<std::int64_t>(word);
  if (index && *index >= 0 && *index < kProtocols) return static_cast<Protocol>(*index);
  return parse_protocol(word);
}

/// Number of channels: {Lo..Hi}={0..15} are 16.
std::optional<int> channels_of(std::string_view word) {
  constexpr std::string_view kRange = "channel{Lo..Hi}={";
  if (!word.starts_with(kRange) || !word.ends_with('}')) return std::nullopt;
  word.remove_prefix(kRange.size());
  word.remove_suffix(1);
  const std::size_t dots = word.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  const auto low = parse_number<std::int64_t>(word.substr(0, dots));
  const auto high = parse_number<std::int64_t>(word.substr(dots + 2));
  if (!low || !high || *low < 0 || *high < *low || *high > 1024) return std::nullopt;
  return static_cast<int>(*high - *low + 1);
}

void take_decision(const Words& words, NcclWords& said) {
  const auto at = find_words(words, {"Bytes", "->", "Algo"});
  if (!at || *at == 0 || *at + 5 >= words.size() || words[*at + 4] != "proto") return;
  if (*at >= 2 && words[*at - 2].ends_with(':') && words[*at - 2] != "AllReduce:") return;
  const auto size = parse_number<std::int64_t>(words[*at - 1]);
  const auto algorithm = algorithm_of(words[*at + 3]);
  const auto protocol = protocol_of(words[*at + 5]);
  if (!size || *size < 0 || !algorithm || !protocol || said.decisions.size() >= kMostDecisions) {
    return;
  }
  said.decisions.push_back(
      {.size = Bytes(*size),
       .algorithm = *algorithm,
       .protocol = *protocol,
       .channels = *at + 6 < words.size() ? channels_of(words[*at + 6]) : std::nullopt});
}

void take_count(const Words& words, std::string_view name, std::int64_t most,
                std::optional<int>& count) {
  const auto at = find_words(words, {name});
  const auto value = at ? integer_at(words, *at + 1) : std::nullopt;
  if (value && *value >= 1 && *value <= most) count = static_cast<int>(*value);
}

void take_transport(const Words& words, NcclWords& said) {
  if (const auto at = find_words(words, {"Using", "network"}); at && *at + 2 < words.size()) {
    said.network = words[*at + 2];
    if (said.network == "AWS") said.network = "OFI";  // "AWS Libfabric": the plugin aws-ofi-nccl
    if (said.network == "NCCL") said.network = "IB";  // "NCCL RDMA Plugin v8"
  }
  const auto via = find_words(words, {"via"});
  if (!via || *via + 1 >= words.size()) return;
  const std::string_view path = words[*via + 1];
  if (path.starts_with("P2P")) said.peer_to_peer = true;
  if (path.starts_with("SHM")) said.shared_memory = true;
  if (!path.starts_with("NET/")) return;
  said.channel_net = path.substr(4, path.find('/', 4) - 4);
  // A plugin's name may contain blanks: "NET/NCCL RDMA Plugin v8/4/GDRDMA" is the InfiniBand plugin
  // with SHARP.
  if (said.channel_net == "NCCL") said.channel_net = "IB";
  for (std::size_t k = *via + 1; k < words.size(); ++k)
    said.gpudirect = said.gpudirect || words[k].find("/GDRDMA") != std::string_view::npos;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> settings_in(const Words& words) {
  NcclSettings settings;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (!word.starts_with("NCCL_")) continue;
    if (const std::size_t equals = word.find('='); equals != std::string_view::npos) {
      add_once(settings, word.substr(0, equals), word.substr(equals + 1));
      continue;
    }
    const auto by = find_words(words, {"set", "by", "environment", "to"});
    if (!by || *by != i + 1 || i + 5 >= words.size()) continue;
    std::string_view value = words[i + 5];
    if (value.ends_with('.')) value.remove_suffix(1);
    add_once(settings, word, value);
  }
  return settings;
}

void take_nccl_words(const Words& words, RawLog& log) {
  take_version(words, log);
  const auto info = find_words(words, {"NCCL", "INFO"});
  if (!info) return;
  NcclWords& said = log.said;
  ++said.lines;
  take_decision(words, said);
  take_transport(words, said);
  constexpr std::int64_t kMostRanks = 10'000'000;
  take_count(words, "nranks", kMostRanks, said.ranks);
  take_count(words, "nRanks", kMostRanks, said.ranks);
  take_count(words, "nNodes", kMostRanks, said.nodes);
  if (const auto at = find_words(words, {"coll", "channels,"}); at && *at > 0) {
    const auto channels = parse_number<std::int64_t>(words[*at - 1]);
    if (channels && *channels >= 1 && *channels <= 1024)
      said.channels = static_cast<int>(*channels);
  }
}

std::string transport_of(const NcclWords& said) {
  // What a channel used outweighs what was announced, because nothing is announced within one node.
  std::string net = said.channel_net.empty() ? said.network : said.channel_net;
  if (net.starts_with("IB")) net = "IB";  // "IBext_v8", the plugin with SHARP
  if (net == "Libfabric" || net == "AWS") net = "OFI";
  const bool leaves_node = !said.channel_net.empty() || said.nodes.value_or(1) > 1 ||
                           (!said.peer_to_peer && !said.shared_memory);
  if (!net.empty() && leaves_node) return "NET/" + net.substr(0, 40);
  if (said.peer_to_peer && said.shared_memory) return "P2P and SHM";
  if (said.peer_to_peer) return "P2P";
  return said.shared_memory ? "SHM" : "";
}

void add_setting(RawLog& log, std::string_view name, std::string_view value) {
  add_once(log.settings, name, value);
}

std::optional<NcclVersion> nccl_version_of_code(std::int64_t code) {
  const std::int64_t major = code >= 10'000 ? 10'000 : 1'000;
  if (code < 2'000 || code >= 100'000) return std::nullopt;
  return NcclVersion{static_cast<int>(code / major), static_cast<int>(code % major / 100),
                     static_cast<int>(code % 100)};
}

}  // namespace ddpsim
