// expect: trireme: output_files of a callback must be const
#include <string>
#include <tuple>
#include <vector>

#include "trireme/callbacks/output_files.hpp"

struct Writer {
#ifdef TRIREME_MUST_FAIL
  std::vector<std::string> output_files() const { return {"a.csv"}; }
#else
  std::vector<trireme::OutputFile> output_files(auto const&) const { return {{.writer = "Writer", .path = "a.csv"}}; }
#endif
};

struct Run {
  std::size_t epoch() const { return 0; }
  std::size_t epochs() const { return 1; }
  std::size_t validation_freq() const { return 1; }
  std::vector<std::string> metric_names() const { return {"loss"}; }
  void on_chief(auto const&, auto const&...) {}
};

void use(Writer const& writer, Run& run) { trireme::try_outputs(std::tie(writer), run); }
