// Readers behind read_figures, one per kind of file.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ddpsim/calibrate/validate/validation.hpp"
#include "ddpsim/sim/values/versions.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// Reads a document of ours: result, tune, allreduce, timeline or measurement.
Figures figures_of_document(std::string_view text, const std::string& file);

/// Columns bucket_cap_mb,iteration_us[,first_bucket_mb]; "default" means that nothing was passed.
bool is_cap_table(std::string_view text);
Figures figures_of_cap_table(std::string_view text, const std::string& file);

Figures figures_of_workload(const Workload& workload, const std::string& file);

/// The limits that passing a cap sets in this PyTorch version.
CapFigure cap_figure(std::optional<double> cap_mb, std::optional<double> first_mb,
                     TorchVersion torch);

}  // namespace ddpsim
