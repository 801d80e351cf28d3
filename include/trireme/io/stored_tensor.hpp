/// Tensors that own their values, under names: what a checkpoint holds beside weights, and how it travels as text.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trireme/error.hpp"
#include "trireme/io/named_tensor.hpp"
#include "trireme/text.hpp"

namespace trireme {

struct StoredTensor {
  ElementType type = ElementType::int64;
  std::vector<std::size_t> extents;  ///< empty: a scalar
  std::string bytes;                 ///< the values as they lie in memory

  std::size_t size() const { return bytes.size() / size_of(type); }
};

/// By name, such as "callbacks/0/wait".
using StoredTensors = std::map<std::string, StoredTensor, std::less<>>;

namespace detail {

/// Where a tensor of this name is in a file: its last part is its own name.
template <class Void>
BasicNamedTensor<Void> placed_tensor(std::string const& name, ElementType type, std::vector<std::size_t> extents,
                                     Void* data) {
  std::size_t const slash = name.rfind('/');
  return {{name.substr(0, slash)}, 0, std::move(extents), type, data, name.substr(slash + 1)};
}

/// A line for each tensor: "callbacks/0/best 1 1", which is its type, its extents' number and these.
inline std::string table_of_contents(StoredTensors const& tensors) {
  std::string text;
  for (auto const& [name, tensor] : tensors) {
    text += formatted("{} {} {}", name, static_cast<int>(tensor.type), tensor.extents.size());
    for (std::size_t const extent : tensor.extents) text += formatted(" {}", extent);
    text += '\n';
  }
  return text;
}

/// The tensors of a table of contents, with room for their values.
inline StoredTensors tensors_of_contents(std::string const& text) {
  StoredTensors tensors;
  std::istringstream lines(text);
  std::string name;
  int type = 0;
  std::size_t rank = 0;
  while (lines >> name >> type >> rank) {
    StoredTensor tensor{static_cast<ElementType>(type), std::vector<std::size_t>(rank), {}};
    std::size_t size = 1;
    for (std::size_t& extent : tensor.extents) {
      lines >> extent;
      size *= extent;
    }
    tensor.bytes.resize(size * size_of(tensor.type));
    tensors.emplace(name, std::move(tensor));
  }
  return tensors;
}

}  // namespace detail

/// The last part of the names of tensors that the chief alone holds, such as weights: nobody else needs room for all.
inline constexpr std::string_view of_chief = "of_chief";

/// Gives every process the chief's tensors, of those that it alone holds nothing but their names. Collective.
template <class Group>
void broadcast_tensors(Group const& group, StoredTensors& tensors) {
  if (group.size() == 1) return;
  auto const stays = [](std::string const& name) { return name.ends_with(of_chief); };
  std::string contents = detail::table_of_contents(tensors), values;
  for (auto const& [name, tensor] : tensors)
    if (!stays(name)) values += tensor.bytes;
  group.broadcast(contents);
  group.broadcast(values);
  if (group.is_chief()) return;
  tensors = detail::tensors_of_contents(contents);
  std::size_t at = 0;
  for (auto& [name, tensor] : tensors) {
    if (stays(name)) tensor.bytes.clear();
    tensor.bytes = values.substr(at, tensor.bytes.size());
    at += tensor.bytes.size();
  }
}

}  // namespace trireme
