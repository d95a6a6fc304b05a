// NCCL's debug lines in the forms of several versions. Each has a head: host:pid:thread [gpu] NCCL
// INFO …
//
//   NCCL version 2.26.2+cuda12.8
//   cudaDriverVersion 12080
//
//   NET/IB : Using [0]mlx5_0:1/IB/SHARP [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>
//   NET/IB : Using [0]={[0] mlx5_2:1/RoCE, [1] mlx5_3:1/RoCE}   (2.20 to 2.22: merged ports)
//
//   NET/IB: [0] mlx5_0:uverbs0:1/IB provider=Mlx5 speed=400000 context=0x… pciPath=… ar=1
//   NET/IB : Made virtual device [8] name=mlx5_0+mlx5_1 speed=400000 ndevs=2                    (since 2.24)
//   NET/IB : No device found.
//
//   NET/Socket : Using [0]eth0:10.0.0.1<0>
//   NET/Plugin: Loaded net plugin NCCL RDMA Plugin v8 (v8)
//   Using network NCCL RDMA Plugin v8
//
//   comm 0x… rank 3 nRanks 16 nNodes 2 localRanks 8 localRank 3 MNNVL 0          (since 2.19)
//
//   16 coll channels, 16 collnet channels, 0 nvls channels, 16 p2p channels, …
//   comm 0x… rank 0 nranks 16 cudaDev 0 busId 4b000 - Init COMPLETE
//
//   Ring 00 : 15 -> 0 [receive] via NET/IB/0/GDRDMA                              (2.4)
//   Channel 00 : 0[7000] -> 8[7000] [send] via NET/IB/1/GDRDMA/Shared            (2.6 to 2.15)
//   Channel 00/0 : 9[1] -> 0[0] [send] via NET/IB/0(8)/GDRDMA                    (since 2.16; (8): PXN)
//
//   Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM, via SHM/direct/direct, via direct shared memory
//   Connected all rings, use ring PXN 0 GDR 1
//
//   AllReduce: 4194304 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..15}
//   host:pid:thread [gpu] misc/socket.cc:537 NCCL WARN …
#include "ddpsim/diagnose/evidence/nccl_facts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ddpsim/formats/log_words.hpp"
#include "ddpsim/sim/values/versions.hpp"
#include "evidence_words.hpp"
#include "nccl_lines.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kMostChoices = 10'000;

NcclLineHead head_of(std::string_view before) {
  NcclLineHead head;
  const Words words = words_of(before);
  for (std::size_t k = words.size(); k-- > 1;) {
    if (!words[k].starts_with('[') || !words[k].ends_with(']')) continue;
    if (!parse_number<int>(words[k].substr(1, words[k].size() - 2))) continue;
    std::string_view name = words[k - 1];
    if (const std::size_t prefix = name.rfind(">:"); prefix != std::string_view::npos)
      name.remove_prefix(prefix + 2);
    head.thread = legible(name, 120);
    head.host = legible(up_to(name, ":"), 80);
    break;
  }
  return head;
}

void take_version_line(std::string_view line, const std::string& place, NcclFacts& facts) {
  for (const std::string_view library : {std::string_view("NCCL"), std::string_view("RCCL")}) {
    const Words words = words_of(line);
    const auto at = find_words(words, {library, "version"});
    if (!at) continue;
    std::size_t value = *at + 2;
    if (value < words.size() && words[value] == ":") ++value;
    if (value >= words.size()) continue;
    const auto version = parse_nccl_version(up_to(words[value], "+-"));
    if (version)
      note_once(facts.versions, (library == "RCCL" ? "RCCL " : "") + to_string(*version), place);
  }
  if (const auto driver = after_mark(line, "cudaDriverVersion "); driver && !facts.cuda_driver) {
    const auto code = leading_number<int>(*driver);
    if (code && *code >= 1000 && *code < 1'000'000)
      facts.cuda_driver = {fmt::format("{}.{}", *code / 1000, *code % 1000 / 10), place};
  }
}

void take_peer_line(std::string_view said, const std::string& place, NcclFacts& facts) {
  if (said.find("P2P is disabled between NVLINK connected GPUs") != std::string_view::npos) {
    if (!facts.nvlink_refused) facts.nvlink_refused = {legible(said, 200), place};
  } else if (said.find("Could not enable P2P between") != std::string_view::npos ||
             said.find("P2P not supported between GPU") != std::string_view::npos ||
             said.find("P2P is disabled between connected GPUs") != std::string_view::npos) {
    if (!facts.peer_access_refused) facts.peer_access_refused = {legible(said, 200), place};
  }
}

/// The name of a choice, which NCCL before 2.22 prints as an index.
std::string name_by_index(std::string_view word, std::initializer_list<std::string_view> names) {
  const auto index = parse_number<std::size_t>(word);
  if (index && *index < names.size()) return std::string(names.begin()[*index]);
  std::string name = legible(word, 24);
  for (char& c : name)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return name;
}

void take_choice_line(std::string_view said, const std::string& place, NcclFacts& facts) {
  if (said.find(" -> Algo ") == std::string_view::npos) return;
  const Words words = words_of(said);
  const auto at = find_words(words, {"Bytes", "->", "Algo"});
  if (!at || *at == 0 || *at + 5 >= words.size() || words[*at + 4] != "proto") return;
  if (*at >= 2 && words[*at - 2].ends_with(':') && words[*at - 2] != "AllReduce:") return;
  const auto size = parse_number<std::int64_t>(words[*at - 1]);
  if (!size || *size < 0 || facts.choices.size() >= kMostChoices) return;
  NcclChoice choice{
      .algorithm = name_by_index(
          words[*at + 3], {"TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE"}),
      .protocol = name_by_index(words[*at + 5], {"LL", "LL128", "SIMPLE"}),
      .channels = {},
      .place = place};
  if (const auto range = after_mark(said, "channel{Lo..Hi}={")) {
    const auto low = leading_number<int>(*range);
    const auto high = after_mark(*range, "..");
    const auto last = high ? leading_number<int>(*high) : std::nullopt;
    if (low && last && *low >= 0 && *last >= *low && *last < 1024)
      choice.channels = *last - *low + 1;
  }
  facts.choices.try_emplace(*size, std::move(choice));
}

/// Keeps a warning once, whatever numbers and addresses it contains.
void take_warning(std::string_view text, const std::string& place, NcclFacts& facts) {
  const auto kind = [](std::string_view words) {
    std::string letters;
    for (const char c : words)
      if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == ' ') letters += c;
    return letters.substr(0, 60);
  };
  const std::string shown = legible(trimmed(text), 200);
  const auto same = [&](const NotedWord& known) { return kind(known.word) == kind(shown); };
  if (facts.warnings.size() < 32 && std::ranges::none_of(facts.warnings, same))
    facts.warnings.push_back({shown, place});
}

/// Where the text of NCCL begins in a line quoted without its head "host:pid:thread [gpu] NCCL INFO
/// ". Absent if the line is not NCCL's.
std::optional<std::size_t> begin_of_lone_line(std::string_view line) {
  const auto says = [&](std::string_view words) {
    return line.find(words) != std::string_view::npos;
  };
  if (const std::size_t channel = line.find("Channel ");
      channel != std::string_view::npos && says(" -> ") && says(" via "))
    return channel;
  for (const std::string_view mark :
       {"NET/IB : ", "NET/Socket : ", "NET/Plugin", "NET/OFI ", "GPU Direct RDMA "})
    if (const std::size_t at = line.find(mark); at != std::string_view::npos) return at;
  if (trimmed(line).starts_with("via NET/")) return line.find("via NET/");
  for (const std::string_view mark : {"Using network ", "Connected all rings", " coll channels, "})
    if (const std::size_t at = line.find(mark); at != std::string_view::npos && at < 40) return 0;
  if (says(" nRanks ") && says(" nNodes ")) return 0;
  return std::nullopt;
}

std::optional<int> count_behind(const Words& words, std::string_view name, int most) {
  const auto at = find_words(words, {name});
  const auto value = at ? integer_at(words, *at + 1) : std::nullopt;
  if (!value || *value < 1 || *value > most) return std::nullopt;
  return static_cast<int>(*value);
}

std::optional<int> count_before(const Words& words, std::string_view kind) {
  const auto at = std::ranges::find(words, kind);
  if (at == words.end() || at == words.begin() || at + 1 == words.end()) return std::nullopt;
  if (!(at + 1)->starts_with("channels")) return std::nullopt;
  const auto value = parse_number<int>(*(at - 1));
  if (!value || *value < 0 || *value > 1024) return std::nullopt;
  return value;
}

}  // namespace

std::set<std::string> NcclFacts::network_names() const {
  std::set<std::string> names;
  for (const auto& [name, ends] : networks) names.insert(name);
  if (!names.empty()) return names;
  for (const NotedWord& network : announced) names.insert(network.word);
  if (!names.empty()) return names;
  if (!nics.empty()) return {"IB"};
  if (!interfaces.empty()) return {"Socket"};  // NCCL lists them only if it uses them
  return {};
}

std::string NcclFacts::network_place() const {
  if (!network_places.empty()) return network_places.begin()->second;
  if (!announced.empty()) return announced.front().place;
  return interfaces.empty() ? "NCCL's log" : interfaces.front().place;
}

bool NcclFacts::one_node() const {
  const LoggedCommunicator* job = largest();
  return networks.empty() && job != nullptr && job->nodes == 1;
}

bool NcclFacts::several_nodes() const {
  if (!networks.empty()) return true;
  const LoggedCommunicator* job = largest();
  return job != nullptr && job->nodes.value_or(1) > 1;
}

bool NcclFacts::sends_beside_sockets() const {
  return !networks.empty() && !networks.contains("Socket");
}

bool NcclFacts::variables_read() const {
  // From then on, NCCL reads variables about connections later.
  constexpr NcclVersion kConnectsLater{2, 22, 0};
  if (versions.empty() || !initialised) return false;
  std::string_view word = versions.front().word;
  if (word.starts_with("RCCL ")) word.remove_prefix(5);
  const auto version = parse_nccl_version(word);
  return connected || (version && *version < kConnectsLater);
}

bool goes_over_tcp(const NotedWord& provider) {
  return provider.word.starts_with("tcp") || provider.word.starts_with("sockets");
}

const LoggedCommunicator* NcclFacts::largest() const {
  return communicators.empty() ? nullptr : &communicators.back();
}

/// Joins ranks, nodes and channels of one communicator, which are on lines of one thread. Their
/// order depends on the NCCL version.
void NcclLineReader::take_communicator(std::string_view line, const std::string& key,
                                       const std::string& place, NcclFacts& facts) {
  const Words words = words_of(line);
  if (threads_.size() >= kMostThreads && !threads_.contains(key)) return;
  Thread& thread = threads_[key];
  std::optional<int> ranks = count_behind(words, "nRanks", kMostNamedRanks);
  if (!ranks) ranks = count_behind(words, "nranks", kMostNamedRanks);
  // From 2.18 on, a communicator begins with "Init START". Before that, its channels come first,
  // then its ranks.
  if (line.find("Init START") != std::string_view::npos) thread = {};
  if (ranks) {
    const bool another = *ranks != thread.ranks && thread.ranks != 0;
    if (another && thread.taken) thread = {};
    thread.ranks = *ranks;
  }
  if (const auto nodes = count_behind(words, "nNodes", kMostNamedRanks)) thread.nodes = nodes;
  if (const auto local = count_behind(words, "localRanks", 4096)) thread.local_ranks = local;
  if (const auto channels = count_before(words, "coll")) {
    thread.channels = channels;
    thread.nvls = count_before(words, "nvls");
    thread.collnet = count_before(words, "collnet");
    thread.place = place;
    thread.taken = false;
  }
  if (thread.ranks == 0) return;
  auto at = std::ranges::find(facts.communicators, thread.ranks, &LoggedCommunicator::ranks);
  if (at == facts.communicators.end()) {
    if (facts.communicators.size() >= 1000) return;
    facts.communicators.push_back({.ranks = thread.ranks, .place = place});
    std::ranges::sort(facts.communicators, {}, &LoggedCommunicator::ranks);
    at = std::ranges::find(facts.communicators, thread.ranks, &LoggedCommunicator::ranks);
  }
  if (!at->nodes) at->nodes = thread.nodes;
  if (!at->local_ranks) at->local_ranks = thread.local_ranks;
  if (thread.channels && !at->channels) {
    at->channels = thread.channels;
    at->nvls_channels = thread.nvls;
    at->collnet_channels = thread.collnet;
    at->channels_place = thread.place;
    thread.taken = true;
  }
}

/// Tracks the order of lines of each thread. A text that begins or ends with channel lines lacks
/// other lines.
void NcclLineReader::note_order(bool channel, bool end, const std::optional<int>& rank,
                                const std::string& thread, NcclFacts& facts) {
  if (open_.size() >= kMostThreads && !open_.contains(thread)) return;
  const std::string process = thread.substr(0, thread.rfind(':'));
  const bool begun = begun_.try_emplace(process, !channel && !end).first->second;
  std::set<int>& ranks = open_[thread];
  if (rank) {
    const auto lines = facts.ranks.find(*rank);
    if (lines == facts.ranks.end()) return;
    lines->second.complete = false;
    ranks.insert(*rank);
  } else if (end) {
    for (const int one : ranks) facts.ranks[one].complete = begun;
    ranks.clear();
  }
}

bool NcclLineReader::is_whole(std::string_view line) const {
  line = trimmed(line);
  if (const auto path = after_mark(line, " via ")) {
    for (const std::string_view end : {"/GDRDMA", "/Shared", "/IPC", "/CUMEM", "/read", "/direct"})
      if (line.ends_with(end)) return true;
    return paths_.empty() || paths_.contains(trimmed(*path));
  }
  if (line.find(": Using [") != std::string_view::npos) return line.ends_with('>');
  const Words words = words_of(line);
  if (words.size() < 2) return true;
  const std::string_view before = words[words.size() - 2];
  for (const std::string_view count : {"nRanks", "nranks", "nNodes", "localRanks", "version"})
    if (before == count) return false;
  return true;
}

bool NcclLineReader::take(std::string_view line, const std::string& place, NcclFacts& facts) {
  if (line.size() > 20'000) return false;
  // Logs quoted by people often lack the head of lines. Only NCCL prints these sentences.
  if (line.find("falling back to simple order") != std::string_view::npos && !facts.search_failed)
    facts.search_failed = {legible(trimmed(line), 200), place};
  const bool versions = line.find("CCL version") != std::string_view::npos ||
                        line.find("cudaDriverVersion") != std::string_view::npos;
  if (versions) take_version_line(line, place, facts);
  const std::size_t info = line.find("NCCL INFO ");
  const std::size_t warn = line.find("NCCL WARN ");
  const bool headed = info != std::string_view::npos || warn != std::string_view::npos;
  const auto lone = headed ? std::nullopt : begin_of_lone_line(line);
  if (!headed && !lone) return versions;
  ++facts.lines;
  const bool warns = headed && info == std::string_view::npos;
  const std::size_t at = lone ? *lone : warns ? warn : info;
  const NcclLineHead head = lone ? NcclLineHead() : head_of(line.substr(0, at));
  const std::string_view said = line.substr(lone ? at : at + 10);
  const auto says = [&](std::string_view words) {
    return said.find(words) != std::string_view::npos;
  };
  const bool connects = says("Connected all") || says("Connected NVLS");
  const bool completes = says("Init COMPLETE");
  if (facts.rings_connected && !connects) facts.rings_followed = true;
  if (const auto path = after_mark(said, " via "); path && paths_.size() < 256)
    paths_.insert(std::string(trimmed(*path).substr(0, 80)));
  if (said.starts_with("via ")) {
    take_lone_path(trimmed(said.substr(4)), place, facts);
    return true;
  }
  take_peer_line(said, place, facts);
  take_network_line(said, head, place, facts);
  if (warns) {
    take_warning(said, place, facts);
    return true;
  }
  const auto rank = take_channel_line(said, head, place, facts);
  note_order(rank.has_value(), connects || completes || says("coll channels"), rank, head.thread,
             facts);
  if (rank) return true;
  take_plugin_line(said, place, facts);
  take_choice_line(said, place, facts);
  if (const auto rings = after_mark(said, "Connected all rings")) {
    if (!facts.rings_connected) facts.rings_place = place;
    facts.rings_connected = true;
    if (const auto pxn = after_mark(*rings, "use ring PXN "))
      facts.pxn = facts.pxn.value_or(false) || pxn->starts_with('1');
  }
  if (says("Connected all trees")) facts.trees_connected = true;
  facts.initialised = facts.initialised || completes;
  facts.connected = facts.connected || connects || !facts.choices.empty();
  if (!facts.trees_enabled && says("Min Comp Cap") && says("Trees "))
    facts.trees_enabled = {says("Trees enabled"), place};
  if (says("anks ") || says("coll channels")) take_communicator(said, head.thread, place, facts);
  return true;
}

}  // namespace ddpsim
