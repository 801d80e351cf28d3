/// Tensors that own their values, under names: the content of a checkpoint beside weights, and its form as text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/named_tensor.hpp"
#include "trireme/io/stated_extents.hpp"

namespace trireme {

/// A tensor that owns its values, for checkpoints.
struct StoredTensor {
  ElementType type = ElementType::int64;
  std::vector<std::size_t> extents;  ///< empty: a scalar
  std::string bytes;                 ///< the values as they lie in memory

  /// Number of elements.
  std::size_t size() const { return bytes.size() / size_of(type); }
};

/// By name, such as "callbacks/0/wait".
using StoredTensors = std::map<std::string, StoredTensor, std::less<>>;

namespace detail {

/// Place of a tensor of this name in a file; the last part is its own name.
template <class Void>
BasicNamedTensor<Void> placed_tensor(std::string const& name, ElementType type, std::vector<std::size_t> extents,
                                     Void* data) {
  std::size_t const slash = name.rfind('/');
  return {{name.substr(0, slash)}, 0, std::move(extents), type, data, name.substr(slash + 1)};
}

/// A line for each tensor: "callbacks/0/best 1 1", which is its type, its extents' number and these.
std::string table_of_contents(StoredTensors const& tensors);

/// An entry of a table of contents.
struct StatedTensor {
  std::string name;
  ElementType type = ElementType::int64;
  std::vector<std::size_t> extents;
  std::size_t bytes = 0;
};

/// The entry that a line states; nothing if it states none, or one that no memory could hold.
std::optional<StatedTensor> stated_tensor(std::string_view line);

/// The tensors of a table of contents, with room for their values where `has_room(name)`.
/// \throws FileError unless each line states one more tensor, and `available` bytes hold all of them
template <class HasRoom>
StoredTensors tensors_of_contents(std::string const& path, std::string_view text, std::size_t available,
                                  HasRoom const& has_room) {
  StoredTensors tensors;
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::size_t const end = std::min(text.find('\n'), text.size());
    std::optional<StatedTensor> stated = stated_tensor(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!stated) throw FileError(path, formatted("line {} of its table of contents states no tensor", number));
    if (stated->bytes > available)
      throw FileError(path, formatted("line {} of its table of contents states a tensor of {} bytes, of which there "
                                      "are {} at most",
                                      number, stated->bytes, available));
    available -= stated->bytes;
    StoredTensor tensor{stated->type, std::move(stated->extents), {}};
    if (has_room(stated->name)) tensor.bytes.resize(stated->bytes);
    if (!tensors.emplace(std::move(stated->name), std::move(tensor)).second)
      throw FileError(path, formatted("line {} of its table of contents states a tensor again", number));
  }
  return tensors;
}

}  // namespace detail

/// Last part of the names of tensors that the chief alone holds, such as weights, so that others need no room for them.
inline constexpr std::string_view of_chief = "of_chief";

namespace detail {

/// Tensors to be sent: a table of contents and their values, without those that the chief alone holds.
struct PackedTensors {
  std::string contents, values;

  /// Packs them.
  explicit PackedTensors(StoredTensors const& tensors);
  /// Tensors that another process has packed.
  PackedTensors(std::string packed_contents, std::string packed_values)
      : contents(std::move(packed_contents)), values(std::move(packed_values)) {}

  /// The tensors; of the chief's own only names and extents.
  StoredTensors tensors() const;
};

}  // namespace detail

/// Gives every process the chief's tensors, and only the names of those that the chief alone holds. Collective.
template <class Group>
void broadcast_tensors(Group const& group, StoredTensors& tensors) {
  if (group.size() == 1) return;
  detail::PackedTensors packed(tensors);
  group.broadcast(packed.contents);
  group.broadcast(packed.values);
  if (!group.is_chief()) tensors = packed.tensors();
}

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/io/stored_tensor.ipp"
#endif
