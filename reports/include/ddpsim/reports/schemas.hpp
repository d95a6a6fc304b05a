// JSON Schemas of the documents that the program prints.
#pragma once

#include <string>
#include <vector>

namespace ddpsim {

/// "ddpsim.result/1": those that are described (described.hpp).
std::vector<std::string> schema_names();
/// What the document is, in a line. Precondition, here and below: one of these.
std::string schema_summary(const std::string& name);
std::string schema_of(const std::string& name);

}  // namespace ddpsim
