// JSON Schemas of the documents that the program prints.
#pragma once

#include <string>
#include <vector>

namespace ddpsim {

/// "ddpsim.result/1": those that are described (described.hpp).
std::vector<std::string> schema_names();
/// Precondition: one of these.
std::string schema_of(const std::string& name);

}  // namespace ddpsim
