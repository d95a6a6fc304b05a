// What was collected of a job (ddpsim.collect/1) -> the cluster it ran on: NCCL's topology dump of a node, else the matrix
// of nvidia-smi, completed by what else is in the archive.
#pragma once

#include <string_view>

#include "ddpsim/formats/archive.hpp"
#include "description.hpp"

namespace ddpsim {

/// `words`: what the user wrote beside it, which counts more than what the archive says. Throws InputError.
ClusterDescription describe_archive(const Archive& archive, std::string_view words);

}  // namespace ddpsim
