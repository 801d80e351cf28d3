/// Errors that are the same on all ranks.
#pragma once

#include <string>
#include <utility>

#include <boost/test/unit_test.hpp>

#include "trireme/mpi/communicator.hpp"

namespace trireme::test {

/// Message of the error E that f throws, or ""; checks that it is the same on all ranks, so that a test whose check
/// fails ends in order. Collective.
template <class E, class F>
std::string uniform_message_of(Communicator const& world, F&& f) {
  std::string message;
  try {
    std::forward<F>(f)();
  } catch (E const& error) {
    BOOST_TEST(error.uniform());
    message = error.what();
  }
  std::string of_chief = message;
  world.broadcast(of_chief);
  BOOST_TEST(message == of_chief);
  return message;
}

}  // namespace trireme::test
