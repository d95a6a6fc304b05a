// The part of ddpsim.cluster/1 that describes a node (docs/reference/formats.md, Cluster file).
#pragma once

#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/formats/object_type.hpp"
#include "description.hpp"

namespace ddpsim {

const ObjectType& cluster_node_type();
void read_node(const Cursor& cursor, NodeDescription& out);

}  // namespace ddpsim
