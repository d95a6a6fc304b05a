#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <span>

#include "ddpsim/diagnose/evidence/nccl_facts.hpp"
#include "evidence_words.hpp"

namespace ddpsim {
namespace {

/// At most three names, followed by the number of further ones.
std::string some_of(const std::set<std::string>& names) {
  const std::vector<std::string> all(names.begin(), names.end());
  const auto shown = std::span(all).first(std::min<std::size_t>(all.size(), 3));
  return fmt::format("{}{}", fmt::join(shown, ", "),
                     all.size() > 3 ? fmt::format(" and {} more", all.size() - 3) : "");
}

/// An interface over InfiniBand (ib0, ibp12s0) or Slingshot (hsn0). The fast network exists, but
/// TCP runs over it.
const NotedWord* rdma_interface(const NcclFacts& facts) {
  const auto of_rdma = [](const NotedWord& interface) {
    return (interface.word.starts_with("ib") && interface.word.size() > 2) ||
           interface.word.starts_with("hsn");
  };
  const auto at = std::ranges::find_if(facts.interfaces, of_rdma);
  return at == facts.interfaces.end() ? nullptr : &*at;
}

/// Place of the line that shows that nodes send over TCP sockets. Absent if none does.
std::optional<std::string> place_of_sockets(const NcclFacts& facts) {
  const auto channels = facts.network_places.find("Socket");
  if (channels != facts.network_places.end()) return channels->second;
  const auto announced = std::ranges::find(facts.announced, "Socket", &NotedWord::word);
  if (announced == facts.announced.end() || !facts.networks.empty() || !facts.several_nodes())
    return std::nullopt;
  return announced->place;
}

/// A loaded plugin over libfabric, which is installed only for a certain network. HPC-X's plugin
/// loads wherever its container runs.
const NotedWord* libfabric_plugin(const NcclFacts& facts) {
  const auto at = std::ranges::find_if(facts.plugins, [](const NotedWord& plugin) {
    return plugin.word.find("abric") != std::string::npos ||
           plugin.word.find("OFI") != std::string::npos;
  });
  return at == facts.plugins.end() ? nullptr : &*at;
}

/// The likeliest reason why nodes send over TCP sockets, and the place that shows it. The word is
/// empty if no line does.
NotedWord reason_for_sockets(const NcclFacts& facts, const std::string& sockets_place) {
  if (const NotedWord* interface = rdma_interface(facts))
    return {
        fmt::format(" on {}, an interface of an RDMA network. TCP is several times slower than "
                    "its verbs. To fix it, {} into the container or environment of the job",
                    interface->word,
                    interface->word.starts_with("hsn") ? "bring the network's plugin (aws-ofi-nccl)"
                                                       : "bring /dev/infiniband and libibverbs"),
        sockets_place};
  std::set<std::string> nics;
  for (const auto& [host, list] : facts.nics) nics.insert(list.begin(), list.end());
  if (!nics.empty())
    return {
        fmt::format(", although NCCL lists the RDMA NICs {}. Check NCCL_NET and NCCL_IB_HCA, and "
                    "look for a node without these NICs",
                    some_of(nics)),
        sockets_place};
  if (const NotedWord* plugin = libfabric_plugin(facts))
    return {fmt::format(", although the network plugin {} was loaded: it found no network of its "
                        "own. Bring EFA's or Slingshot's devices and provider into the container, "
                        "or check that these nodes have them",
                        plugin->word),
            plugin->place};
  if (facts.ib_not_opened)
    return {
        fmt::format(", because NCCL cannot open its RDMA device ({}). If nodes have InfiniBand or "
                    "RoCE, bring /dev/infiniband and libibverbs into the container and lift its "
                    "limit of locked memory",
                    in_quotes(facts.ib_not_opened->word, 90)),
        facts.ib_not_opened->place};
  if (facts.no_ib_device)
    return {
        ", because NCCL found no RDMA device. If nodes have InfiniBand, RoCE or EFA, bring the "
        "devices and the network's plugin into the container or environment of the job. If they "
        "have none, nothing is wrong",
        *facts.no_ib_device};
  return {};
}

void add_sockets(const NcclFacts& facts, std::vector<Finding>& findings) {
  if (facts.provider && goes_over_tcp(*facts.provider) && facts.several_nodes()) {
    findings.push_back(
        {.what = CauseClass::socket_instead_of_ib,
         .says = fmt::format("libfabric sends between nodes with its provider {}, over TCP. If "
                             "nodes have EFA or Slingshot, bring their devices and provider into "
                             "the container, and check FI_PROVIDER",
                             facts.provider->word),
         .place = facts.provider->place});
    return;
  }
  const std::optional<std::string> place = place_of_sockets(facts);
  if (!place) return;
  const NotedWord reason = reason_for_sockets(facts, *place);
  if (!reason.word.empty())
    findings.push_back({.what = CauseClass::socket_instead_of_ib,
                        .says = "nodes send to each other over TCP sockets" + reason.word,
                        .place = reason.place});
}

void add_plugin(const NcclFacts& facts, std::vector<Finding>& findings) {
  const LoggedCommunicator* job = facts.largest();
  if (!facts.plugin_not_found || !facts.plugins.empty() || (job != nullptr && job->nodes == 1))
    return;
  findings.push_back(
      {.what = CauseClass::plugin_missing,
       .says = fmt::format("the requested network plugin is not found ({}), so NCCL uses its own "
                           "InfiniBand or sockets. Put the plugin's folder on LD_LIBRARY_PATH on "
                           "every node",
                           facts.plugin_not_found->word),
       .place = facts.plugin_not_found->place});
}

/// A channel whose sender reads from GPU memory and whose receiver goes through host memory. GPUs
/// older than Ampere without NVLink do the reverse by design (NCCL_NET_GDR_READ). So the reverse
/// counts only if senders on other nodes use GPU memory.
void add_one_side(const NcclFacts& facts, std::vector<Finding>& findings) {
  std::set<std::string> without;
  std::size_t channels = 0;
  std::string place;
  for (const auto& [key, receive] : facts.receives) {
    if (receive.without == 0 || receive.with_gpudirect > 0) continue;
    const auto send = facts.sends.find(key);
    if (send == facts.sends.end() || send->second.with_gpudirect == 0 || send->second.without > 0)
      continue;
    if (channels++ == 0) place = receive.place;
    if (!receive.host.empty()) without.insert(receive.host);
  }
  if (channels == 0) {
    const auto all_send = [](const auto& host) {
      return host.second.sends_with > 0 && host.second.sends_without == 0;
    };
    const auto all_receive = [](const auto& host) {
      return host.second.receives_with > 0 && host.second.receives_without == 0;
    };
    const bool some_send = std::ranges::any_of(facts.hosts, all_send);
    const bool some_receive = std::ranges::any_of(facts.hosts, all_receive);
    for (const auto& [name, host] : facts.hosts)
      if ((some_send && host.sends_with == 0 && host.sends_without > 0) ||
          (some_receive && host.receives_with == 0 && host.receives_without > 0))
        without.insert(name);
    if (without.empty()) return;
    for (const auto* ends : {&facts.receives, &facts.sends})
      for (const auto& [key, end] : *ends)
        if (place.empty() && end.without > 0 && without.contains(end.host)) place = end.place;
  }
  if (place.empty()) return;
  findings.push_back(
      {.what = CauseClass::gpudirect_one_side,
       .says = fmt::format(
           "GPUDirect RDMA is used at only one end{}. {} through host memory and {} every ring "
           "that passes there. Load nvidia_peermem (nv_peer_mem) there as on the other nodes, or "
           "check where its GPU and NIC are (NCCL_NET_GDR_LEVEL)",
           channels > 0 ? fmt::format(" of {} channel{}", channels, channels == 1 ? "" : "s") : "",
           without.empty()
               ? "The receiving end goes"
               : fmt::format("{} go{}", some_of(without), without.size() == 1 ? "es" : ""),
           without.size() > 1 ? "slow down" : "slows down"),
       .place = std::move(place)});
}

/// Whether the network is NCCL's own InfiniBand or its plugin. Other networks (first-generation
/// EFA) may not support GPUDirect at all.
bool is_verbs(std::string_view network) {
  return network.starts_with("IB") || network.starts_with("NCCL RDMA");
}

void add_gpudirect_off(const NcclFacts& facts, std::vector<Finding>& findings) {
  int with = 0;
  for (const auto& [name, host] : facts.hosts) with += host.sends_with + host.receives_with;
  const auto verbs = std::ranges::find_if(
      facts.network_places, [](const auto& network) { return is_verbs(network.first); });
  const auto enabled = [](const auto& nic) { return nic.second.first; };
  if (with == 0 && !facts.gpudirect_of_nics.empty() &&
      std::ranges::none_of(facts.gpudirect_of_nics, enabled)) {
    findings.push_back(
        {.what = CauseClass::gpudirect_off,
         .says = fmt::format("NCCL says that GPUDirect RDMA is disabled for {}, so data passes "
                             "through host memory. Load nvidia_peermem on every node, or use a "
                             "driver with DMA-BUF. GeForce GPUs and GB10 do not support it",
                             facts.gpudirect_of_nics.size() == 1
                                 ? std::string(trimmed(facts.gpudirect_of_nics.begin()->first))
                                 : fmt::format("all {} HCAs", facts.gpudirect_of_nics.size())),
         .place = facts.gpudirect_of_nics.begin()->second.second});
    return;
  }
  if (with > 0 || verbs == facts.network_places.end()) return;
  findings.push_back(
      {.what = CauseClass::gpudirect_off,
       .says =
           "no channel between nodes uses GPUDirect RDMA, so data passes through host memory. If "
           "GPU and NIC share a PCIe switch or root port, load nvidia_peermem on every node, or "
           "use a driver with DMA-BUF. GeForce GPUs and GB10 do not support it",
       .place = verbs->second});
}

void add_inside_nodes(const NcclFacts& facts, std::vector<Finding>& findings) {
  if (facts.nvlink_refused)
    findings.push_back({.what = CauseClass::peer_to_peer_off,
                        .says = fmt::format(
                            "peer-to-peer is off between GPUs that NVLink connects ({}). NCCL "
                            "considers this a hardware fault. Check `nvidia-smi nvlink -s` and the "
                            "fabric manager",
                            in_quotes(facts.nvlink_refused->word, 90)),
                        .place = facts.nvlink_refused->place});
  else if (facts.peer_access_refused)
    findings.push_back(
        {.what = CauseClass::peer_to_peer_off,
         .says =
             fmt::format("CUDA refuses peer-to-peer inside a node ({}), so these GPUs pass every "
                         "byte through host memory. Check ACS, IOMMU and the virtual machine's "
                         "topology. Most GeForce GPUs do not support it",
                         in_quotes(facts.peer_access_refused->word, 90)),
         .place = facts.peer_access_refused->place});
  const LoggedCommunicator* job = facts.largest();
  if (job != nullptr && job->nodes == 1 && job->ranks > 1 && !facts.networks.empty())
    findings.push_back(
        {.what = CauseClass::shared_memory_off,
         .says = fmt::format("GPUs of one node send to each other over the network ({}), because "
                             "they have neither peer-to-peer nor shared memory. Give their "
                             "containers one /dev/shm and let them see each other's GPUs",
                             facts.networks.begin()->first),
         .place = facts.network_places.begin()->second});
}

void add_errors(const NcclFacts& facts, std::vector<Finding>& findings) {
  if (facts.search_failed)
    findings.push_back(
        {.what = CauseClass::topology_search_failed,
         .says = "NCCL's search of the node found no channels, so it uses GPUs in simple order, "
                 "with few links and NICs. Check NCCL_TOPO_FILE, NCCL_ALGO and the node's visible "
                 "PCIe tree. NCCL_DEBUG_SUBSYS=GRAPH prints the search",
         .place = facts.search_failed->place});
  constexpr std::size_t kMostErrors = 8;
  const std::size_t before = findings.size();
  for (const NotedWord& warning : facts.warnings) {
    if (findings.size() - before >= kMostErrors) break;
    if (warning.word.find("falling back to simple order") != std::string::npos ||
        warning.word.find("P2P is disabled between") != std::string::npos ||
        warning.word.find("Unable to open device") != std::string::npos ||
        warning.word.find("ibv_open_device") != std::string::npos)
      continue;
    findings.push_back(
        {.what = CauseClass::nccl_error,
         .says = fmt::format("NCCL warns: {}; such a run is often slow or fails, so resolve this "
                             "first",
                             in_quotes(warning.word, 120)),
         .place = warning.place});
  }
}

void add_unequal_versions(const NcclFacts& facts, std::vector<Finding>& findings) {
  std::set<std::string> nccl;
  std::set<std::string> rccl;
  std::string place;
  for (const NotedWord& version : facts.versions) {
    (version.word.starts_with("RCCL") ? rccl : nccl).insert(version.word);
    place = version.place;
  }
  const std::set<std::string>& several = nccl.size() > 1 ? nccl : rccl;
  if (several.size() < 2) return;
  findings.push_back({.what = CauseClass::unequal_versions,
                      .says = fmt::format("ranks run different NCCL versions: {}; install the "
                                          "same version on every node, or give each run its own "
                                          "log",
                                          some_of(several)),
                      .place = place});
}

}  // namespace

std::vector<Finding> nccl_problems(const NcclFacts& facts) {
  std::vector<Finding> findings;
  add_sockets(facts, findings);
  add_plugin(facts, findings);
  add_one_side(facts, findings);
  add_gpudirect_off(facts, findings);
  add_inside_nodes(facts, findings);
  add_errors(facts, findings);
  add_unequal_versions(facts, findings);
  return findings;
}

}  // namespace ddpsim
