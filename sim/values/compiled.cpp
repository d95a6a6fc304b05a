#include "ddpsim/sim/values/compiled.hpp"

#include <utility>

namespace ddpsim {
namespace {

const WordTable<OptimizeDdp>& words_of_modes() {
  static const WordTable<OptimizeDdp> table = {{OptimizeDdp::ddp_optimizer, "ddp_optimizer"},
                                               {OptimizeDdp::no_optimization, "no_optimization"},
                                               {OptimizeDdp::python_reducer, "python_reducer"}};
  return table;
}

}  // namespace

std::string_view name_of(OptimizeDdp mode) {
  return word_for(words_of_modes(), mode);
}

/// The Python reducer replaces DDP's.
SchemeFacts Compiled::facts() const {
  return {.runs_reducer = in_pieces(),
          .unknown = kUnknownOfPyTorch,
          .allows_unused = false,
          .one_at_a_time = true,
          .by_servers = false,
          .has_settings = in_pieces()};
}

std::vector<SchemeOption> Compiled::options() {
  SchemeOption mode = word_option("optimize_ddp", optimize_ddp, words_of_modes());
  mode.words.refused = "python_reducer_without_compiled_forward";
  mode.words.because =
      "a compiled backward with a forward that is not compiled is not simulated; use "
      "python_reducer";
  return {std::move(mode)};
}

}  // namespace ddpsim
