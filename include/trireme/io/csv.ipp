/// Definitions of trireme/io/csv.hpp.
#pragma once

#include "trireme/io/csv.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/byte_source.hpp"
#include "trireme/tensor/host_tensor.hpp"

namespace trireme::io::detail {

TRIREME_INLINE std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

TRIREME_INLINE std::optional<std::string_view> LineReader::next() {
  std::size_t searched = 0;
  ++number_;
  while (true) {
    std::string_view const rest(buffer_.data() + begin_, end_ - begin_);
    std::size_t const size = rest.find('\n', searched);
    if (size != std::string_view::npos) {
      begin_ += size + 1;
      return rest.substr(0, size);
    }
    searched = rest.size();
    if (searched > longest)
      source_->fail(formatted("line {}: has more than {} bytes, which no row of a table has", number_, longest));
    if (!refill()) {
      begin_ = end_;
      return rest.empty() ? std::nullopt : std::optional(std::string_view(buffer_.data() + end_ - searched, searched));
    }
  }
}

TRIREME_INLINE bool LineReader::refill() {
  buffer_.erase(0, begin_);
  end_ -= begin_;
  begin_ = 0;
  buffer_.resize(std::max<std::size_t>(2 * end_, std::size_t{1} << 16));
  std::size_t const read = source_->read(buffer_.data() + end_, buffer_.size() - end_);
  end_ += read;
  return read != 0;
}

}  // namespace trireme::io::detail
