// Packs bytes for a browser: gzip (RFC 1952) in base64 (RFC 4648).
#pragma once

#include <string>
#include <string_view>

namespace ddpsim {

/// One member without name and time: the same content gives the same bytes.
std::string gzip(std::string_view content);

std::string base64(std::string_view bytes);

}  // namespace ddpsim
