#include "ddpsim/diagnose/diff/pair_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "ddpsim/formats/csv.hpp"
#include "ddpsim/formats/files.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/formats/words.hpp"
#include "pair_groups.hpp"

namespace ddpsim {
namespace {

constexpr std::int64_t kLargestMatrix = 64LL << 20;
constexpr double kMostBandwidth_gbps = 1e6;
constexpr std::size_t kMostNodes = 100'000;
constexpr const char* kForm =
    "Expected one pair per line: node, node, busbw in GB/s, as in \"n1,n2,88.4\"";

/// Splits by commas if there are any, else by blanks.
std::vector<std::string_view> cells_or_words(std::string_view line) {
  if (line.find(',') != std::string_view::npos) return cells_of(line);
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::size_t from = line.find_first_not_of(" \t");
    if (from == std::string_view::npos) break;
    const std::size_t to = std::min(line.find_first_of(" \t", from), line.size());
    words.push_back(line.substr(from, to - from));
    line.remove_prefix(to);
  }
  return words;
}

/// Whether a word names a bandwidth, as the last name of a header does: "busbw", "bandwidth
/// (GB/s)".
bool names_bandwidth(std::string_view word) {
  const std::string small = in_small_letters(word);
  return small.find("bw") != std::string::npos || small.find("bandwidth") != std::string::npos ||
         small == "gbps" || small == "gb/s";
}

}  // namespace

PairMatrix parse_pair_matrix(std::string_view text, const std::string& file) {
  PairMatrix matrix{.source = file, .pairs = {}};
  std::size_t number = 0;
  bool header = false;
  while (!text.empty()) {
    const std::string_view line = trimmed(take_line(text));
    ++number;
    if (line.empty() || line.front() == '#') continue;
    const auto fail = [&](std::string message) {
      throw InputError({file, fmt::format("line {}", number), std::move(message), kForm});
    };
    const std::vector<std::string_view> words = cells_or_words(line);
    if (words.size() != 3) fail(fmt::format("the line has {} words, not three", words.size()));
    const auto busbw = parse_number<double>(words[2]);
    if (!header && matrix.pairs.empty() && names_bandwidth(words[2])) {
      header = true;
      continue;
    }
    if (!busbw || !std::isfinite(*busbw) || *busbw <= 0 || *busbw > kMostBandwidth_gbps)
      fail(in_quotes(words[2]) + " is not a bandwidth in GB/s");
    if (words[0].empty() || words[1].empty()) fail("a node has no name");
    if (words[0] == words[1]) fail("a pair of node " + in_quotes(words[0]) + " and itself");
    if (matrix.pairs.size() == kMostNodes) fail(fmt::format("more than {} pairs", kMostNodes));
    matrix.pairs.push_back({std::string(words[0]), std::string(words[1]), *busbw});
  }
  if (matrix.pairs.empty()) throw InputError({file, "", "contains no pair of nodes", kForm});
  return matrix;
}

PairMatrix read_pair_matrix(const std::string& file) {
  return parse_pair_matrix(read_file(file, kLargestMatrix), file);
}

PairVerdict judge_pairs(const PairMatrix& matrix) {
  PairVerdict verdict;
  for (const PairBandwidth& pair : matrix.pairs)
    verdict.fastest_gbps = std::max(verdict.fastest_gbps, pair.busbw_gbps);
  const auto is_slow = [&](const PairBandwidth& pair) {
    return pair.busbw_gbps < kSlowPair * verdict.fastest_gbps;
  };
  std::set<std::string> fast, slow;
  for (const PairBandwidth& pair : matrix.pairs)
    if (!is_slow(pair)) fast.insert({pair.a, pair.b});
  for (const PairBandwidth& pair : matrix.pairs) {
    if (!is_slow(pair)) continue;
    verdict.slow.push_back(pair);
    const bool a = fast.contains(pair.a);
    const bool b = fast.contains(pair.b);
    if (a && b)
      verdict.slow_paths.push_back(pair);
    else if (a || b)
      slow.insert(a ? pair.b : pair.a);
  }
  for (const PairBandwidth& pair : verdict.slow)
    if (!fast.contains(pair.a) && !fast.contains(pair.b) && !slow.contains(pair.a) &&
        !slow.contains(pair.b))
      verdict.undecided.push_back(pair);
  verdict.slow_nodes.assign(slow.begin(), slow.end());
  verdict.fast_nodes.assign(fast.begin(), fast.end());
  verdict.groups = find_pair_groups(matrix, kSlowPair * verdict.fastest_gbps);
  return verdict;
}

}  // namespace ddpsim
