// The type of every described document.
#pragma once

#include "ddpsim/formats/described.hpp"

namespace ddpsim {

const ObjectType& advice_document();
const ObjectType& allreduce_document();
const ObjectType& buckets_document();
const ObjectType& calibration_document();
const ObjectType& compare_document();
const ObjectType& difference_document();
const ObjectType& error_document();
const ObjectType& result_document();
/// A line of a sweep. Lines have no `schema` key.
const ObjectType& sweep_point_document();
const ObjectType& timeline_document();
const ObjectType& topo_document();
const ObjectType& tune_document();
const ObjectType& validation_document();

}  // namespace ddpsim
