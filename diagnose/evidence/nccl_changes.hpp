// The parts of nccl_changes(): each holds one kind of NCCL's lines of two runs against each other and adds what differs.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/diagnose/evidence/nccl_facts.hpp"

namespace ddpsim {

/// Each once, by name: "2.19.3, 2.21.5".
std::string all_words(const std::vector<NotedWord>& words);
/// NcclFacts::network_names() as words.
std::string network_names(const NcclFacts& facts);

// What channels between nodes go over.

/// Whether channels of a job leave its node at all.
void add_leaving_node(const NcclFacts& before, const NcclFacts& after,
                      std::vector<Finding>& findings);
/// Nodes that share NVLink's switches (MNNVL): of ranks that both logs have to their end.
void add_nvlink_between_nodes(const NcclFacts& before, const NcclFacts& after,
                              std::vector<Finding>& findings);
void add_networks(const NcclFacts& before, const NcclFacts& after, std::vector<Finding>& findings);
/// Interfaces of sockets, where both sides send over them.
void add_interfaces(const NcclFacts& before, const NcclFacts& after,
                    std::vector<Finding>& findings);
void add_gpudirect(const NcclFacts& before, const NcclFacts& after, std::vector<Finding>& findings);
/// Libfabric's TCP where it had a network's own provider.
void add_provider(const NcclFacts& before, const NcclFacts& after, std::vector<Finding>& findings);

// NICs and their ports.

/// NICs that the channels of ranks use which both sides have, each by its host; of one network.
void add_nics(const NcclFacts& before, const NcclFacts& after, std::vector<Finding>& findings);
/// What NCCL, or libfabric, found on a node, whatever channels use; nothing where `findings` say already why NICs are missing.
void add_listed_nics(const NcclFacts& before, const NcclFacts& after,
                     std::vector<Finding>& findings);
/// What each NIC's line says of it: InfiniBand or RoCE, and its speed.
void add_nic_links(const NcclFacts& before, const NcclFacts& after, std::vector<Finding>& findings);

}  // namespace ddpsim
