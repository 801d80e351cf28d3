// The contract of SampleReader, over every source and every sequence of two transformations: what a pass gives depends
// on its number alone, whatever was read before, ahead, or by another reader.
#define BOOST_TEST_MODULE readers
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trireme/data/from_generator.hpp"
#include "trireme/data/from_local_slices.hpp"
#include "trireme/data/from_tensor_slices.hpp"
#include "unit/data/collect.hpp"

using namespace trireme;
using namespace trireme::test;

namespace {

using Data = data::Dataset<float, std::int32_t>;
using Reader = data::SampleReader<float, std::int32_t>;

constexpr int samples = 11;

/// Sample i of a pass, which may change with the pass.
struct Counting {
  int next = 0;
  std::uint64_t pass = 0;
  bool operator()(std::span<float> x, std::span<std::int32_t> y) {
    if (next >= samples) return false;
    x[0] = static_cast<float>(next) + 0.25f * static_cast<float>(pass % 3);
    y[0] = next++;
    return true;
  }
};
struct Seekable : Counting {
  void seek(std::size_t position) { next = static_cast<int>(std::min<std::size_t>(position, samples)); }
};

struct Named {
  std::string name;
  std::function<Data(Data const&)> of;
};

std::vector<std::pair<std::string, Data>> sources() {
  std::vector<float> x;
  std::vector<std::int32_t> y;
  std::vector<double> weight;
  for (int i = 0; i < samples; ++i) {
    x.push_back(1.5f * static_cast<float>(i));
    y.push_back(i);
    weight.push_back(0.5 + i);
  }
  data::LocalSizes const local{{samples, 0, 4}, 0};
  return {
      {"tensors", data::from_tensor_slices(std::vector(x), std::vector(y))},
      {"weighted tensors", data::from_tensor_slices(std::vector(x), std::vector(y), std::vector(weight))},
      {"local slices", data::from_local_slices(local, std::vector(x), std::vector(y))},
      {"generator", data::from_generator({}, {}, [] { return Counting{}; })},
      {"generator of passes", data::from_generator({}, {}, [](std::uint64_t pass) { return Counting{0, pass}; })},
      {"generator that seeks", data::from_generator({}, {}, [](std::uint64_t pass) { return Seekable{{0, pass}}; })}};
}

std::vector<Named> transformations() {
  return {{"", [](Data const& d) { return d; }},
          {".map",
           [](Data const& d) {
             return d.map({}, [](std::span<float const> in, std::span<float> out) { out[0] = in[0] + 100; });
           }},
          {".map of both",
           [](Data const& d) {
             return d.map({}, {},
                          [](std::span<float const> x, std::span<std::int32_t const> y, std::span<float> new_x,
                             std::span<std::int32_t> new_y) {
                            new_x[0] = -x[0];
                            new_y[0] = y[0] + 1;
                          });
           }},
          {".shuffle(3)", [](Data const& d) { return d.shuffle(3, 5); }},
          {".shuffle(100)", [](Data const& d) { return d.shuffle(100, 6); }},
          {".take(7)", [](Data const& d) { return d.take(7); }},
          {".skip(2)", [](Data const& d) { return d.skip(2); }},
          {".repeat(2)", [](Data const& d) { return d.repeat(2); }},
          {".repeat().take(23)", [](Data const& d) { return d.repeat().take(23); }},
          {".cache", [](Data const& d) { return d.cache(); }}};
}

/// Every chain is made anew: a cache remembers which pass was read first.
template <class F>
void for_each_chain(F const& f) {
  for (std::size_t source = 0; source < sources().size(); ++source)
    for (Named const& first : transformations())
      for (Named const& second : transformations()) {
        auto const make = [&] { return second.of(first.of(sources()[source].second)); };
        BOOST_TEST_CONTEXT(sources()[source].first << first.name << second.name) f(make);
      }
}

using Given = std::optional<Row>;

Given row_at(Data const& data, Reader& reader, std::size_t position) {
  auto const sample = reader.at(position);
  if (!sample) return std::nullopt;
  std::size_t const nx = data.source()->x_size(), ny = data.source()->y_size();
  return Row{{sample->x, sample->x + nx}, {sample->y, sample->y + ny}, sample->weight ? *sample->weight : 1.0};
}

/// The first `count` samples of the pass that was started, at most.
std::vector<Row> rows(Data const& data, Reader& reader, std::size_t count = 1000) {
  std::vector<Row> result;
  for (std::size_t position = 0; position < count; ++position) {
    auto const row = row_at(data, reader, position);
    if (!row) break;
    result.push_back(*row);
  }
  return result;
}

std::vector<Row> pass_of(Data const& data, std::uint64_t pass) {
  auto const reader = data.source()->reader();
  reader->start(pass);
  return rows(data, *reader);
}

std::vector<Piece> from(std::vector<Piece> const& all, std::size_t first) {
  return {all.begin() + static_cast<std::ptrdiff_t>(std::min(first, all.size())), all.end()};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_pass_is_that_of_a_fresh_reader_however_much_was_read_before_it) {
  for_each_chain([](auto const& make) {
    Data const data = make();
    std::vector<std::vector<Row>> passes;
    for (std::uint64_t pass = 0; pass < 3; ++pass) passes.push_back(pass_of(data, pass));
    BOOST_TEST(!passes[0].empty());
    if (auto const size = data.source()->size()) BOOST_TEST(*size == passes[0].size());
    auto const reader = data.source()->reader();
    for (std::size_t const read : {0u, 1u, 3u, 6u, 1000u})
      for (std::uint64_t const next : {0u, 2u, 1u}) {
        reader->start(1);
        rows(data, *reader, read);
        reader->start(next);
        BOOST_TEST((rows(data, *reader) == passes[next]), "after " << read << " samples, pass " << next);
      }
  });
}

BOOST_AUTO_TEST_CASE(a_position_can_be_read_twice_and_some_can_be_left_out) {
  for_each_chain([](auto const& make) {
    Data const data = make();
    auto const expected = pass_of(data, 1);
    auto const reader = data.source()->reader();
    reader->start(1);
    for (std::size_t position = 0; position < expected.size(); position += 1 + position % 3) {
      auto const once = row_at(data, *reader, position), twice = row_at(data, *reader, position);
      BOOST_TEST((once == Given(expected[position])));
      BOOST_TEST((twice == once), "position " << position);
    }
    for (std::size_t const past : {expected.size(), expected.size(), expected.size() + 5})
      BOOST_TEST(!reader->at(past).has_value());
  });
}

BOOST_AUTO_TEST_CASE(blocks_and_rows_that_stay_are_what_single_positions_give) {
  for_each_chain([](auto const& make) {
    Data const data = make();
    auto const expected = pass_of(data, 1);
    std::size_t const nx = data.source()->x_size();
    auto const reader = data.source()->reader();
    reader->start(1);
    for (std::size_t position = 0; position + 3 <= expected.size(); ++position) {
      if (auto const block = reader->run(position, 3))
        for (std::size_t i = 0; i < 3; ++i) BOOST_TEST(block->x[i * nx] == expected[position + i].x[0]);
      std::vector<std::size_t> positions{position, position + 2};
      std::vector<data::Sample<float, std::int32_t>> found(2);
      if (reader->find(positions, found.data()))
        for (std::size_t i = 0; i < 2; ++i) BOOST_TEST(found[i].x[0] == expected[position + 2 * i].x[0]);
    }
    BOOST_TEST(!reader->run(expected.size(), 1).has_value());
  });
}

BOOST_AUTO_TEST_CASE(readers_of_one_source_do_not_disturb_each_other) {
  for_each_chain([](auto const& make) {
    Data const data = make();
    std::vector<std::vector<Row>> const expected{pass_of(data, 0), pass_of(data, 1)};
    std::vector<std::unique_ptr<Reader>> readers;
    for (std::uint64_t pass = 0; pass < 2; ++pass) {
      readers.push_back(data.source()->reader());
      readers.back()->start(pass);
    }
    for (std::size_t position = 0; position < expected[0].size(); ++position)
      for (std::size_t pass = 0; pass < 2; ++pass)
        BOOST_TEST((row_at(data, *readers[pass], position) == Given(expected[pass][position])));
  });
}

BOOST_AUTO_TEST_CASE(batches_are_the_same_begun_again_resumed_sought_and_gathered_ahead) {
  using Change = std::function<data::BatchedDataset<float, std::int32_t>(data::BatchedDataset<float, std::int32_t>)>;
  std::vector<Change> const changes{[](auto d) { return d; }, [](auto d) { return d.skip(1).take(2).repeat(2); }};
  for_each_chain([&](auto const& make) {
    bool const local = make().description().local.has_value();
    DataShard const share = local ? DataShard{0, 3} : DataShard{1, 2};
    for (Change const& change : changes) {
      auto const data = change(make().batch(GlobalBatch{3}));
      std::vector<std::vector<Piece>> epochs;
      for (std::uint64_t epoch = 0; epoch < 3; ++epoch) epochs.push_back(pieces(data, share, epoch));
      for (std::size_t const ahead : {0u, 2u}) {
        auto stream = data.prefetch(ahead).template stream<float, std::int32_t>(share);
        Batch<float, std::int32_t> batch;
        for (std::uint64_t const epoch : {0u, 0u, 2u, 1u})
          for (std::size_t const drawn : {0u, 1u, 3u}) {
            // At once, as a run begins, and after part of an epoch, as the next one does.
            stream.rewind(epoch, drawn);
            for (std::size_t i = 0; i < drawn; ++i) stream.next(batch);
            stream.rewind(epoch, 1);
            BOOST_TEST((drain<float, std::int32_t>(data, stream) == from(epochs[epoch], 1)),
                       "epoch " << epoch << " after " << drawn << " batches, " << ahead << " ahead");
            stream.seek(drawn);
            BOOST_TEST((drain<float, std::int32_t>(data, stream) == from(epochs[epoch], drawn)), "sought " << drawn);
          }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(two_streams_of_one_dataset_may_run_at_once) {
  for_each_chain([](auto const& make) {
    auto const data = make().batch(GlobalBatch{3});
    DataShard const share{0, make().description().local ? std::size_t{3} : std::size_t{1}};
    std::vector<std::vector<Piece>> const expected{pieces(data, share, 0), pieces(data, share, 1)};
    auto first = data.prefetch(2).template stream<float, std::int32_t>(share, 0);
    auto second = data.prefetch(1).template stream<float, std::int32_t>(share, 1);
    BOOST_TEST((drain<float, std::int32_t>(data, second) == expected[1]));
    BOOST_TEST((drain<float, std::int32_t>(data, first) == expected[0]));
  });
}
