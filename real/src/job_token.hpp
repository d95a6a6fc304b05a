// What tells a rank of this job from a stranger who found its port. It is compared, nothing more: whoever reads the network
// reads it too.
#pragma once

#include <string>
#include <string_view>

namespace ddpsim {

/// 128 random bits, in hexadecimal.
std::string random_token();

/// DDPSIM_JOB_TOKEN, or empty. Throws JobEnded where it is too long to be sent.
std::string token_from_environment();

/// In a time that says nothing of where they differ.
bool same_token(std::string_view one, std::string_view other);

}  // namespace ddpsim
