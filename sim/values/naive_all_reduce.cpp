#include "ddpsim/sim/values/naive_all_reduce.hpp"

namespace ddpsim {

SchemeFacts NaiveAllReduce::facts() const {
  return {.runs_reducer = false,
          .unknown = kUnknownOfPyTorch,
          .allows_unused = true,
          .one_at_a_time = true,
          .by_servers = false,
          .has_settings = false};
}

std::vector<SchemeOption> NaiveAllReduce::options() {
  return {
      word_option<When>("when", when, {{When::gradient, "gradient"}, {When::backward, "backward"}}),
      flag_option("flat", flat)};
}

}  // namespace ddpsim
