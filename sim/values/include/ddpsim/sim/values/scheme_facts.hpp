// What the rest of the program must know of a scheme.
#pragma once

namespace ddpsim {

/// A value that has to be stated: there is no default.
template <typename T>
struct Stated {
  constexpr Stated(T stated) : value(stated) {}
  constexpr operator T() const { return value; }
  T value;
};

/// What the rest of the program must know of a scheme. Each scheme states all of it, since no default would be true of a
/// scheme that nobody has written yet.
struct SchemeFacts {
  /// It runs DDP's reducer, with its options.
  Stated<bool> runs_reducer;
  /// Its speedup over another scheme is as sure as between two of PyTorch's own (speedup.cpp).
  Stated<bool> ranked_closely;
  /// It needs no find_unused_parameters where a parameter has no gradient.
  Stated<bool> allows_unused;
  /// Its collectives take turns, so that other traffic can be simulated beside them.
  Stated<bool> one_at_a_time;
  /// Hosts send and add up gradients; no collective has all ranks.
  Stated<bool> by_servers;
  /// `advise` may change its options.
  Stated<bool> has_settings;
};

/// Parameters, gradients or the optimizer are shared out. `of_pytorch`: by PyTorch itself.
constexpr SchemeFacts sharding_facts(bool of_pytorch) {
  return {.runs_reducer = false,
          .ranked_closely = of_pytorch,
          .allows_unused = of_pytorch,
          .one_at_a_time = false,
          .by_servers = false,
          .has_settings = true};
}

}  // namespace ddpsim
