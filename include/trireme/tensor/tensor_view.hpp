/// TensorView: memory of the library seen as an xtensor container, whose assignment writes values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/tensor/extents.hpp"
#include "trireme/tensor/xtensor.hpp"

namespace trireme {

template <class T>
class TensorView;

namespace detail {
template <class T>
using SeenBuffer = xt::xbuffer_adaptor<T*, xt::no_ownership>;
}  // namespace detail

}  // namespace trireme

namespace xt {
// The types of xtensor's own adaptor for such memory, for all members that any version of xtensor needs.
template <class T>
struct xcontainer_inner_types<trireme::TensorView<T>>
    : xcontainer_inner_types<
          xarray_adaptor<trireme::detail::SeenBuffer<T>, layout_type::row_major, std::vector<std::size_t>>> {};
template <class T>
struct xiterable_inner_types<trireme::TensorView<T>> : xcontainer_iterable_types<trireme::TensorView<T>> {};
}  // namespace xt

namespace trireme {

/// Row-major memory that another object keeps, which has to outlive the view. Elements, arithmetic and every function
/// of xtensor work as for an xt::xarray.
///
/// xtensor's own adaptors point elsewhere after an assignment. A view of this class never does: `w = expression`,
/// `w = other_view`, `w = 0`, `w += expression` and `xt::noalias(w) = expression` write values to the memory, of the
/// view's extents or a scalar. A copy of a view sees the same memory; `swap(v, w)` exchanges values.
/// \throws ShapeError if the extents differ; ValueError if the view was moved from, as std::swap does.
template <class T>
class TensorView : public xt::xstrided_container<TensorView<T>>, public xt::xcontainer_semantic<TensorView<T>> {
  using Container = xt::xstrided_container<TensorView<T>>;
  using Semantic = xt::xcontainer_semantic<TensorView<T>>;

 public:
  using storage_type = typename Container::storage_type;
  using shape_type = typename Container::shape_type;
  using temporary_type = typename Semantic::temporary_type;
  using expression_tag = xt::xtensor_expression_tag;
  static constexpr std::size_t rank = static_cast<std::size_t>(-1);

  /// View of contiguous, row-major values at `data`, which the caller keeps.
  TensorView(T* data, shape_type const& extents) : storage_(std::move(data), elements(extents)) {
    Container::resize(extents);
  }
  TensorView(TensorView const&) = default;
  TensorView(TensorView&& other) : TensorView(std::as_const(other)) {
    other.storage_ = storage_type(static_cast<T*>(nullptr), std::size_t{0});
    other.resize(shape_type{0});
    other.detached_ = true;
  }
  ~TensorView() = default;

  TensorView& operator=(TensorView const& other) { return write(other); }
  TensorView& operator=(TensorView&& other) { return write(other); }
  TensorView& operator=(temporary_type&& values) { return write(values); }
  template <class E>
  TensorView& operator=(xt::xexpression<E> const& e) {
    return Semantic::operator=(e);
  }
  template <class Scalar>
    requires std::is_arithmetic_v<Scalar>
  TensorView& operator=(Scalar value) {
    require_attached();
    std::fill_n(this->data(), this->size(), static_cast<T>(value));
    return *this;
  }

  friend void swap(TensorView& a, TensorView& b) {
    a.require_extents(b.shape());
    std::swap_ranges(a.data(), a.data() + a.size(), b.data());
  }
  friend void swap(TensorView&& a, TensorView&& b) { swap(a, b); }

  // xtensor calls these where no temporary is wanted.
  /// Assigns an expression or a scalar, element by element. \throws ShapeError if the extents differ
  template <class E>
  TensorView& assign_xexpression(xt::xexpression<E> const& e) {
    if (e.derived_cast().dimension() == 0) return *this = static_cast<T>(e.derived_cast()());
    require_extents(e.derived_cast().shape());
    return Semantic::assign_xexpression(e);
  }
  /// Assigns the result of a computed assignment, such as +=. \throws ShapeError if the extents differ
  template <class E>
  TensorView& computed_assign(xt::xexpression<E> const& e) {
    require_extents(e.derived_cast().shape());
    return Semantic::computed_assign(e);
  }

 private:
  friend class xt::xcontainer<TensorView<T>>;

  storage_type& storage_impl() noexcept { return storage_; }
  storage_type const& storage_impl() const noexcept { return storage_; }

  static std::size_t elements(shape_type const& extents) {
    std::size_t size = 1;
    for (std::size_t const extent : extents) size *= extent;
    return size;
  }

  template <class Array>
  TensorView& write(Array const& values) {
    require_extents(values.shape());
    if (values.data() != this->data()) std::copy_n(values.data(), this->size(), this->data());
    return *this;
  }

  void require_attached() const {
    if (detached_) throw ValueError("the view of a tensor was moved from; to exchange the values of two, call swap");
  }
  template <class Extents>
  void require_extents(Extents const& given) const {
    require_attached();
    std::vector<std::size_t> const extents(given.begin(), given.end());
    if (extents != this->shape())
      throw ShapeError(formatted("a tensor of extents {} cannot be assigned values of extents {}",
                                 format_extents(this->shape()), format_extents(extents)));
  }

  storage_type storage_;
  bool detached_ = false;
};

/// Row-major data seen through xtensor, without a copy: reads and writes go to `data`, which has to outlive the result.
template <class T>
TensorView<T> xtensor_view(T* data, std::vector<std::size_t> const& extents) {
  return TensorView<T>(data, extents);
}

}  // namespace trireme
