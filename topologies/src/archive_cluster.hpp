// Derives the cluster from what was collected of a job (ddpsim.collect/1). The node comes from
// NCCL's topology dump, or without one from nvidia-smi's matrix. The rest of the archive completes
// it.
#pragma once

#include <string_view>

#include "ddpsim/formats/archive.hpp"
#include "description.hpp"

namespace ddpsim {

/// `words` are the user's words after the archive; they override what the archive says. Throws
/// InputError.
ClusterDescription describe_archive(const Archive& archive, std::string_view words);

}  // namespace ddpsim
