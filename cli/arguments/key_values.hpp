// An option whose text is words "key:value", any of a few keys: "sm:1 memory:0.5".
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ddpsim {

/// The words in the order given. A text without any, a key not in `known` and one given twice are a
/// UsageError that names `option`.
std::vector<std::pair<std::string, std::string>> key_values(const std::string& option,
                                                            const std::string& text,
                                                            const std::vector<std::string>& known);

}  // namespace ddpsim
