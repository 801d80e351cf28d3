/// What a model consists of, as a table: for initializing, saving, summing up and cutting into buckets.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "trireme/concepts/layer.hpp"
#include "trireme/initializers/initializer.hpp"
#include "trireme/layers/parameter.hpp"
#include "trireme/layers/regularizer.hpp"
#include "trireme/models/layer_names.hpp"
#include "trireme/tensor/arena.hpp"
#include "trireme/tensor/shape.hpp"

namespace trireme {

/// One parameter tensor and its place in the arena, in elements.
struct ParameterInfo {
  std::string path;  ///< "conv2d_1/kernel"; nested models are further folders
  std::size_t layer = 0;
  Shape shape;
  std::size_t offset = 0;
  std::size_t size = 0;
  Initializer initializer;
  Regularizer regularizer;
};

struct LayerInfo {
  std::string path;        ///< the user's name, or Keras's: "conv2d_1"
  std::string keras_path;  ///< in `.weights.h5`: "layers/conv2d_1", whatever the user's name
  std::string class_name;
  std::vector<std::size_t> output;
  std::size_t parameters = 0;  ///< number of its parameters
};

struct ModelDescription {
  std::vector<std::size_t> input, output;
  std::vector<LayerInfo> layers;
  std::vector<ParameterInfo> parameters;
  std::size_t elements = 0;  ///< of the arena, padding included

  /// Number of parameters, padding not counted.
  std::size_t parameter_count() const {
    std::size_t count = 0;
    for (auto const& parameter : parameters) count += parameter.size;
    return count;
  }
};

namespace detail {

/// A parameter as its layer states it.
struct StatedParameter {
  ParameterShape shape;
  Initializer initializer;
  Regularizer regularizer;
};

/// Adds layers to a description: what does not depend on their types.
class LayerTable {
 public:
  LayerTable(ModelDescription& description, std::size_t scalar_size, std::string path, std::string keras_path)
      : description_(description),
        scalar_size_(scalar_size),
        path_(std::move(path)),
        keras_path_(std::move(keras_path)) {}

  /// The table of a composite that is the next layer of this one.
  LayerTable nested(std::string_view class_name, std::string_view name) {
    Paths const paths = next(class_name, name);
    return {description_, scalar_size_, paths.own + "/", paths.keras + "/"};
  }

  void add(std::string_view class_name, std::string_view name, std::span<std::size_t const> output,
           std::span<StatedParameter const> parameters) {
    Paths paths = next(class_name, name);
    std::size_t count = 0;
    for (StatedParameter const& parameter : parameters) {
      std::size_t const size = parameter.shape.shape.size();
      description_.parameters.push_back({paths.own + "/" + std::string(parameter.shape.name),
                                         description_.layers.size(), parameter.shape.shape, description_.elements, size,
                                         parameter.initializer, parameter.regularizer});
      description_.elements += aligned_bytes(size * scalar_size_) / scalar_size_;
      count += size;
    }
    description_.layers.push_back(
        {std::move(paths.own), std::move(paths.keras), std::string(class_name), {output.begin(), output.end()}, count});
  }

 private:
  struct Paths {
    std::string own, keras;
  };
  Paths next(std::string_view class_name, std::string_view name) {
    std::string const keras_name = names_.next(class_name);
    return {path_ + (name.empty() ? keras_name : std::string(name)), keras_path_ + "layers/" + keras_name};
  }

  ModelDescription& description_;
  std::size_t scalar_size_;
  std::string path_, keras_path_;
  LayerNames names_;
};

template <class L, class In>
auto stated_parameters(L const& layer, In const& in) {
  auto const shapes = parameters_of(layer, in);
  std::array<StatedParameter, std::tuple_size_v<decltype(shapes)>> parameters;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    parameters[i] = {shapes[i], initializer_of(layer, i), regularizer_of(layer, i)};
  return parameters;
}

/// A composite whose layers are named as if they stood beside it.
template <class L>
inline constexpr bool is_transparent = requires {
  requires L::transparent;
};

/// Adds the layers of a composite at `in`.
template <class Composite, class In>
void describe(Composite const& composite, In const& in, LayerTable& table) {
  composite.for_each_layer(in, [&]<class L>(L const& layer, auto const& extents) {
    if constexpr (is_transparent<L>) {
      describe(layer, extents, table);
    } else if constexpr (is_composite<L>) {
      LayerTable nested = table.nested(class_name_of<L>(), name_of(layer));
      describe(layer, extents, nested);
    } else {
      table.add(class_name_of<L>(), name_of(layer), layer.output(extents).values, stated_parameters(layer, extents));
    }
  });
}

}  // namespace detail

/// The table of a model that begins with an Input.
template <class T, class Architecture>
ModelDescription describe(Architecture const& architecture) {
  auto const in = architecture.input();
  ModelDescription description;
  description.input = in.to_vector();
  description.output = architecture.output(in).to_vector();
  detail::LayerTable table(description, sizeof(T), "", "");
  detail::describe(architecture, in, table);
  return description;
}

}  // namespace trireme
