// How far a long computation has come, told to whoever waits for it: the one seam through which a pure function is watched.
// What it computes does not depend on who watches; only how much of it, where nobody waits any more.
#pragma once

#include <cstddef>

namespace ddpsim {

class Progress {
 public:
  virtual ~Progress() = default;
  /// So many of the parts are done, each about as much work. Called from any thread, by one at a time. False: stop here.
  virtual bool go_on(std::size_t done, std::size_t total) = 0;
};

}  // namespace ddpsim
