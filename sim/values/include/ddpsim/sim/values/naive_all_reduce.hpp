// Gradients all-reduced one by one, without buckets.
#pragma once

#include <string_view>
#include <vector>

#include "ddpsim/sim/values/scheme_facts.hpp"
#include "ddpsim/sim/values/scheme_option.hpp"

namespace ddpsim {

/// What lectures begin with: gradients all-reduced one by one, without buckets.
struct NaiveAllReduce {
  enum class When {
    gradient,  ///< each by a hook, as soon as it is written; all are waited for after backward
    backward,  ///< one after the other, in the order of definition, when backward is over
  };
  When when = When::gradient;
  bool flat = false;  ///< after backward, all of them copied into one tensor

  std::string_view name() const { return "naive"; }
  SchemeFacts facts() const;
  std::vector<SchemeOption> options();

  bool operator==(const NaiveAllReduce&) const = default;
};

}  // namespace ddpsim
