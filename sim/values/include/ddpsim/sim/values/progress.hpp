// Progress of a long computation, reported to whoever waits for it. This is the only way to watch a
// pure function. Its result does not depend on the watcher, except that the watcher may stop it
// early.
#pragma once

#include <cstddef>

namespace ddpsim {

class Progress {
 public:
  virtual ~Progress() = default;
  /// Reports that `done` of `total` parts are complete; each part is about the same amount of work.
  /// Called from any thread, but by only one at a time. Returns false to stop the computation.
  virtual bool go_on(std::size_t done, std::size_t total) = 0;
};

}  // namespace ddpsim
