// The reader of event files that the tests use: a whole file, or the content of one record with checksums that fit.
#include <protozero/exception.hpp>

#include "trireme/io/event_file.hpp"

#include "../unit/io/event_records.hpp"
#include "target.hpp"

namespace fuzz = trireme::fuzz;
namespace tr = trireme;

std::vector<std::string> seeds() {
  std::string const version = tr::io::version_message(1.5);
  std::string const scalar = tr::io::scalar_message(2.5, {"epoch_loss", 7, 0.25});
  return {"f" + tr::io::EventFile::record(version) + tr::io::EventFile::record(scalar), "r" + version, "r" + scalar};
}

void try_input(std::string_view bytes) {
  unsigned const kind = fuzz::take(bytes) % 2;
  std::string const file = kind == 1 ? std::string(bytes) : tr::io::EventFile::record(bytes);
  try {
    for (std::string const& record : tr::test::read_records(file)) tr::test::decode(record);
  } catch (tr::test::BadEvents const&) {
  } catch (protozero::exception const&) {
  }
}
