/// Predictor: inference on any number of threads.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/running.hpp"
#include "trireme/backend/execution/space_context.hpp"
#include "trireme/backend/execution/views.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/shared_handle.hpp"
#include "trireme/core/text.hpp"
#include "trireme/data/requirements.hpp"
#include "trireme/data/sample_rows.hpp"
#include "trireme/models/predictions.hpp"
#include "trireme/strategies/inference/inference_engine.hpp"
#include "trireme/tensor/arena.hpp"
#include "trireme/tensor/extents.hpp"
#include "trireme/tensor/flat_elements.hpp"
#include "trireme/tensor/xtensor.hpp"

namespace trireme {

/// Inference on any number of threads: a model's layers and a copy of its weights at the call of `model.predictor()`.
/// It stays unchanged while the model trains on or ends, and has to end before the Environment. Copies share the
/// weights.
///
/// Every member is const, not collective, and may be called by any number of threads at once, during `fit` of the model
/// too. A call of few rows computes on the caller's thread and opens no parallel region; one of many rows uses all
/// threads of the space, unless another call has them. On a host the bits of a call's outputs depend on its rows alone,
/// not on the number of threads or on other calls, unless the BLAS breaks this in products with more than 1 MB of
/// weights. On a device calls run one after the other. Dropout is off; BatchNormalization uses its moving statistics.
template <class ModelType, class SpaceType>
class Predictor {
 public:
  using Model = ModelType;
  using Space = SpaceType;
  using T = typename Model::scalar;

  /// \param weights  all of the model's arena, `description().arena_elements()` numbers.
  Predictor(Model const& model, std::span<T const> weights, Space const& space = default_space<Space>())
      : state_(std::make_shared<State const>(model, weights, space)) {}

  std::size_t input_size() const { return state_->model.input_size(); }    ///< elements of a sample
  std::size_t output_size() const { return state_->model.output_size(); }  ///< elements of its outputs

  /// Outputs (samples, output extents...) for `x`: an array of the extents (samples, input extents...), a tuple of
  /// arrays for several inputs, or a flat range of rows one after the other. A model of several outputs returns an
  /// array (a tuple) of these. Host data, converted to the model's scalar.
  /// \throws ShapeError naming both extents, or if a flat range holds no whole rows.
  /// \throws ValueError naming sample and value of an index outside of a vocabulary.
  template <data::SampleArrays X>
  auto predict(X&& x) const {
    auto const samples = data::sample_rows(std::forward<X>(x));
    std::size_t const rows = rows_of(samples);
    auto const& tensor = samples.tensor;
    data::verify_indices(RowsView(tensor.data), rows, input_size(), state_->needed.indices,
                         [&](std::size_t row) { return formatted("of sample {} of {}", row, tensor.name()); });
    using Given = typename std::remove_cvref_t<decltype(tensor)>::value_type;
    if constexpr (std::is_same_v<Given, T>) {
      return outputs(rows, tensor.data);
    } else {
      std::vector<T> converted(rows * input_size());
      std::transform(tensor.data, tensor.data + converted.size(), converted.begin(),
                     [](auto value) { return static_cast<T>(value); });
      return outputs(rows, converted.data());
    }
  }

  /// Computes `out` (rows, output) for `in` (rows, input): Views in memory of the space, or on a host xtensor
  /// containers or ranges of the model's scalar too, all of them row-major without gaps. Allocates nothing if as many
  /// threads have called it at once before.
  ///
  /// Compile-time errors: arrays in memory that the space cannot access, or a constant `out`.
  /// \throws ShapeError if sizes or layouts do not fit.
  /// \throws ValueError on a host, naming row and value of an index outside of a vocabulary. On a device indices are
  /// not checked.
  template <ArrayOf<T> In, ArrayOf<T> Out>
  void infer(In const& in, Out&& out) const {
    static_assert(is_reachable<In> && is_reachable<Out>,
                  "trireme: infer of a predictor takes Views in memory of the strategy's execution space");
    std::span<T const> const x = flat_elements(in, "inputs");
    auto const y = flat_elements(out, "outputs");
    static_assert(!std::is_const_v<typename decltype(y)::element_type>,
                  "trireme: infer writes its outputs, and cannot write to a const array");
    std::size_t const rows = x.size() / input_size();
    require_size(x.size(), rows * input_size(), "inputs", input_size());
    if (y.size() != rows * output_size())
      throw ShapeError(formatted("{} outputs were given where the {} rows of the inputs need {}", y.size(), rows,
                                 rows * output_size()));
    if constexpr (is_host_space<Space>)
      data::verify_indices(RowsView(x.data()), rows, input_size(), state_->needed.indices,
                           [](std::size_t row) { return formatted("of row {} of the inputs", row); });
    state_->predict(rows, x.data(), y.data());
  }
  /// Takes other arguments, and does not compile: its error shows those that fit.
  template <class... Given>
    requires(sizeof...(Given) != 2 || !(ArrayOf<Given, T> && ...))
  void infer(Given&&...) const {
    static_assert(sizeof...(Given) == 2 && (ArrayOf<Given, T> && ...),
                  "trireme: infer of a predictor takes two arrays of the model's scalar type, infer(in, out): Views, "
                  "xtensor containers, or contiguous ranges such as std::vector<float>");
  }

 private:
  struct State {
    State(Model const& m, std::span<T const> values, Space const& given)
        : model(m),
          space(given),
          weights(uninitialized_view<Arena<T, Space>>(space, "trireme::predictor_weights", values.size())),
          needed(model.sample_requirements()),
          inference(model, space) {
      copy_view(weights, host_view(values.data(), values.size()));
    }
    void predict(std::size_t rows, T const* x, T* y) const { inference.predict(model, rows, x, y, weights.data()); }

    detail::NeedsKokkos needs_kokkos{"a predictor"};
    Model model;
    Space space;
    Arena<T, Space> weights;
    data::SampleRequirements needed;
    detail::Inference<Model, Space> inference;
  };

  template <class A>
  static constexpr bool reaches() {
    if constexpr (KokkosView<A>)
      return Kokkos::SpaceAccessibility<Space, typename std::remove_cvref_t<A>::memory_space>::accessible;
    else
      return is_host_space<Space>;
  }
  template <class A>
  static constexpr bool is_reachable = reaches<A>();

  static void require_size(std::size_t given, std::size_t needed, char const* what, std::size_t row) {
    if (given != needed)
      throw ShapeError(formatted("{} {} were given, which are no whole rows of {}", given, what, row));
  }

  template <class Samples>
  std::size_t rows_of(Samples const& samples) const {
    auto const& tensor = samples.tensor;
    if (samples.parts.empty() && tensor.extents.size() == 1) {
      std::size_t const rows = tensor.size() / input_size();
      require_size(tensor.size(), rows * input_size(), "inputs", input_size());
      return rows;
    }
    std::size_t const rows = tensor.samples();
    auto const& needed = state_->needed;
    auto const parts = samples.parts.empty() && needed.inputs.empty()
                           ? std::vector<std::vector<std::size_t>>{samples.extents()}
                           : samples.parts;
    data::verify_parts(parts, samples.extents(), needed.inputs, needed.x_extents, "samples", tensor.name());
    return rows;
  }

  auto outputs(std::size_t rows, T const* x) const {
    auto const compute = [&](T* y) {
      detail::with_arrays_in_space(state_->space, x, rows * input_size(), y, rows * output_size(),
                                   [&](T const* in, T* out) { state_->predict(rows, in, out); });
    };
    auto const& description = state_->model.description();
    if constexpr (Model::outputs == 1) {
      auto y = xt::xarray<T>::from_shape(with_rows(rows, description.output));
      compute(y.data());
      return y;
    } else {
      std::vector<T> all(rows * output_size());
      compute(all.data());
      return output_arrays<Model>(description, rows, all.data());
    }
  }

  SharedHandle<State const> state_;
};

}  // namespace trireme
