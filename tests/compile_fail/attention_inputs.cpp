// expect query: trireme: MultiHeadAttention takes (time, features)
// expect values: trireme: MultiHeadAttention takes (time, features), or a tuple of query, value and perhaps key
// expect keys: trireme: MultiHeadAttention takes (time, features), or a tuple of query, value and perhaps key
// expect four_parts: trireme: MultiHeadAttention takes (time, features), or a tuple of query, value and perhaps key
#include "trireme/layers/multi_head_attention.hpp"
#include "trireme/models/description.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/models/tuples.hpp"

namespace tr = trireme;
using tr::Input, tr::Inputs, tr::MultiHeadAttention, tr::Sequential;

void make() {
#if defined(misuse_query)
  Sequential const model{Input<4>{}, MultiHeadAttention<2, 4>{}};
#elif defined(misuse_values)
  Sequential const model{Inputs{Input<5, 4>{}, Input<4>{}}, MultiHeadAttention<2, 4>{}};
#elif defined(misuse_keys)
  Sequential const model{Inputs{Input<5, 4>{}, Input<6, 4>{}, Input<6, 4, 1>{}}, MultiHeadAttention<2, 4>{}};
#elif defined(misuse_four_parts)
  Sequential const model{Inputs{Input<5, 4>{}, Input<5, 4>{}, Input<5, 4>{}, Input<5, 4>{}},
                         MultiHeadAttention<2, 4>{}};
#else
  Sequential const model{Inputs{Input<5, 4>{}, Input<6, 4>{}, Input<6, 3>{}}, MultiHeadAttention<2, 4>{}};
#endif
  static_cast<void>(tr::describe<float>(model));
}
