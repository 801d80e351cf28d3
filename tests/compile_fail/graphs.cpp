// expect reserved_name: trireme: no node of a Graph is called "input"
// expect same_name: trireme: two nodes of a Graph have the same name
// expect unknown_input: trireme: a node of a Graph names an input that is no node before it
// expect later_input: trireme: a node of a Graph names an input that is no node before it
// expect same_input_twice: trireme: a node of a Graph names the same input twice
// expect unused_value: trireme: a value of a Graph is used by no node
// expect layer_for_node: trireme: behind its Input a Graph has nodes
// expect no_input: trireme: a Graph begins with an Input
// expect no_node: trireme: a Graph needs at least one node
// expect optimizer_as_layer: trireme: a model is made of layers
#include "trireme/layers/dense.hpp"
#include "trireme/models/graph.hpp"
#include "trireme/optimizers/sgd.hpp"

namespace tr = trireme;
using tr::Dense, tr::Graph, tr::Input, tr::node;

void make() {
#if defined(misuse_reserved_name)
  Graph const graph{Input<4>{}, node<"input">(Dense<4>{})};
#elif defined(misuse_same_name)
  Graph const graph{Input<4>{}, node<"a">(Dense<4>{}), node<"a">(Dense<4>{})};
#elif defined(misuse_unknown_input)
  Graph const graph{Input<4>{}, node<"a">(Dense<4>{}), node<"b", "c">(Dense<4>{})};
#elif defined(misuse_later_input)
  Graph const graph{Input<4>{}, node<"a", "b">(Dense<4>{}), node<"b", "input">(Dense<4>{})};
#elif defined(misuse_same_input_twice)
  Graph const graph{Input<4>{}, node<"a">(Dense<4>{}), node<"b", "a", "a">(tr::Add{})};
#elif defined(misuse_unused_value)
  Graph const graph{Input<4>{}, node<"a">(Dense<4>{}), node<"b", "input">(Dense<4>{})};
#elif defined(misuse_layer_for_node)
  Graph const graph{Input<4>{}, Dense<4>{}};
#elif defined(misuse_no_input)
  Graph const graph{node<"a">(Dense<4>{}), node<"b">(Dense<4>{}), node<"sum", "a", "b">(tr::Add{})};
#elif defined(misuse_no_node)
  Graph const graph{Input<4>{}};
#elif defined(misuse_optimizer_as_layer)
  Graph const graph{Input<4>{}, node<"a">(tr::SGD{})};
#else
  Graph const graph{Input<4>{}, node<"a">(Dense<4>{}), node<"b", "a">(Dense<4>{}), node<"sum", "a", "b">(tr::Add{})};
#endif
  (void)graph;
}
