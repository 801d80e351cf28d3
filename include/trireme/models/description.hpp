/// What a model consists of, as a table: for initializing, saving, summing up and cutting into buckets.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/concepts/layer.hpp"
#include "trireme/initializers/initializer.hpp"
#include "trireme/layers/regularizer.hpp"
#include "trireme/models/layer_names.hpp"
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

template <class L>
inline constexpr bool is_transparent = requires {
  requires L::transparent;
};

template <class T, class Composite, class In>
void describe(Composite const& composite, In const& in, std::string const& path, std::string const& keras_path,
              ModelDescription& description);

/// Adds one layer after the other; those of a transparent composite as if they stood beside it.
template <class T>
struct LayerListing {
  std::string const& path;
  std::string const& keras_path;
  ModelDescription& description;
  LayerNames names{}, keras_names{};

  template <class L, class In>
  void operator()(L const& layer, In const& extents) {
    std::string const keras_name = keras_names.next(class_name_of<L>());
    std::string const name = path + (name_of(layer).empty() ? keras_name : std::string(name_of(layer)));
    std::string const keras = keras_path + "layers/" + keras_name;
    if constexpr (is_transparent<L>)
      layer.for_each_layer(extents, *this);
    else if constexpr (is_composite<L>)
      describe<T>(layer, extents, name + "/", keras + "/", description);
    else
      add(layer, extents, name, keras);
  }

 private:
  template <class L, class In>
  void add(L const& layer, In const& extents, std::string const& name, std::string const& keras) {
    LayerInfo info{name, keras, std::string(class_name_of<L>()), layer.output(extents).to_vector(), 0};
    std::size_t index = 0;
    for (ParameterShape const& parameter : parameters_of(layer, extents)) {
      std::size_t const size = parameter.shape.size();
      description.parameters.push_back({name + "/" + std::string(parameter.name), description.layers.size(),
                                        parameter.shape, description.elements, size, initializer_of(layer, index),
                                        regularizer_of(layer, index)});
      description.elements += aligned_count<T>(size);
      info.parameters += size;
      ++index;
    }
    description.layers.push_back(std::move(info));
  }
};

/// Adds the layers of a composite at `in`, whose parameters start at description.elements.
template <class T, class Composite, class In>
void describe(Composite const& composite, In const& in, std::string const& path, std::string const& keras_path,
              ModelDescription& description) {
  LayerListing<T> listing{path, keras_path, description};
  composite.for_each_layer(in, listing);
}

}  // namespace detail

/// The table of a model that begins with an Input.
template <class T, class Architecture>
ModelDescription describe(Architecture const& architecture) {
  auto const in = architecture.input();
  ModelDescription description;
  description.input = in.to_vector();
  description.output = architecture.output(in).to_vector();
  detail::describe<T>(architecture, in, "", "", description);
  return description;
}

}  // namespace trireme
