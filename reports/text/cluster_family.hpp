// Tells which candidates are the same cluster in several sizes.
#pragma once

#include <string>

namespace ddpsim {

/// The cluster as typed, without its number of nodes: "dgxa100" for "dgxa100@4", "gpu:8xA100 …" for
/// "node:4 gpu:8xA100 …".
std::string family_of(const std::string& cluster);

}  // namespace ddpsim
