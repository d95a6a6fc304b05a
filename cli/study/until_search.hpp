// --until along a searched range. The search first compares values spread over the range, then values between neighbours that differ.
#pragma once

#include <vector>

#include "searched_range.hpp"
#include "until.hpp"

namespace ddpsim {

/// Searches the range, which occurs in the words of `arguments` or `clusters`. Throws UsageError if a condition names no candidate, or if
/// no value has an answer.
std::vector<Until> until_searched(const std::vector<Condition>& conditions,
                                  const SearchedRange& range, const CompareArguments& arguments,
                                  const JobRequest& request,
                                  const std::vector<ReadWorkload>& workloads,
                                  const std::vector<CandidateRequest>& clusters);

}  // namespace ddpsim
