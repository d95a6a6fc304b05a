// A text that stands for several clusters. "dgxa100@1..16*2" is dgxa100@1, @2, @4, @8 and @16.
// "node:{4,8} gpu:8xA100 nvswitch:300GBps nic:{1..4*2}x200Gbps:ib" is six clusters.
#pragma once

#include <string>
#include <vector>

namespace ddpsim {

struct ClusterOfRange {
  std::string text;  ///< without a range
  /// The part that varies, as a label shows it: " node:4 nic:2x200Gbps:ib", "@8". Empty without a
  /// range.
  std::string varied{};
};

/// Expands the ranges of a text. {A,B,…} stands for each of its items; each pair of braces varies
/// by itself, the first one slowest. The item LOW..HIGH counts one by one and LOW..HIGH*FACTOR
/// multiplies. HIGH is included if the steps reach it. NAME@LOW..HIGH*FACTOR works without braces.
/// Any other text, such as a file name, is returned unchanged. Throws InputError.
std::vector<ClusterOfRange> cluster_ranges(const std::string& text);

}  // namespace ddpsim
