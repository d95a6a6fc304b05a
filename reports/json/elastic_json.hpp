// A long run whose nodes fail, as a part of a document.
#pragma once

#include <optional>

#include "ddpsim/formats/json_writer.hpp"
#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// The key "elastic" and its object; nothing where there is none.
void write_elastic(JsonWriter& json, const std::optional<ElasticAnswer>& elastic);

}  // namespace ddpsim
