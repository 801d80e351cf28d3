// Law 5: whichever call of the system fails while a file is written, the old file or the new one is there, and a write
// that reports no error has written everything.
#define BOOST_TEST_MODULE io_failing_calls
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "support/faults.hpp"
#include "trireme/io/checkpoint_file.hpp"
#include "trireme/io/growing_file.hpp"
#include "trireme/io/weights_file.hpp"

#include "folder.hpp"

namespace tr = trireme;
using tr::test::Folder;
using tr::test::text_of;

namespace {

/// Two tensors, of which one is larger than HDF5's buffers; all values follow from the first.
struct Values {
  std::vector<double> small, large;
  explicit Values(double first) : small(5), large(20000) {
    std::iota(small.begin(), small.end(), first);
    std::iota(large.begin(), large.end(), first);
  }
  std::vector<tr::NamedTensor> tensors() const {
    return {tr::named_tensor({"layers", "dense", "vars"}, 0, {large.size()}, large.data()),
            tr::named_tensor({"layers", "dense", "vars"}, 1, {small.size()}, small.data())};
  }
  std::vector<tr::NamedDestination> destinations() {
    return {tr::named_destination({"layers", "dense", "vars"}, 0, {large.size()}, large.data()),
            tr::named_destination({"layers", "dense", "vars"}, 1, {small.size()}, small.data())};
  }
  /// The first value, or -1 if another does not follow from it.
  double first() const {
    Values const whole(small[0]);
    return whole.small == small && whole.large == large ? small[0] : -1;
  }
};

/// Writes 1, and over it 2 with each of its calls failing in turn. `read` returns what is there.
void check(Folder const& folder, std::function<void(double)> const& write, std::function<double()> const& read) {
  if (!tr::test::have_faults()) return;
  tr::test::set_faults(folder.root.string());
  write(1);
  write(2);
  long const calls = tr::test::counted_calls();
  BOOST_TEST(calls > 0);
  std::size_t errors = 0;
  for (char const* const fault : {"EIO", "part", "full"})
    for (long call = 1; call <= calls; ++call) {
      tr::test::set_faults("");
      write(1);
      tr::test::set_faults(folder.root.string(), std::to_string(call) + ":" + fault);
      std::string message;
      try {
        write(2);
      } catch (tr::FileError const& error) {
        message = error.what();
        ++errors;
      }
      tr::test::set_faults("");
      double const found = read();
      BOOST_TEST_CONTEXT(fault << " at call " << call << ": " << message) {
        BOOST_TEST(message.starts_with(message.empty() ? "" : folder.root.string()));
        BOOST_TEST(message.find_first_of("\n\t") == std::string::npos);
        if (message.empty())
          BOOST_REQUIRE(found == 2);
        else
          BOOST_REQUIRE((found == 1 || found == 2));
      }
    }
  BOOST_TEST(errors > 0u);
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(weights_are_whole, Folder) {
  for (char const* const name :
#ifdef TRIREME_HAVE_HDF5
       {"m.weights.h5", "m.npz"})
#else
       {"m.npz"})
#endif
    check(
        *this, [&](double value) { tr::write_weights(file(name), Values(value).tensors()); },
        [&] {
          Values values(0);
          tr::read_weights(file(name), values.destinations());
          return values.first();
        });
}

BOOST_FIXTURE_TEST_CASE(checkpoints_are_whole_and_undamaged, Folder) {
  for (char const* const name :
#ifdef TRIREME_HAVE_HDF5
       {"run.h5", "run.npz"})
#else
       {"run.npz"})
#endif
    check(
        *this,
        [&](double value) {
          auto const step = static_cast<std::int64_t>(value);
          tr::StoredTensors tensors;
          tensors["step"] = {tr::ElementType::int64, {}, std::string(reinterpret_cast<char const*>(&step), 8)};
          tr::CheckpointFile(file(name)).write(Values(value).tensors(), {}, tensors);
        },
        [&] {
          Values values(0);
          tr::StoredTensors tensors;
          std::string report;
          tr::CheckpointFile const checkpoint(file(name));
          std::string const found = checkpoint.read(tensors, report);
          BOOST_TEST(!found.empty());
          checkpoint.read_weights(found, values.destinations());
          BOOST_TEST(report == "");
          bool const fits = tensors["step"].bytes[0] == static_cast<char>(values.first());
          return fits ? values.first() : -1;
        });
}

BOOST_FIXTURE_TEST_CASE(a_log_ends_with_a_whole_line, Folder) {
  check(
      *this,
      [&](double value) {
        tr::GrowingFile log(file("log.csv"));
        log.cut(value == 1 ? 0 : 6);
        log.append(value == 1 ? "first\n" : "second\n");
      },
      [&] {
        std::string const text = text_of(file("log.csv"));
        return text == "first\n" ? 1.0 : text == "first\nsecond\n" ? 2.0 : -1.0;
      });
}
