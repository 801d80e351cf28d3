// expect: trireme: a strategy's engine needs verify_replicas()
#ifdef TRIREME_MUST_FAIL
#define WITHOUT_VERIFY_REPLICAS
#endif
#include "own_strategy.hpp"
