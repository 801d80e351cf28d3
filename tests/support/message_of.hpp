/// The message of an error.
#pragma once

#include <string>

namespace trireme::test {

/// Message of the error E that f throws, or "".
template <class E, class F>
std::string message_of(F const& f) {
  try {
    f();
  } catch (E const& error) {
    return error.what();
  }
  return "";
}

}  // namespace trireme::test
