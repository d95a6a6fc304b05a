// Lines about what NCCL sends over: NICs with their ports and GPUDirect RDMA, interfaces for TCP
// sockets, providers and plugins.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "ddpsim/formats/log_words.hpp"
#include "evidence_words.hpp"
#include "nccl_lines.hpp"

namespace ddpsim {
namespace {

/// Names of NICs such as "mlx5_0:1/IB" in "Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB …".
/// Merged ports are in braces.
void take_nics(std::string_view list, const std::string& host, NcclFacts& facts) {
  list = up_to(list, ";");
  if (list.find("={") != std::string_view::npos || list.find('+') != std::string_view::npos)
    facts.merged_nics = true;
  if (facts.nics.size() >= kMostHosts || facts.nics.contains(host)) return;
  std::vector<std::string>& nics = facts.nics[host];
  for (std::string_view word : words_of(list)) {
    while (!word.empty() && (word.front() == '[' || word.front() == '{' || word.front() == '=')) {
      if (word.front() == '[') {
        const std::size_t close = word.find(']');
        word.remove_prefix(close == std::string_view::npos ? word.size() : close + 1);
      } else {
        word.remove_prefix(1);
      }
    }
    while (!word.empty() && (word.back() == '}' || word.back() == ',')) word.remove_suffix(1);
    const bool whole =
        word.find("/IB") != std::string_view::npos || word.find("/RoCE") != std::string_view::npos;
    if (whole && word.find(':') != std::string_view::npos && nics.size() < kMostNics)
      nics.push_back(legible(word, 60));
  }
}

/// "NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'", "… Enabled for GPU 4[9000] / HCA 2 (distance 4 <= 4), read 1".
void take_gpudirect_line(std::string_view said, const NcclLineHead& head, const std::string& place,
                         NcclFacts& facts) {
  const auto behind = after_mark(said, "GPU Direct RDMA ");
  const auto hca = behind ? after_mark(*behind, "HCA ") : std::nullopt;
  if (!hca) return;
  const std::string_view verb = behind->substr(0, behind->find(" for "));
  const bool enabled = verb.ends_with("nabled");
  if (!enabled && !verb.ends_with("isabled")) return;
  const auto number = leading_number<int>(*hca);
  if (!number || facts.gpudirect_of_nics.size() >= kMostHosts) return;
  const auto [at, first] = facts.gpudirect_of_nics.try_emplace(
      fmt::format("{} HCA {}", head.host, *number), enabled, place);
  at->second.first = at->second.first || enabled;
}

/// "[8] name=mlx5_0+mlx5_1 speed=400000 ndevs=2", "[0] mlx5_0:uverbs0:1/IB provider=Mlx5 speed=200000 context=…".
void take_device_line(std::string_view said, const NcclLineHead& head, const std::string& place,
                      NcclFacts& facts) {
  if (const auto made = after_mark(said, "NET/IB : Made virtual device [")) {
    const auto index = leading_number<int>(*made);
    const auto name = after_mark(*made, "name=");
    if (!index || *index < 0 || *index >= 64 || !name) return;
    if (facts.virtual_nics.size() >= kMostHosts) return;
    std::vector<std::string>& ports = facts.virtual_nics[{head.host, *index}];
    ports.clear();
    for (std::string_view rest = up_to(*name, " "); !rest.empty() && ports.size() < kMostNics;) {
      const std::string_view one = up_to(rest, "+");
      ports.push_back(legible(one, 60));
      rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    }
    return;
  }
  const auto listed = after_mark(said, "NET/IB: [");
  const auto speed = listed ? after_mark(*listed, " speed=") : std::nullopt;
  const auto named = listed ? after_mark(*listed, "] ") : std::nullopt;
  if (!speed || !named) return;
  const auto megabits = leading_number<double>(*speed);
  const std::string_view words = up_to(*named, "/ ");
  const std::string port = fmt::format("{}:{}", legible(up_to(words, ":"), 40),
                                       legible(words.substr(words.rfind(':') + 1), 8));
  if (!megabits || *megabits <= 0 || facts.nic_gbps.size() >= kMostHosts) return;
  const auto [at, first] = facts.nic_gbps.try_emplace(port, *megabits / 1000, place);
  if (!first && *megabits / 1000 < at->second.first) at->second = {*megabits / 1000, place};
}

}  // namespace

void take_network_line(std::string_view said, const NcclLineHead& head, const std::string& place,
                       NcclFacts& facts) {
  if (const auto name = after_mark(said, "Using network "))
    note_once(facts.announced, trimmed(*name), place);
  if (const auto name = after_mark(said, "Assigned NET plugin "))  // from 2.27 on
    note_once(facts.announced, name->substr(0, name->find(" to comm")), place);
  take_gpudirect_line(said, head, place, facts);
  take_device_line(said, head, place, facts);
  if (said.find("NET/IB : No device found") != std::string_view::npos) {
    if (!facts.no_ib_device) facts.no_ib_device = place;
  } else if (const auto nics = after_mark(said, "NET/IB : Using ")) {
    take_nics(*nics, head.host, facts);
  } else if (const auto list = after_mark(said, "NET/Socket : Using ")) {
    for (std::string_view word : words_of(*list)) {
      const bool numbered = word.starts_with('[');
      if (numbered) word = word.substr(std::min(word.find(']') + 1, word.size()));
      if (!word.empty() && (numbered || word.find(':') != std::string_view::npos))
        note_once(facts.interfaces, up_to(word, ":"), place);
    }
  }
  for (const std::string_view mark : {"Selected Provider is ", "Selected provider is "})
    if (const auto name = after_mark(said, mark); name && !facts.provider) {
      facts.provider = {legible(up_to(*name, " ,"), 40), place};
      if (const auto found = after_mark(*name, "(found "))
        facts.provider_nics = leading_number<int>(*found);
    }
  if (!facts.ib_not_opened)
    for (const std::string_view mark :
         {"NET/IB : Unable to open device ", "Failed to open libibverbs"})
      if (said.find(mark) != std::string_view::npos)
        facts.ib_not_opened = {legible(said, 200), place};
}

void take_plugin_line(std::string_view said, const std::string& place, NcclFacts& facts) {
  if (const auto name = after_mark(said, "NET/Plugin: Loaded net plugin "))
    note_once(facts.plugins, trimmed(*name), place);
  for (const std::string_view mark :
       {"Successfully loaded external plugin ", "Successfully loaded external network plugin "})
    if (const auto name = after_mark(said, mark)) note_once(facts.plugins, trimmed(*name), place);
  for (const auto& [mark, name] :
       {std::pair<std::string_view, std::string_view>("aws-ofi-nccl ", "aws-ofi-nccl"),
        std::pair<std::string_view, std::string_view>("Using Libfabric version ", "libfabric"),
        std::pair<std::string_view, std::string_view>("Libfabric version is ", "libfabric")})
    if (const auto version = after_mark(said, mark);
        version && said.find("NET/OFI") != std::string_view::npos)
      note_once(facts.plugin_versions, fmt::format("{} {}", name, up_to(*version, " ,;")), place);
  if (facts.plugin_not_found) return;
  if (const auto name = after_mark(said, "NET/Plugin : No plugin found ("))  // 2.4 to 2.10
    if (const std::string_view library = up_to(*name, ")");
        library != "libnccl-net.so" && library != "librccl-net.so")
      facts.plugin_not_found = {legible(library, 120), place};
  if (const auto sought = after_mark(said, "NET/Plugin: Could not find:")) {
    for (std::string_view word : words_of(*sought)) {
      while (word.ends_with('.') || word.ends_with(',')) word.remove_suffix(1);
      if (word == "Using") break;
      if (word.empty() || word == "libnccl-net.so" || word == "librccl-net.so") continue;
      facts.plugin_not_found = {legible(word, 120), place};
      return;
    }
  }
  // The plugin's own library exists, but another one that it needs does not.
  const auto failed = after_mark(said, "NET/Plugin : Plugin load returned ");
  const auto said_by_loader = after_mark(said, "NET/Plugin : dlerror=");
  for (const auto& text : {failed, said_by_loader}) {
    if (!text || text->find("cannot open shared object file") == std::string_view::npos) continue;
    const std::size_t library = text->find(".so");
    if (library == std::string_view::npos) continue;
    const std::size_t begin = text->find_last_of(" :=", library);
    const std::string_view name =
        up_to(text->substr(begin == std::string_view::npos ? 0 : begin + 1), ":");
    if (!name.starts_with("libnccl-net") && !name.starts_with("librccl-net"))
      facts.plugin_not_found = {legible(name, 120), place};
  }
}

}  // namespace ddpsim
