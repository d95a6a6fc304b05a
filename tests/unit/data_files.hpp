// Where the data of tests lie. Defined in a source of its own, so that no other object depends on where the checkout
// is: a compiler cache then serves every clone.
#pragma once

#include <string>

namespace ddpsim::files {

/// Real data beside the checkout: "data/traces"; tests skip with a message where it is absent.
std::string shared_file(const std::string& path);
/// Small inputs of our own, in tests/fixtures.
std::string fixture_file(const std::string& path);
/// A page of the documentation: "docs/reference/formats.md".
std::string page(const std::string& path);

}  // namespace ddpsim::files
