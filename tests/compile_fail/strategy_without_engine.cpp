// expect: trireme: a strategy needs a template Engine<Model>
#ifdef TRIREME_MUST_FAIL
#define WITHOUT_ENGINE
#endif
#include "own_strategy.hpp"
