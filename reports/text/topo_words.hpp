// Names of a cluster's links in sentences.
#pragma once

#include <string>

#include "ddpsim/topologies/kind_words.hpp"
#include "ddpsim/topologies/topology.hpp"

namespace ddpsim {

/// "nvlink"; "xgmi" for AMD GPUs
std::string_view kind_word(LinkKind kind, GpuVendor vendor = GpuVendor::nvidia);
/// "the NICs", "the PCIe slots"
std::string kind_words(LinkKind kind, const Cluster& cluster);
std::string_view kind_word(SwitchPlan::Kind kind);  ///< "leaf-spine"

std::string joined_words(const Cluster& cluster);
std::string network_words(const Topology& topology);

}  // namespace ddpsim
