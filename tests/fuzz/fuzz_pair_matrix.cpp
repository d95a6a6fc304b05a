// Any text as a pair matrix gives pairs of nodes and a verdict on them, or an InputError.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "ddpsim/diagnose/diff/pair_matrix.hpp"
#include "ddpsim/formats/input_error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const ddpsim::PairMatrix matrix =
        ddpsim::parse_pair_matrix({reinterpret_cast<const char*>(data), size}, "fuzz");
    const ddpsim::PairVerdict verdict = ddpsim::judge_pairs(matrix);
    if (matrix.pairs.empty() || verdict.fastest_gbps <= 0) std::abort();
    if (verdict.slow.size() > matrix.pairs.size()) std::abort();
    // Each slow pair is due to a slow node, due to a slow path, or undecided.
    if (!verdict.slow.empty() && verdict.slow_nodes.empty() && verdict.slow_paths.empty() &&
        verdict.undecided.empty())
      std::abort();
  } catch (const ddpsim::InputError&) {
  }
  return 0;
}
