// Compiled programs are kept on disk, and damaged ones are compiled anew.
#define BOOST_TEST_MODULE pjrt_cache
#include "support/kokkos_fixture.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include "pjrt/training.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/optimizers/adam.hpp"

using namespace trireme;

namespace {

struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("trireme_programs_" + std::to_string(::getpid()));
  ~Folder() { std::filesystem::remove_all(path); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path), {}));
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_program_is_compiled_once_and_a_damaged_one_again) {
  Folder const folder;
  auto const samples = test::mlp_samples<float>(50);
  auto const data = samples.data().shuffle(50, 3).batch(GlobalBatch{16});
  auto const train = [&](std::size_t replicas, double rate) {
    PjrtStrategy strategy = test::pjrt_strategy(replicas);
    strategy.cache = folder.path.string();
    auto model = compile(strategy, test::mlp(), Adam{.learning_rate = rate},
                         SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{});
    fit(strategy, model, data, validation(data), {.epochs = 3, .verbose = false});
    return model;
  };
  auto const first = train(2, 1e-2);
  BOOST_TEST(first.engine().compiled_programs() == 2u);
  BOOST_TEST(first.engine().cached_programs() == 0u);
  BOOST_TEST(folder.files() == 2u);

  auto const second = train(2, 1e-2);
  BOOST_TEST(second.engine().cached_programs() == 2u);
  BOOST_TEST(test::weight_bits(second) == test::weight_bits(first));

  train(2, 1e-3);  // the rate is an argument, not a part of the program
  BOOST_TEST(folder.files() == 2u);
  train(1, 1e-2);
  BOOST_TEST(folder.files() == 4u);

  for (auto const& entry : std::filesystem::directory_iterator(folder.path)) {
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(entry.path()) / 2));
    file.write("damage", 6);
  }
  auto const third = train(2, 1e-2);
  BOOST_TEST(third.engine().cached_programs() == 0u);
  BOOST_TEST(test::weight_bits(third) == test::weight_bits(first));
  BOOST_TEST(train(2, 1e-2).engine().cached_programs() == 2u);
}
