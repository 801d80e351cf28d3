/// Definitions of trireme/models/layered_layout.hpp.
#pragma once

#include "trireme/models/layered_layout.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "trireme/core/linkage.hpp"

namespace trireme::detail {

TRIREME_INLINE LayeredLayout::LayeredLayout(std::vector<Box> boxes, std::vector<Edge> edges)
    : boxes_(std::move(boxes)), edges_(std::move(edges)) {
  assign_ranks();
  add_bends();
  order_ranks();
  place_in_ranks();
  write_places();
}

TRIREME_INLINE void LayeredLayout::assign_ranks() {
  items_.resize(boxes_.size());
  std::vector<bool> is_source(boxes_.size(), true);
  for (bool changes = true; changes;) {
    changes = false;
    for (Edge const& edge : edges_)
      if (items_[edge.to].rank <= items_[edge.from].rank) {
        items_[edge.to].rank = items_[edge.from].rank + 1;
        changes = true;
      }
  }
  for (Edge const& edge : edges_) is_source[edge.to] = false;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    items_[i].width = boxes_[i].width;
    items_[i].is_bend = false;
    std::size_t nearest = 0;
    for (Edge const& edge : edges_)
      if (is_source[i] && edge.from == i && (nearest == 0 || items_[edge.to].rank < nearest))
        nearest = items_[edge.to].rank;
    if (nearest > 0) items_[i].rank = nearest - 1;
  }
}

TRIREME_INLINE void LayeredLayout::add_bends() {
  for (Edge const& edge : edges_) {
    std::vector<std::size_t> stations{edge.from};
    for (std::size_t rank = items_[edge.from].rank + 1; rank < items_[edge.to].rank; ++rank) {
      stations.push_back(items_.size());
      items_.push_back({.rank = rank});
    }
    stations.push_back(edge.to);
    for (std::size_t i = 0; i + 1 < stations.size(); ++i) {
      items_[stations[i]].below.push_back(stations[i + 1]);
      items_[stations[i + 1]].above.push_back(stations[i]);
    }
    stations_.push_back(std::move(stations));
  }
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (ranks_.size() <= items_[i].rank) ranks_.resize(items_[i].rank + 1);
    ranks_[items_[i].rank].push_back(i);
  }
}

TRIREME_INLINE double LayeredLayout::mean(std::vector<std::size_t> const& neighbours, std::vector<double> const& values,
                                          double own) {
  if (neighbours.empty()) return own;
  double sum = 0;
  for (std::size_t const i : neighbours) sum += values[i];
  return sum / static_cast<double>(neighbours.size());
}

TRIREME_INLINE void LayeredLayout::order_ranks() {
  std::vector<double> place(items_.size());
  auto const number = [&](std::vector<std::size_t> const& rank) {
    for (std::size_t i = 0; i < rank.size(); ++i) place[rank[i]] = static_cast<double>(i);
  };
  for (auto const& rank : ranks_) number(rank);
  auto best = ranks_;
  std::size_t fewest = crossings(place);
  for (std::size_t sweep = 0; sweep < sweeps && fewest > 0; ++sweep) {
    bool const down = sweep % 2 == 0;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      auto& rank = ranks_[down ? r : ranks_.size() - 1 - r];
      std::vector<double> key = place;
      for (std::size_t const i : rank) key[i] = mean(down ? items_[i].above : items_[i].below, place, place[i]);
      // Insertion keeps the order of equal keys, and ranks are short.
      for (std::size_t last = 1; last < rank.size(); ++last)
        for (std::size_t i = last; i > 0 && key[rank[i - 1]] > key[rank[i]]; --i) std::swap(rank[i - 1], rank[i]);
      number(rank);
    }
    if (std::size_t const now = crossings(place); now < fewest) {
      fewest = now;
      best = ranks_;
    }
  }
  ranks_ = std::move(best);
}

TRIREME_INLINE std::size_t LayeredLayout::crossings(std::vector<double> const& place) const {
  std::size_t count = 0;
  for (auto const& rank : ranks_)
    for (std::size_t const a : rank)
      for (std::size_t const b : rank)
        if (place[a] < place[b])
          for (std::size_t const below_a : items_[a].below)
            for (std::size_t const below_b : items_[b].below) count += place[below_a] > place[below_b] ? 1 : 0;
  return count;
}

TRIREME_INLINE double LayeredLayout::straightness(std::size_t above, std::size_t below) const {
  if (items_[above].is_bend && items_[below].is_bend) return 8;
  return items_[above].below.size() == 1 && items_[below].above.size() == 1 ? 4 : 1;
}

TRIREME_INLINE void LayeredLayout::place_in_ranks() {
  for (auto const& rank : ranks_) settle(rank, false, false);
  for (std::size_t sweep = 0; sweep < placing_sweeps; ++sweep) {
    bool const down = sweep % 2 == 0, both = 2 * sweep >= placing_sweeps;
    for (std::size_t r = 0; r < ranks_.size(); ++r)
      settle(ranks_[down ? r : ranks_.size() - 1 - r], both || down, both || !down);
  }
}

TRIREME_INLINE void LayeredLayout::settle(std::vector<std::size_t> const& rank, bool above, bool below) {
  struct Pool {
    double sum, weight;
    std::size_t size;
  };
  std::vector<Pool> pools;
  std::vector<double> offset(rank.size(), 0);
  for (std::size_t k = 0; k < rank.size(); ++k) {
    Item const& item = items_[rank[k]];
    if (k > 0) offset[k] = offset[k - 1] + (items_[rank[k - 1]].width + item.width) / 2 + gap;
    Pool own{0, 0, 1};
    auto const add = [&](std::size_t neighbour, double weight) {
      own.sum += weight * (items_[neighbour].x - offset[k]);
      own.weight += weight;
    };
    if (above)
      for (std::size_t const i : item.above) add(i, straightness(i, rank[k]));
    if (below)
      for (std::size_t const i : item.below) add(i, straightness(rank[k], i));
    if (own.weight == 0) add(rank[k], 1);
    pools.push_back(own);
    while (pools.size() > 1) {
      Pool const last = pools.back();
      Pool& before = pools[pools.size() - 2];
      if (before.sum / before.weight <= last.sum / last.weight) break;
      before = {before.sum + last.sum, before.weight + last.weight, before.size + last.size};
      pools.pop_back();
    }
  }
  std::size_t k = 0;
  for (Pool const& pool : pools)
    for (std::size_t i = 0; i < pool.size; ++i, ++k)
      items_[rank[k]].x = std::round(pool.sum / pool.weight * 8) / 8 + offset[k];
}

TRIREME_INLINE void LayeredLayout::write_places() {
  double left = 0, right = 0;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    left = i == 0 ? items_[i].x - items_[i].width / 2 : std::min(left, items_[i].x - items_[i].width / 2);
    right = i == 0 ? items_[i].x + items_[i].width / 2 : std::max(right, items_[i].x + items_[i].width / 2);
  }
  for (Item& item : items_) item.x = std::round(item.x - left);
  width_ = std::ceil(right - left) + 1;
  std::vector<double> top(ranks_.size()), bottom(ranks_.size());
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    double tallest = 0;
    for (std::size_t const i : ranks_[r])
      if (!items_[i].is_bend) tallest = std::max(tallest, boxes_[i].height);
    top[r] = r == 0 ? 0 : bottom[r - 1] + rank_gap;
    height_ = bottom[r] = top[r] + tallest;
  }
  for (std::size_t i = 0; i < boxes_.size(); ++i)
    boxes_[i].corner = {items_[i].x - std::floor(boxes_[i].width / 2),
                        std::round((top[items_[i].rank] + bottom[items_[i].rank] - boxes_[i].height) / 2)};
  for (std::size_t e = 0; e < edges_.size(); ++e) {
    Edge& edge = edges_[e];
    for (std::size_t const i : stations_[e]) {
      std::size_t const r = items_[i].rank;
      double const end_of_box = boxes_[edge.from].corner.y + boxes_[edge.from].height;
      edge.way.push_back({items_[i].x, i == edge.from ? end_of_box : top[r]});
      edge.way.push_back({items_[i].x, i == edge.to ? boxes_[edge.to].corner.y : bottom[r]});
    }
  }
}

}  // namespace trireme::detail
