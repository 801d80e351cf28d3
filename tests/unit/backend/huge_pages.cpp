#define BOOST_TEST_MODULE huge_pages
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

#include <trireme/backend/execution/huge_pages.hpp>

BOOST_AUTO_TEST_CASE(memory_of_any_size_and_place_keeps_its_values) {
  std::vector<char> memory(std::size_t{9} << 20, 'a');
  for (std::size_t begin : {std::size_t{0}, std::size_t{1}, std::size_t{4096}, std::size_t{3} << 20})
    for (std::size_t bytes :
         {std::size_t{0}, std::size_t{1}, std::size_t{5000}, std::size_t{4} << 20, (std::size_t{5} << 20) + 17})
      trireme::detail::ask_for_huge_pages(memory.data() + begin, bytes);
  BOOST_TEST(std::ranges::count(memory, 'a') == static_cast<std::ptrdiff_t>(memory.size()));
  trireme::detail::ask_for_huge_pages(nullptr, 0);
}
