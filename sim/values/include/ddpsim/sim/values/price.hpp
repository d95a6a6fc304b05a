// Quoted price of a node or a GPU.
#pragma once

#include <string>
#include <string_view>

namespace ddpsim {

struct Price {
  double usd = 0;
  enum class Per { node_hour, gpu_hour, node } per = Per::node_hour;  ///< node: bought
  std::string terms;                                                  ///< "on-demand, us-east-1"
  std::string as_of;                                                  ///< "2026-11"
  std::string source;
};

/// "node_hour", "gpu_hour", "node"
std::string_view name_of(Price::Per per);

}  // namespace ddpsim
