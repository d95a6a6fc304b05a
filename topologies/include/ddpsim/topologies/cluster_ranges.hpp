// Several clusters in a word: "dgxa100@1..16*2" is dgxa100@1, @2, @4, @8 and @16, and
// "node:{4,8} gpu:8xA100 nvswitch:300GBps nic:{1..4*2}x200Gbps:ib" six of them.
#pragma once

#include <string>
#include <vector>

namespace ddpsim {

struct ClusterOfRange {
  std::string text;      ///< without a range
  std::string varied{};  ///< behind a label: " node:4 nic:2x200Gbps:ib", "@8"; empty: no range
};

/// {A,B,…} stands for each of its items, every pair of braces by itself, the first one slowest; an item
/// LOW..HIGH*FACTOR multiplies, LOW..HIGH counts one by one, HIGH belongs to it when the steps reach it.
/// So does NAME@LOW..HIGH*FACTOR without braces. Any other text, a file's name among them, comes back
/// as it is. Throws InputError.
std::vector<ClusterOfRange> cluster_ranges(const std::string& text);

}  // namespace ddpsim
