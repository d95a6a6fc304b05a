// The parts of nccl_changes(). Each compares one kind of NCCL's lines between two runs and adds the
// differences.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/diagnose/evidence/nccl_facts.hpp"

namespace ddpsim {

/// The words, each once, ordered by name: "2.19.3, 2.21.5".
std::string all_words(const std::vector<NotedWord>& words);
/// NcclFacts::network_names() as text.
std::string network_names(const NcclFacts& facts);

// What channels between nodes go over.

/// Whether any channel of a job leaves its node.
void add_leaving_node(const NcclFacts& before, const NcclFacts& after,
                      std::vector<Finding>& findings);
/// Nodes that share NVLink switches (MNNVL), for ranks that both logs cover completely.
void add_nvlink_between_nodes(const NcclFacts& before, const NcclFacts& after,
                              std::vector<Finding>& findings);
void add_networks(const NcclFacts& before, const NcclFacts& after, std::vector<Finding>& findings);
/// Interfaces of TCP sockets, if both sides send over them.
void add_interfaces(const NcclFacts& before, const NcclFacts& after,
                    std::vector<Finding>& findings);
void add_gpudirect(const NcclFacts& before, const NcclFacts& after, std::vector<Finding>& findings);
/// libfabric uses TCP where it had a network's own provider.
void add_provider(const NcclFacts& before, const NcclFacts& after, std::vector<Finding>& findings);

// NICs and their ports.

/// NICs used by the channels of ranks that both sides have, by host, on the same network.
void add_nics(const NcclFacts& before, const NcclFacts& after, std::vector<Finding>& findings);
/// NICs that NCCL or libfabric found on a node, whether or not channels use them. Adds nothing if
/// `findings` already explain why NICs are missing.
void add_listed_nics(const NcclFacts& before, const NcclFacts& after,
                     std::vector<Finding>& findings);
/// What each NIC's line says about it: InfiniBand or RoCE, and its speed.
void add_nic_links(const NcclFacts& before, const NcclFacts& after, std::vector<Finding>& findings);

}  // namespace ddpsim
