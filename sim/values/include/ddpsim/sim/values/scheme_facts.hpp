// What the rest of the program must know about a scheme.
#pragma once

namespace ddpsim {

/// A value without a default: every initializer must state it.
template <typename T>
struct Stated {
  constexpr Stated(T stated) : value(stated) {}
  constexpr operator T() const { return value; }
  T value;
};

/// What the rest of the program must know about a scheme. Each scheme states all of it, since no
/// default would be true for every future scheme.
struct SchemeFacts {
  /// The scheme runs DDP's reducer, with its options.
  Stated<bool> runs_reducer;
  /// The scheme's step is predicted as reliably as under PyTorch's own schemes (scheme_error.cpp).
  Stated<bool> ranked_closely;
  /// The scheme does not need find_unused_parameters if a parameter has no gradient.
  Stated<bool> allows_unused;
  /// The scheme's collectives run one at a time, so other traffic can be simulated along with them.
  Stated<bool> one_at_a_time;
  /// Hosts send and add up gradients, and no collective includes all ranks.
  Stated<bool> by_servers;
  /// `advise` may change its options.
  Stated<bool> has_settings;
};

/// Facts of a scheme that shards parameters, gradients or the optimizer. `of_pytorch`: it is part
/// of PyTorch itself.
constexpr SchemeFacts sharding_facts(bool of_pytorch) {
  return {.runs_reducer = false,
          .ranked_closely = of_pytorch,
          .allows_unused = of_pytorch,
          .one_at_a_time = false,
          .by_servers = false,
          .has_settings = true};
}

}  // namespace ddpsim
