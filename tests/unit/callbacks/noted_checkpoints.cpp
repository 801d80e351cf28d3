// The checkpoint that messages of a failed run name.
#define BOOST_TEST_MODULE noted_checkpoints
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "trireme/mpi/fault/status_record.hpp"

using namespace trireme;

namespace {

std::string named() { return detail::status().checkpoint(); }

}  // namespace

BOOST_AUTO_TEST_CASE(threads_that_train_models_of_their_own_note_whole_paths) {
  std::vector<std::string> paths;
  for (char const letter : {'a', 'b', 'c', 'd'}) paths.emplace_back('/' + std::string(1000, letter));
  for (int round = 0; round < 20; ++round) {
    std::vector<std::thread> threads;
    for (std::string const& path : paths)
      threads.emplace_back([&path] {
        for (int i = 0; i < 500; ++i) detail::note_checkpoint(path);
      });
    for (std::thread& thread : threads) thread.join();
    BOOST_TEST(std::count(paths.begin(), paths.end(), named()) == 1);
  }
}
