#include "core/op/wide.h"

#include <cmath>
#include <limits>

namespace ferrule {

template <class W>
W neutral_of(int64_t by, Type type) {
  if (by == FRL_OP_add) return 0;
  if (by == FRL_OP_mul) return 1;
  const bool lowest = by == FRL_OP_max;
  if constexpr (std::is_same_v<W, double>) {
    return lowest ? -INFINITY : INFINITY;
  } else {
    return with_type(type, [&]<class T>(T) -> W {
      if constexpr (std::is_integral_v<T>)
        return W(lowest ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max());
      else
        return 0;
    });
  }
}

template double neutral_of(int64_t, Type);
template int64_t neutral_of(int64_t, Type);
template uint64_t neutral_of(int64_t, Type);

}  // namespace ferrule
