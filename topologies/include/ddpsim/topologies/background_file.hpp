// Traffic that other jobs send over the links of a cluster while this job runs. The file format is
// ddpsim.background/1 (docs/reference/formats.md, Background).
#pragma once

#include <string>
#include <string_view>

#include "ddpsim/sim/values/background.hpp"
#include "ddpsim/topologies/cluster_source.hpp"

namespace ddpsim {

struct ObjectType;

/// Describes the JSON document.
const ObjectType& background_document();

/// The job's fabric, and the background on its links.
struct SharedFabric {
  Fabric fabric;
  Background background;
};

/// Throws InputError.
SharedFabric parse_background(std::string_view text, const std::string& file,
                              const ClusterRequest& request);
SharedFabric load_background(const std::string& path, const ClusterRequest& request);

}  // namespace ddpsim
