// Any text becomes pairs of nodes and a verdict that is of them, or an InputError.
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
    // Each slow pair has a slow node, a slow path, or nobody knows.
    if (!verdict.slow.empty() && verdict.slow_nodes.empty() && verdict.slow_paths.empty() &&
        verdict.undecided.empty())
      std::abort();
  } catch (const ddpsim::InputError&) {
  }
  return 0;
}
