// The order in which autograd runs backward. Of all nodes whose gradients are ready, it runs the
// one that forward created last (torch/csrc/autograd/engine.cpp orders by sequence number).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

namespace fsdp {

class Autograd {
 public:
  /// Registers a node that forward creates now.
  std::uint64_t made() { return ++made_; }
  /// Its gradients are ready.
  void ready(std::uint64_t node, std::function<void()> run) { ready_[node] = std::move(run); }
  void run() {
    while (!ready_.empty()) {
      const auto last = std::prev(ready_.end());
      const auto work = std::move(last->second);
      ready_.erase(last);
      work();
    }
  }

 private:
  std::uint64_t made_ = 0;
  std::map<std::uint64_t, std::function<void()>> ready_;
};

}  // namespace fsdp
