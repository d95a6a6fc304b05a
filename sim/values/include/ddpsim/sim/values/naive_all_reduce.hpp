// Gradients all-reduced one by one, without buckets.
#pragma once

#include <string_view>
#include <vector>

#include "ddpsim/sim/values/scheme_facts.hpp"
#include "ddpsim/sim/values/scheme_option.hpp"

namespace ddpsim {

/// The simplest data parallelism, as in lectures: gradients are all-reduced one by one, without
/// buckets.
struct NaiveAllReduce {
  enum class When {
    /// A hook all-reduces each gradient as soon as it is written. The script waits for all of them
    /// after backward.
    gradient,
    /// Gradients are all-reduced one after the other, in the order of definition, after backward.
    backward,
  };
  When when = When::gradient;
  bool flat = false;  ///< after backward, all copied into one tensor

  std::string_view name() const { return "naive"; }
  SchemeFacts facts() const;
  std::vector<SchemeOption> options();

  bool operator==(const NaiveAllReduce&) const = default;
};

}  // namespace ddpsim
