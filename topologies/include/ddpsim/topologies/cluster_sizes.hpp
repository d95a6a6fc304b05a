// Several sizes of one cluster in a word: "dgxa100@1..16*2" is dgxa100@1, @2, @4, @8 and @16.
#pragma once

#include <string>
#include <vector>

namespace ddpsim {

/// NAME@LOW..HIGH*FACTOR multiplies the number of nodes, NAME@LOW..HIGH counts them one by one; HIGH
/// belongs to it when the steps reach it. Any other text comes back as it is. Throws InputError.
std::vector<std::string> cluster_sizes(const std::string& text);

}  // namespace ddpsim
