// expect: trireme: a strategy's engine needs data_shard(phase)
#ifdef TRIREME_MUST_FAIL
#define WITHOUT_DATA_SHARD
#endif
#include "own_strategy.hpp"
