/// Definitions of trireme/models/plot_model.hpp.
#pragma once

#include "trireme/models/plot_model.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/atomic_file.hpp"
#include "trireme/io/file_format.hpp"
#include "trireme/models/layer_placement.hpp"
#include "trireme/models/layered_layout.hpp"
#include "trireme/models/summary.hpp"
#include "trireme/models/weight_table.hpp"

namespace trireme::detail {

TRIREME_INLINE std::string xml_text(std::string_view text) {
  std::string result;
  for (char const c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

TRIREME_INLINE ModelDrawing::ModelDrawing(ModelDescription const& model, LayerPlacement const& places)
    : model_(model), places_(places), notes_(layer_notes(model)) {
  for (std::string const& place : places.layers)
    if (!place.empty() && std::ranges::find(bands_, place) == bands_.end()) bands_.push_back(place);
}

TRIREME_INLINE std::string ModelDrawing::svg() const {
  std::vector<std::array<std::string, lines>> texts;
  std::vector<LayeredLayout::Box> boxes;
  std::vector<LayeredLayout::Edge> edges;
  for (std::size_t i = 0; i < model_.nodes.size(); ++i) {
    NodeInfo const& node = model_.nodes[i];
    texts.push_back(text_of(node));
    std::size_t longest = 0, used = 0;
    for (std::string& line : texts.back()) {
      line = printable(line, line.size());  // XML has no control characters
      longest = std::max(longest, line.size());
      used += line.empty() ? 0 : 1;
    }
    boxes.push_back({std::ceil(static_cast<double>(longest) * character_width / 2) * 2 + 2 * padding,
                     static_cast<double>(used) * line_height + padding});
    for (std::size_t const from : node.from) edges.push_back({from, i});
  }
  LayeredLayout const layout(std::move(boxes), std::move(edges));

  double const width = layout.width() + 2 * margin, height = layout.height() + 2 * margin;
  std::string svg = formatted(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" viewBox=\"0 0 {:.0f} {:.0f}\" "
      "role=\"img\">\n"
      "<title>A model of {} layers and {} parameters</title>\n"
      "<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" "
      "orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#808894\"/></marker></defs>\n"
      "<g transform=\"translate({:.0f} {:.0f})\">\n"
      "<g fill=\"none\" stroke=\"#808894\" stroke-width=\"1.5\" marker-end=\"url(#arrow)\">\n",
      width, height, width, height, model_.layers.size(), grouped(model_.parameter_count()), margin, margin);
  for (LayeredLayout::Edge const& edge : layout.edges()) svg += arrow(edge.way);
  svg +=
      "</g>\n<g font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" font-size=\"12\" text-anchor=\"middle\" "
      "fill=\"#1d2733\" stroke-width=\"1.2\">\n";
  for (std::size_t i = 0; i < texts.size(); ++i) svg += box(model_.nodes[i], layout.boxes()[i], texts[i]);
  return svg + "</g>\n</g>\n</svg>\n";
}

TRIREME_INLINE std::array<std::string, ModelDrawing::lines> ModelDrawing::text_of(NodeInfo const& node) const {
  std::string const output = batch_extents(node.output);
  if (node.kind == NodeInfo::Kind::input)
    return {model_.inputs.size() > 1 ? formatted("Input {}", node.index) : "Input", "", output, "", ""};
  if (node.kind == NodeInfo::Kind::join) return {node.class_name, "", output, "", ""};
  LayerInfo const& layer = model_.layers[node.index];
  std::vector<std::string> last;
  if (layer.parameters > 0) last.push_back(formatted("{} parameters", grouped(layer.parameters)));
  if (!notes_[node.index].empty()) last.push_back(notes_[node.index]);
  return {shortened(layer.path), layer.class_name, output, joined(last, ", "), place_line(place_of(node))};
}

TRIREME_INLINE std::string ModelDrawing::place_of(NodeInfo const& node) const {
  return places_.empty() || node.kind != NodeInfo::Kind::layer ? std::string() : places_.layers[node.index];
}

TRIREME_INLINE std::string ModelDrawing::place_line(std::string const& place) const {
  if (place.empty()) return {};
  std::string line = places_.header + ' ' + place;
  line[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(line[0])));
  return line;
}

TRIREME_INLINE std::string ModelDrawing::box(NodeInfo const& node, LayeredLayout::Box const& box,
                                             std::array<std::string, lines> const& text) const {
  bool const is_layer = node.kind == NodeInfo::Kind::layer;
  bool const is_frozen = is_layer && notes_[node.index].starts_with("frozen");
  std::string svg = formatted(
      "<g><rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\" rx=\"{}\" fill=\"{}\" "
      "stroke=\"#5b7fa8\"{}/>\n",
      box.corner.x, box.corner.y, box.width, box.height, is_layer ? 4 : 14,
      is_frozen  ? "#dfe3e8"
      : is_layer ? "#e8f0fa"
                 : "#faf3e2",
      is_frozen ? " stroke-dasharray=\"4 3\"" : "");
  if (std::string const place = place_of(node); !place.empty()) {
    auto const index = static_cast<std::size_t>(std::ranges::find(bands_, place) - bands_.begin());
    svg += formatted("<path fill=\"{}\" d=\"M{:.0f} {:.0f}h-2a4 4 0 0 0 -4 4v{:.0f}a4 4 0 0 0 4 4h2z\"/>\n",
                     colors[index % colors.size()], box.corner.x + band, box.corner.y, box.height - 8);
  }
  double y = box.corner.y + line_height - 1;
  for (std::size_t i = 0; i < lines; ++i) {
    if (text[i].empty()) continue;
    svg += formatted("<text x=\"{:.0f}\" y=\"{:.0f}\"{}>{}</text>\n", box.corner.x + box.width / 2, y,
                     i == 0 ? " font-weight=\"bold\"" : "", xml_text(text[i]));
    y += line_height;
  }
  return svg + "</g>\n";
}

TRIREME_INLINE std::string ModelDrawing::arrow(std::vector<LayoutPoint> const& way) {
  std::string path = formatted("M{:.0f} {:.0f}", way[0].x, way[0].y);
  for (std::size_t i = 1; i < way.size(); ++i) {
    auto const& [x, y] = way[i];
    if (i % 2 == 1) {
      if (y != way[i - 1].y) path += formatted("L{:.0f} {:.0f}", x, y);
    } else {
      double const middle = (way[i - 1].y + y) / 2;
      path += formatted("C{:.0f} {:.0f} {:.0f} {:.0f} {:.0f} {:.0f}", way[i - 1].x, middle, x, middle, x, y);
    }
  }
  return "<path d=\"" + path + "\"/>\n";
}

}  // namespace trireme::detail
