// Checkpoints with a seal that fits: a whole file, or a table of contents and the values of its tensors. What is read
// is given to a state of every kind.
#include "trireme/callbacks/archive.hpp"
#include "trireme/io/checkpoint_file.hpp"
#include "trireme/mpi/single_process.hpp"

#include "target.hpp"

namespace fuzz = trireme::fuzz;
namespace tr = trireme;

namespace {

fuzz::Folder const folder;
std::string const path = folder.file("run.npz");

struct Engine {
  using T = float;
  using Snapshot = int;
};

struct State {
  std::size_t count = 3;
  bool flag = true;
  std::int8_t small = -1;
  double best = 0.5;
  std::string text = "text";
  std::optional<double> perhaps = 1;
  std::vector<std::string> names{"a", "b"};
  std::vector<std::pair<std::string, std::vector<double>>> series{{"loss", {1, 2}}};
  std::vector<double> sums{1, 2, 3};

  template <class Archive>
  void state(Archive& archive) {
    archive("count", count);
    archive("flag", flag);
    archive("small", small);
    archive("best", best);
    archive("text", text);
    archive("perhaps", perhaps);
    archive("names", names);
    archive("series", series);
    archive.summands("sums", tr::SingleProcess{}, sums, 1);
  }
};

tr::StoredTensors saved() {
  Engine engine;
  State state;
  tr::Archive<Engine> archive(engine, path);
  archive("run", state);
  return archive.tensors();
}

/// More than a State has: what is beyond is stated and not there.
constexpr std::size_t most_members = 16;

/// A checkpoint of this table, which states its size as `size`, and whose first tensors are filled from `values`.
void write_checkpoint(std::string_view table, std::int64_t size, std::string_view values) {
  tr::detail::ZipWriter zip(path);
  auto const add = [&](std::string const& name, std::string const& header, std::string_view bytes) {
    zip.add(name + ".npy", header, bytes.data(), bytes.size());
  };
  std::size_t members = 0;
  for (std::string_view rest = table; !rest.empty() && members < most_members;) {
    auto const tensor = tr::detail::stated_tensor(fuzz::take_until(rest, '\n'));
    if (!tensor || tensor->bytes > 4096) continue;
    ++members;
    std::string bytes(values.substr(0, tensor->bytes));
    values.remove_prefix(bytes.size());
    bytes.resize(tensor->bytes);
    std::string const header =
        tr::with_element_type(tensor->type, [&]<class T>(T) { return tr::io::npy_header<T>(tensor->extents); });
    add("run/" + tensor->name, header, bytes);
  }
  add("run/contents_size", tr::io::npy_header<std::int64_t>({}), fuzz::bytes_of(size));
  add("run/contents", tr::io::npy_header<std::uint8_t>({table.size()}), table);
  zip.commit(true);
}

}  // namespace

std::vector<std::string> seeds() {
  tr::StoredTensors const tensors = saved();
  tr::CheckpointFile(path).write({}, {}, tensors);
  std::string file = fuzz::content_of(path);
  file.resize(file.size() - tr::detail::seal_size);
  std::string structured = "b" + tr::detail::table_of_contents(tensors) + "\xff";
  for (auto const& [name, tensor] : tensors) structured += tensor.bytes;
  return {"a" + file, structured, "d" + structured.substr(1)};
}

void try_input(std::string_view bytes) {
  unsigned const kind = fuzz::take(bytes) % 3;
  if (kind == 1) {
    auto const seal = tr::detail::seal_of(bytes);
    fuzz::write_file(path, std::string(bytes) + std::string(seal.data(), seal.size()));
  } else {
    std::string_view const table = fuzz::take_until(bytes, '\xff');
    auto size = static_cast<std::int64_t>(table.size());
    if (kind == 0 && bytes.size() >= sizeof(size)) std::memcpy(&size, bytes.data(), sizeof(size));
    write_checkpoint(table, size, bytes);
  }
  tr::StoredTensors tensors;
  std::string report;
  fuzz::expect_file_error(path, [&] {
    tr::CheckpointFile(path).read(tensors, report);
    Engine engine;
    State state;
    tr::Archive<Engine> archive(engine, path, std::move(tensors));
    archive("run", state);
    archive.require_complete();
  });
}
