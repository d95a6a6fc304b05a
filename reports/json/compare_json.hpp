// Parts of ddpsim.compare/1, of one workload and of several.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "ddpsim/formats/json_writer.hpp"
#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

inline constexpr const char* kCompareSchema = "ddpsim.compare/1";

/// All keys of a workload's comparison, in an object that is open.
void write_comparison(JsonWriter& json, const CompareReport& report);

/// {"value", "low", "high"}, in percent.
void write_speedup(JsonWriter& json, const Speedup& speedup);
/// What stands behind a lead: its sources, and what two clusters have to do with each other.
void write_speedup_reasons(JsonWriter& json, const Speedup& speedup);
void write_range(JsonWriter& json, const char* key, const FigureRange& range);
/// "cost", where anything has a price: price, `amounts` of this comparison, lead; null of a candidate without one.
void write_cost(JsonWriter& json, const std::optional<Costs>& costs, std::size_t index,
                const std::function<void(const CandidateCost&)>& amounts);
void write_until(JsonWriter& json, const std::vector<Until>& all);
void write_not_compared(JsonWriter& json, const NotCompared& job);

}  // namespace ddpsim
