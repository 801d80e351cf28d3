/// What a process is handed over an epoch, as values that tests can compare.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "support/message_of.hpp"

#include "trireme/data/batch.hpp"

namespace trireme::test {

struct Row {
  std::vector<double> x;
  std::vector<double> y;
  double weight = 1;
  bool operator==(Row const&) const = default;
};

struct Piece {
  std::vector<Row> rows;
  std::size_t first_row = 0;
  std::size_t global_rows = 0;
  bool operator==(Piece const&) const = default;
};

template <class T, class L, class Data, class Stream>
std::vector<Piece> drain(Data const& data, Stream& stream) {
  std::size_t nx = 1, ny = 1;
  for (std::size_t extent : data.x_extents()) nx *= extent;
  for (std::size_t extent : data.y_extents()) ny *= extent;
  std::vector<Piece> pieces;
  Batch<T, L> batch;
  while (stream.next(batch)) {
    Piece piece{{}, batch.first_row, batch.global_rows};
    for (std::size_t i = 0; i < batch.rows; ++i)
      piece.rows.push_back({{batch.x.row(i, nx), batch.x.row(i, nx) + nx},
                            {batch.y + i * ny, batch.y + (i + 1) * ny},
                            batch.weight ? batch.weight[i] : 1.0});
    pieces.push_back(piece);
  }
  return pieces;
}

/// The batches of one process in one epoch.
template <class T = float, class L = std::int32_t, class Data>
std::vector<Piece> pieces(Data const& data, DataShard share = {}, std::uint64_t epoch = 0,
                          std::size_t first_batch = 0) {
  auto stream = data.template stream<T, L>(share, epoch, first_batch);
  return drain<T, L>(data, stream);
}

/// The global batches, put together from the pieces of `ranks` processes in their order.
template <class T = float, class L = std::int32_t, class Data>
std::vector<std::vector<Row>> batches(Data const& data, std::size_t ranks = 1, std::uint64_t epoch = 0) {
  std::vector<std::vector<Row>> result;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    auto const mine = pieces<T, L>(data, {rank, ranks}, epoch);
    if (rank == 0) result.resize(mine.size());
    if (mine.size() != result.size()) return {};
    for (std::size_t k = 0; k < mine.size(); ++k) {
      if (mine[k].first_row != result[k].size()) return {};
      result[k].insert(result[k].end(), mine[k].rows.begin(), mine[k].rows.end());
      if (rank + 1 == ranks && mine[k].global_rows != result[k].size()) return {};
    }
  }
  return result;
}

/// The first target of every sample, in the order of the epoch.
template <class T = float, class L = std::int32_t, class Data>
std::vector<int> labels(Data const& data, std::size_t ranks = 1, std::uint64_t epoch = 0) {
  std::vector<int> result;
  for (auto const& batch : batches<T, L>(data, ranks, epoch))
    for (Row const& row : batch) result.push_back(static_cast<int>(row.y.at(0)));
  return result;
}

inline std::vector<int> counted(int from, int to) {
  std::vector<int> result(static_cast<std::size_t>(to - from));
  std::iota(result.begin(), result.end(), from);
  return result;
}

/// n samples (2.5 * i, -i) with the labels i.
struct Samples {
  std::vector<float> x;
  std::vector<std::int32_t> y;
  explicit Samples(std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      x.push_back(2.5f * static_cast<float>(i));
      x.push_back(-static_cast<float>(i));
      y.push_back(static_cast<std::int32_t>(i));
    }
  }
};

}  // namespace trireme::test
