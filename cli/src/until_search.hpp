// --until along a searched range: values spread over it first, then between those that differ, each a comparison of its own.
#pragma once

#include <vector>

#include "searched_range.hpp"
#include "until.hpp"

namespace ddpsim {

/// `arguments`, with the range in their words. `named`: candidates as typed, the range in their names. Throws UsageError
/// where a condition names nobody, or where no value has an answer.
std::vector<Until> until_searched(const std::vector<Condition>& conditions,
                                  const SearchedRange& range, const CompareArguments& arguments,
                                  const TypedLine& typed,
                                  const std::vector<ReadWorkload>& workloads,
                                  const std::vector<std::string>& clusters);

}  // namespace ddpsim
