// Tables of numbers. The first byte of an input chooses the delimiter and the rows that are skipped.
#include "trireme/io/csv.hpp"

#include "target.hpp"

namespace fuzz = trireme::fuzz;
using trireme::io::ByteSource;

std::vector<std::string> seeds() {
  return {"\1 1,2\n3,4.5\n", "\4a;b\n1;-2e30\n", "\2 1 2\t3\r\n\r\n+4 5 1e-400", "\1nan,inf,-0\n"};
}

void try_input(std::string_view bytes) {
  unsigned const choice = fuzz::take(bytes);
  trireme::io::CsvOptions const options{.delimiter = ",; \t"[choice % 4], .skip_rows = choice / 4 % 3};
  auto const read = [&]<class T>(T) {
    fuzz::expect_file_error("x.csv: ", [&] {
      ByteSource source("x.csv", std::string(bytes));
      fuzz::look_at(trireme::io::read_csv<T>(source, options));
    });
  };
  choice / 12 % 2 == 0 ? read(float{}) : read(std::int32_t{});
}
