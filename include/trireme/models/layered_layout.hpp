/// Layered layout of a graph (Sugiyama): each box above those that it leads to, with few crossings and short edges.
#pragma once

#include <cstddef>
#include <vector>

namespace trireme::detail {

struct LayoutPoint {
  double x = 0, y = 0;
};

/// Places of boxes and ways of edges; the same on every machine where widths are whole numbers.
///
/// Boxes stand in ranks, from the top to the bottom. An edge that passes ranks by has a place in each, as wide as a
/// line, so that it crosses no box. Sources: Sugiyama, Tagawa and Toda (1981) for ranks and their order by mean places
/// of neighbours; Barlow et al., Statistical Inference under Order Restrictions (1972), for places in a given order.
class LayeredLayout {
 public:
  struct Box {
    double width, height;
    LayoutPoint corner{};  ///< out: its upper left one
  };
  /// `way`: out, pairs of points between which it goes straight down; between pairs it may swing to the side.
  struct Edge {
    std::size_t from, to;
    std::vector<LayoutPoint> way{};
  };

  /// \param edges  of an acyclic graph of the boxes
  LayeredLayout(std::vector<Box> boxes, std::vector<Edge> edges);

  std::vector<Box> const& boxes() const { return boxes_; }
  std::vector<Edge> const& edges() const { return edges_; }
  double width() const { return width_; }
  double height() const { return height_; }

 private:
  static constexpr double gap = 24, rank_gap = 40, line_width = 10;
  static constexpr std::size_t sweeps = 24, placing_sweeps = 200;

  /// A box, or the place where an edge passes a rank.
  struct Item {
    std::size_t rank = 0;
    double width = line_width, x = 0;
    bool is_bend = true;
    std::vector<std::size_t> above{}, below{};
  };

  /// The longest way from a box without edges to it; such boxes stand right above those that they lead to.
  void assign_ranks();

  void add_bends();

  /// Mean of values of an item's neighbours on one side, or its own where it has none.
  static double mean(std::vector<std::size_t> const& neighbours, std::vector<double> const& values, double own);

  /// Of the orders that sweeps come to, the one with fewest crossings.
  void order_ranks();

  std::size_t crossings(std::vector<double> const& place) const;

  /// Importance of an edge between neighbouring ranks being straight.
  double straightness(std::size_t above, std::size_t below) const;

  /// Sweeps that move each item towards its neighbours above, then below, and at last towards both.
  void place_in_ranks();

  /// Moves the items of a rank to the places nearest to the means of their neighbours, in the sum of squares, at which
  /// they keep their order and distance: isotonic regression by pooling neighbours that violate it. Places are
  /// multiples of 1/8, so that no machine rounds otherwise than another.
  void settle(std::vector<std::size_t> const& rank, bool above, bool below);

  void write_places();

  std::vector<Box> boxes_;
  std::vector<Edge> edges_;
  std::vector<Item> items_;  ///< the boxes, then the bends
  std::vector<std::vector<std::size_t>> ranks_, stations_;
  double width_ = 0, height_ = 0;
};

}  // namespace trireme::detail

#ifndef TRIREME_COMPILED
#include "trireme/models/layered_layout.ipp"
#endif
