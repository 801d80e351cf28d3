// The checkpoint that messages of a failed run name.
#define BOOST_TEST_MODULE noted_checkpoints
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "trireme/mpi/fault/status_record.hpp"

using trireme::detail::noted_checkpoints;

namespace {

std::string named() { return trireme::detail::status().checkpoint(); }

}  // namespace

BOOST_AUTO_TEST_CASE(threads_that_train_models_of_their_own_note_whole_paths) {
  std::vector<std::string> paths;
  for (char const letter : {'a', 'b', 'c', 'd'}) paths.emplace_back('/' + std::string(1000, letter));
  for (int round = 0; round < 20; ++round) {
    std::vector<std::thread> threads;
    for (std::string const& path : paths)
      threads.emplace_back([&path] {
        for (int i = 0; i < 500; ++i) noted_checkpoints().note(path);
      });
    for (std::thread& thread : threads) thread.join();
    BOOST_TEST(std::count(paths.begin(), paths.end(), named()) == 1);
  }
}

BOOST_AUTO_TEST_CASE(a_checkpoint_that_is_removed_leaves_the_one_noted_before) {
  std::string const too_long = '/' + std::string(2000, 'a');
  noted_checkpoints().note("/model.h5");
  for (std::string const& path : {std::string("/run.h5"), too_long}) {
    noted_checkpoints().note(path);
    noted_checkpoints().note(path);
    BOOST_TEST(named() == path.substr(0, 1023));
    noted_checkpoints().forget(path);
    BOOST_TEST(named() == "/model.h5");
  }
  noted_checkpoints().note("/run.h5");
  noted_checkpoints().note("/model.h5");
  noted_checkpoints().forget("/run.h5");
  noted_checkpoints().forget("/another.h5");
  BOOST_TEST(named() == "/model.h5");
  for (int i = 0; i < 100; ++i) noted_checkpoints().note("/run-" + std::to_string(i) + ".h5");
  BOOST_TEST(named() == "/run-99.h5");
  for (int i = 100; i-- > 0;) noted_checkpoints().forget("/run-" + std::to_string(i) + ".h5");
  BOOST_TEST(named() == "");
}

BOOST_AUTO_TEST_CASE(another_process_reads_whole_paths_while_they_are_noted) {
  auto const record = std::make_unique<trireme::detail::StatusRecord>();
  std::atomic<bool> ended{false};
  std::thread rank([&] {
    std::vector<std::string> paths;
    for (char const letter : {'a', 'b', 'c'}) paths.emplace_back('/' + std::string(1000, letter));
    for (std::size_t i = 0; !ended; ++i) record->set_checkpoint(paths[i % paths.size()]);
  });
  std::size_t torn = 0, read = 0;
  for (auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
       std::chrono::steady_clock::now() < end; ++read) {
    std::string const path = record->checkpoint();
    if (path.empty()) continue;  // before the first
    bool const whole = path.size() == 1001 && path == '/' + std::string(1000, path[1]);
    torn += whole ? 0 : 1;
  }
  ended = true;
  rank.join();
  BOOST_TEST(torn == 0, torn << " of " << read << " paths were torn");
}
