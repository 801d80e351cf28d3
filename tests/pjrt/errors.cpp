// What a plugin cannot do is one sentence, and what PJRT does not check is checked.
#define BOOST_TEST_MODULE pjrt_errors
#include "support/kokkos_fixture.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <unistd.h>

#include "pjrt/plugin.hpp"
#include "support/environment_variables.hpp"
#include "support/small_training.hpp"
#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/optimizers/sgd.hpp"

using namespace trireme;

namespace {

template <class Thrown>
void check_message(std::function<void()> const& act, std::string const& text) {
  BOOST_CHECK_EXCEPTION(act(), Thrown, [&](Thrown const& error) {
    std::string const message = error.what();
    BOOST_TEST_INFO(message);
    return message.find(text) != std::string::npos && message.find('\n') == std::string::npos;
  });
}

template <class Strategy>
auto placed(Strategy const& strategy) {
  return compile(strategy, test::mlp(), SGD{}, SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{});
}

lowering::Program twice() {
  lowering::Builder b;
  auto const x = b.argument<float>(Extents<3>{});
  b.result(b.add(x, x), x);
  return b.finish();
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_plugin_that_is_not_there_is_named) {
  check_message<PluginError>([] { placed(PjrtStrategy{.plugin = "/nowhere/plugin.so"}); },
                             "the PJRT plugin /nowhere/plugin.so cannot be loaded");
}

BOOST_AUTO_TEST_CASE(a_library_that_is_no_plugin_is_named) {
  check_message<PluginError>([] { placed(PjrtStrategy{.plugin = "libm.so.6"}); },
                             "libm.so.6 is no PJRT plugin: it has no function GetPjrtApi");
}

BOOST_AUTO_TEST_CASE(a_tpu_is_a_device_of_googles) {
  auto const bus = std::filesystem::temp_directory_path() / ("trireme_bus_" + std::to_string(::getpid()));
  BOOST_TEST(!pjrt::has_tpu(bus.string()));
  for (std::string const vendor : {"0x8086", "0x1ae0"}) {
    std::filesystem::create_directories(bus / vendor);
    std::ofstream(bus / vendor / "vendor") << vendor << "\n";
    BOOST_TEST(pjrt::has_tpu(bus.string()) == (vendor == "0x1ae0"));
  }
  std::filesystem::remove_all(bus);
}

/// True if libtpu is not installed, or is and finds no TPU.
BOOST_AUTO_TEST_CASE(without_a_tpu_the_tpu_strategy_says_so_in_one_sentence) {
  if (pjrt::has_tpu()) return;
  check_message<PluginError>([] { placed(TPUStrategy()); }, "libtpu");
}

/// Before libtpu is loaded: its clients would wait for each other.
BOOST_AUTO_TEST_CASE(a_pod_of_several_hosts_is_not_trained_on_by_one_process) {
  test::EnvironmentVariables const pod(
      {{"TPU_WORKER_HOSTNAMES", "a,b,c,d"}, {"TPU_WORKER_ID", "0"}, {"TPU_LIBRARY_PATH", "/nowhere/libtpu.so"}});
  check_message<ValueError>([] { placed(TPUStrategy()); }, "this TPU pod has 4 processes");
  check_message<PluginError>([] { placed(PjrtStrategy{.plugin = "/nowhere/plugin.so"}); }, "cannot be loaded");
}

BOOST_AUTO_TEST_CASE(options_and_numbers_of_devices_are_checked) {
  PjrtStrategy strategy = test::pjrt_strategy(3);
  strategy.options = {{"cpu_device_count", 2}};
  check_message<PluginError>([&] { placed(strategy); },
                             "3 devices are needed (replicas x shards: 3 x 1), and there are 2");
  PjrtStrategy all = test::pjrt_strategy(0);
  all.options = {{"cpu_device_count", 0}};
  check_message<PluginError>([&] { placed(all); }, "has no device");
  strategy.options = {{"no_such_option", 1}};
  check_message<PluginError>([&] { placed(strategy); }, "no_such_option");
}

BOOST_AUTO_TEST_CASE(arrays_of_another_type_or_shape_are_refused_even_where_they_have_as_many_bytes) {
  auto const client = pjrt::open_client(test::plugin(), {}, 1);
  pjrt::Executable program(client, twice(), 1, pjrt::ProgramCache(""));
  std::vector<std::int32_t> const integers{1, 2, 3};
  auto const wrong = pjrt::copy_to_device(*client, 0, lowering::tensor_type<std::int32_t>({3}), integers.data());
  check_message<ShapeError>([&] { program.set(0, 0, wrong); },
                            "argument 0 of a program is f32 (3,), and was given i32");
  std::vector<float> const numbers{1, 2, 3};
  auto const flat = pjrt::copy_to_device(*client, 0, lowering::tensor_type<float>({1, 3}), numbers.data());
  BOOST_CHECK_THROW(program.set(0, 0, flat), ShapeError);
}

BOOST_AUTO_TEST_CASE(an_array_that_was_given_away_is_gone) {
  auto const client = pjrt::open_client(test::plugin(), {}, 1);
  pjrt::Executable program(client, twice(), 1, pjrt::ProgramCache(""));
  std::vector<float> numbers{1, 2, 3};
  auto const given = pjrt::copy_to_device(*client, 0, lowering::tensor_type<float>({3}), numbers.data());
  program.set(0, 0, given);
  program.run();
  program.take(0, 0).to_host(numbers.data());
  program.take_event(0).await();
  BOOST_TEST(numbers == (std::vector<float>{2, 4, 6}), boost::test_tools::per_element());
  check_message<PluginError>(
      [&] {
        program.set(0, 0, given);
        program.run();
      },
      "deleted or donated");
}

BOOST_AUTO_TEST_CASE(what_the_compiler_says_is_one_line) {
  auto const client = pjrt::open_client(test::plugin(), {}, 1);
  check_message<PluginError>(
      [&] {
        pjrt::Executable(client,
                         {"func.func public @main() -> tensor<f32> {\n  return %nothing : tensor<f32>\n}\n", {}, {}}, 1,
                         pjrt::ProgramCache(""));
      },
      "PJRT_Client_Compile");
}

BOOST_AUTO_TEST_CASE(extents_that_only_the_run_knows_are_checked_when_a_program_is_written) {
  lowering::Builder b;
  auto const a = b.argument<float>(Extents<dynamic, 3>{{2, 3}});
  auto const c = b.argument<float>(Extents<dynamic, 3>{{4, 3}});
  check_message<ShapeError>([&] { b.add(a, c); }, "tensors of extents (2, 3) and (4, 3)");
}
