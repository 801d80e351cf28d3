// The table of contents of a checkpoint.
#include "trireme/io/stored_tensor.hpp"

#include "target.hpp"

namespace fuzz = trireme::fuzz;
namespace tr = trireme;

std::vector<std::string> seeds() {
  return {"position/epoch 2 0\n", "a 3 1 5\nb 1 2 3 0\ncallbacks/0/best 1 0\n", "w/of_chief 0 1 100\n", ""};
}

void try_input(std::string_view bytes) {
  constexpr std::size_t available = 10000;
  auto const room = [](std::string const& name) { return !name.ends_with(tr::of_chief); };
  fuzz::expect_file_error("run.npz: ", [&] {
    tr::StoredTensors const tensors = tr::detail::tensors_of_contents("run.npz", bytes, available, room);
    std::size_t held = 0;
    for (auto const& [name, tensor] : tensors) held += tensor.bytes.size();
    fuzz::require(held <= available, "more bytes than there are");
    std::string const text = tr::detail::table_of_contents(tensors);
    tr::StoredTensors const again = tr::detail::tensors_of_contents("run.npz", text, available, room);
    fuzz::require(tr::detail::table_of_contents(again) == text, "another table after writing it");
  });
}
