#include "cluster_family.hpp"

#include <algorithm>
#include <string_view>

namespace ddpsim {

std::string family_of(const std::string& cluster) {
  constexpr std::string_view kNodes = "node:";
  const auto only_digits = [&](std::size_t from, std::size_t to) {
    return from < to && std::all_of(cluster.begin() + static_cast<std::ptrdiff_t>(from),
                                    cluster.begin() + static_cast<std::ptrdiff_t>(to),
                                    [](char c) { return c >= '0' && c <= '9'; });
  };
  if (const std::size_t at = cluster.rfind('@'); at != std::string::npos)
    return only_digits(at + 1, cluster.size()) ? cluster.substr(0, at) : cluster;
  const std::size_t node = cluster.find(kNodes);
  if (node == std::string::npos || (node > 0 && cluster[node - 1] != ' ')) return cluster;
  const std::size_t end = std::min(cluster.find(' ', node), cluster.size());
  if (!only_digits(node + kNodes.size(), end)) return cluster;
  std::string rest = cluster.substr(0, node) + cluster.substr(std::min(end + 1, cluster.size()));
  while (rest.ends_with(' ')) rest.pop_back();
  return rest;
}

}  // namespace ddpsim
