// --until along a searched range: values spread over it first, then between those that differ, each a comparison of its own.
#pragma once

#include <vector>

#include "searched_range.hpp"
#include "until.hpp"

namespace ddpsim {

/// `arguments` and `clusters` have the range in their words. Throws UsageError
/// where a condition names nobody, or where no value has an answer.
std::vector<Until> until_searched(const std::vector<Condition>& conditions,
                                  const SearchedRange& range, const CompareArguments& arguments,
                                  const JobRequest& request,
                                  const std::vector<ReadWorkload>& workloads,
                                  const std::vector<CandidateRequest>& clusters);

}  // namespace ddpsim
