/// StoredValues: the values of a checkpoint by name, which an Archive writes and reads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/numbers.hpp"
#include "trireme/io/stored_tensor.hpp"

namespace trireme {

namespace detail {
/// Stored type of a number: float and double unchanged, all other types in 64 bits.
template <class V>
using StoredNumber = std::conditional_t<std::is_floating_point_v<V>, V, std::int64_t>;

template <class>
inline constexpr bool is_vector = false;
template <class V>
inline constexpr bool is_vector<std::vector<V>> = true;
template <class>
inline constexpr bool is_optional = false;
template <class V>
inline constexpr bool is_optional<std::optional<V>> = true;
template <class>
inline constexpr bool is_tuple = false;
template <class... V>
inline constexpr bool is_tuple<std::tuple<V...>> = true;
template <class>
inline constexpr bool is_pair = false;
template <class A, class B>
inline constexpr bool is_pair<std::pair<A, B>> = true;
}  // namespace detail

/// Values by name, saved or loaded depending on the constructor; counts the named ones. Names lie in folders.
class StoredValues {
 public:
  /// Values to be saved at `path`.
  explicit StoredValues(std::string path) : path_(std::move(path)) {}
  /// Values to be loaded from the tensors of the checkpoint at `path`.
  StoredValues(std::string path, StoredTensors tensors)
      : path_(std::move(path)), tensors_(std::move(tensors)), loads_(true) {}

  /// True if values are loaded; if false they are saved.
  bool loads() const { return loads_; }
  /// Path of the checkpoint.
  std::string const& path() const { return path_; }
  /// Tensors that were saved so far, or those to load from.
  StoredTensors const& tensors() const { return tensors_; }
  /// The same, out of the archive.
  StoredTensors take_tensors() { return std::move(tensors_); }

  /// Checks that all values were named. \throws FileError if the checkpoint holds other values
  void require_complete() const;

 protected:
  /// Path of the folder in which names lie now, "callbacks/0/".
  std::string const& folder() const { return folder_; }

  /// Calls f(), whose names lie in a folder of this name.
  template <class F>
  void in_folder(std::string_view name, F const& f) {
    std::size_t const length = folder_.size();
    folder_.append(name).append("/");
    f();
    folder_.resize(length);
  }

  /// Saves or loads a number or an enumeration.
  template <class V>
  void number(std::string_view name, V& value) {
    using Stored = detail::StoredNumber<V>;
    auto stored = static_cast<Stored>(value);
    require_elements(name, 1);
    StoredTensor& tensor = slot<Stored>(name, {}, &stored, 1);
    if (!loads_) return;
    std::memcpy(&stored, tensor.bytes.data(), sizeof(stored));
    value = converted<V>(name, stored);
  }

  /// Saves or loads the length of a sequence. Its elements are stored under at least one name each, unless they have no
  /// values. \throws FileError if a loaded length is above those of the sequence and of the list of stored values
  void length(std::string_view name, std::size_t& value);

  /// Saves or loads a vector of numbers, or a string.
  template <class Stored, class V>
  void array(std::string_view name, V& values) {
    std::vector<Stored> stored(values.begin(), values.end());
    StoredTensor& tensor = slot<Stored>(name, {stored.size()}, stored.data(), stored.size());
    if (!loads_) return;
    stored.resize(tensor.size());
    if (!stored.empty()) std::memcpy(stored.data(), tensor.bytes.data(), tensor.bytes.size());
    values.resize(stored.size());
    std::transform(stored.begin(), stored.end(), values.begin(),
                   [&](Stored v) { return converted<typename V::value_type>(name, v); });
  }

  /// Checks a loaded tensor's number of elements; does nothing while saving. Every process knows the extents of each
  /// tensor, even if the chief alone has its values.
  /// \throws FileError unless the tensor of this name has `size` elements, or a multiple of it if `repeated`
  void require_elements(std::string_view name, std::size_t size, bool repeated = false) const;

  [[noreturn]] void fail(std::string const& what) const;

 private:
  /// The number as V. Numbers of 64 bits are stored as they lie in memory. \throws FileError if V cannot hold it
  template <class V, class Stored>
  V converted(std::string_view name, Stored stored) const {
    if constexpr (std::is_enum_v<V>) {
      return static_cast<V>(converted<std::underlying_type_t<V>>(name, stored));
    } else if constexpr (std::is_floating_point_v<V> || sizeof(V) == sizeof(Stored)) {
      return static_cast<V>(stored);
    } else {
      auto const value = io::exact_cast<V>(stored);
      if (!value) fail(formatted("has the value {} '{}{}', which its type cannot hold", stored, folder_, name));
      return *value;
    }
  }

  /// The tensor of this name, which gets these values while saving.
  /// \throws FileError while loading if there is none of this name and type.
  template <class Stored>
  StoredTensor& slot(std::string_view name, std::vector<std::size_t> extents, Stored const* values, std::size_t size) {
    std::string_view const bytes(reinterpret_cast<char const*>(values), size * sizeof(Stored));
    return slot(name, element_type<Stored>(), std::move(extents), bytes);
  }

  StoredTensor& slot(std::string_view name, ElementType type, std::vector<std::size_t> extents, std::string_view bytes);

  std::string path_;
  std::string folder_{};
  StoredTensors tensors_{};
  bool loads_ = false;
  std::size_t named_ = 0;
};

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/callbacks/stored_values.ipp"
#endif
