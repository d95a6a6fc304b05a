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

// Published steps under two schemes, one over the other, tell SchemeFacts::unknown
// (tests/accuracy/schemes.py). Each of the two has an equal part in the error of their ratio.

/// For PyTorch's own schemes, nine ratios on machines with stated links were missed by 0 to 4.0 %
/// (median 2.2 %), which is 5 % for two. On links that nobody states the factors are larger, and the
/// bandwidth interval covers them.
inline constexpr double kUnknownOfPyTorch = 0.035;
/// For DeepSpeed's stages 1 and 2, three ratios of one machine were missed by 1 to 20 %: 25 % for
/// two.
inline constexpr double kUnknownOfZero12 = 0.18;
/// For stage 3, one ratio was missed by 2 %. Six, all of one small machine whose host sets the pace,
/// were missed by factors of 1.2 to 1.9. No ratio is published for Megatron-Core.
inline constexpr double kUnknownOfLibraries = 0.5;

/// What the rest of the program must know about a scheme. Each scheme states all of it, since no
/// default would be true for every future scheme.
struct SchemeFacts {
  /// The scheme runs DDP's reducer, with its options.
  Stated<bool> runs_reducer;
  /// How far the scheme's step may lie from its prediction because of what is not simulated, as a
  /// share of the step. 0 for DDP, whose other errors are known by themselves.
  Stated<double> unknown;
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
constexpr SchemeFacts sharding_facts(bool of_pytorch, double unknown) {
  return {.runs_reducer = false,
          .unknown = unknown,
          .allows_unused = of_pytorch,
          .one_at_a_time = false,
          .by_servers = false,
          .has_settings = true};
}

}  // namespace ddpsim
