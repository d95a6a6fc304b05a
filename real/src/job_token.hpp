// A token that distinguishes ranks of this job from strangers that find its port. It is sent
// unencrypted, so anyone who can read the network can read it.
#pragma once

#include <string>
#include <string_view>

namespace ddpsim {

/// 128 random bits in hexadecimal.
std::string random_token();

/// DDPSIM_JOB_TOKEN, or empty. Throws JobEnded if it is too long to send.
std::string token_from_environment();

/// Compares in constant time, so that the duration does not reveal where the tokens differ.
bool same_token(std::string_view one, std::string_view other);

}  // namespace ddpsim
