/// plot_model: a picture of a model's layers and of the ways of values between them, as SVG.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/atomic_file.hpp"
#include "trireme/io/file_format.hpp"
#include "trireme/models/layer_placement.hpp"
#include "trireme/models/layered_layout.hpp"
#include "trireme/models/summary.hpp"
#include "trireme/models/weight_table.hpp"

namespace trireme {

/// Ending of the files that plot_model writes: .svg.
inline constexpr FileFormat plot_file_format{"a picture", {".svg"}};

namespace detail {

std::string xml_text(std::string_view text);

/// Drawing of a model as boxes and arrows. Boxes bring their own background, and arrows are grey, so that a light page
/// and a dark one will do.
class ModelDrawing {
 public:
  ModelDrawing(ModelDescription const& model, LayerPlacement const& places);

  std::string svg() const;

 private:
  static constexpr std::size_t lines = 5;  ///< name, class, extents, parameters and notes, placement
  /// In pixels. Monospaced characters are 0.6 times as wide as high, or a little more.
  static constexpr double character_width = 7.5, line_height = 16, padding = 10, margin = 12, band = 6;
  /// Of bands: colour-blind readers can tell them apart. Source: Okabe and Ito, Color Universal Design, 2008.
  static constexpr std::array colors{"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00"};

  std::array<std::string, lines> text_of(NodeInfo const& node) const;
  /// The placement of a layer; empty if the strategy places all alike, and for inputs and joins.
  std::string place_of(NodeInfo const& node) const;
  /// "stage 1 (rank 1)"
  std::string place_line(std::string const& place) const;

  std::string box(NodeInfo const& node, LayeredLayout::Box const& box,
                  std::array<std::string, lines> const& text) const;

  /// Straight where it passes a rank, and a curve between ranks.
  static std::string arrow(std::vector<LayoutPoint> const& way);

  ModelDescription const& model_;
  LayerPlacement const& places_;
  std::vector<std::string> notes_;
  std::vector<std::string> bands_;  ///< placements that differ, in the order of the layers
};

}  // namespace detail

/// Picture of a model as SVG text: a box for each input, each layer (path, class, output extents, parameters, and
/// whether it is frozen or shared with other models) and each join of branches, and an arrow for each value that one
/// takes from another. The same text for the same model on every machine. `describe<float>(Sequential{…})` gives the
/// description of a model that is not compiled. Not collective.
///
/// \param places  the stage or ranks of each layer: a line of text in its box, and a band at the left in a colour for
/// each that differs; empty: neither.
inline std::string model_svg(ModelDescription const& model, LayerPlacement const& places = {}) {
  return detail::ModelDrawing(model, places).svg();
}

/// Writes `model_svg` of a compiled model to a file, whose name ends in .svg: `plot_model(model, "model.svg")`, with
/// stages or ranks of layers where the strategy does not place all alike. The chief writes; collective. Source: Keras
/// `plot_model`.
/// \throws FileError on all processes if the name ends otherwise, or the file cannot be written.
template <class Model>
void plot_model(Model const& model, std::string const& path) {
  std::string const fault = output_name_fault(path, plot_file_format);
  if (!fault.empty()) raise_uniform(FileError(path, fault));
  model.engine().on_chief(
      [](auto const&, std::string const& file, std::string const& svg) { write_atomically(file, svg); }, path,
      model_svg(model.description(), detail::layer_placement_of(model.engine())));
}

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/models/plot_model.ipp"
#endif
