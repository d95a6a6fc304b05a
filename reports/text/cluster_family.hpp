// Which candidates are one cluster in several sizes.
#pragma once

#include <string>

namespace ddpsim {

/// What is left of a cluster as typed without its number of nodes: "dgxa100" of "dgxa100@4", "gpu:8xA100 …" of
/// "node:4 gpu:8xA100 …".
std::string family_of(const std::string& cluster);

}  // namespace ddpsim
