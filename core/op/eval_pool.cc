// Reference evaluation of pools.
#include <algorithm>

#include "core/op/rules.h"
#include "core/op/walk.h"
#include "core/op/wide.h"
#include "core/op/window.h"

namespace ferrule {
namespace {

struct Pool {
  Shape x, y;  // spatial axes only
  Window window;
  Strides strides;  // of x

  // fn(offset in x) for the taps on the operand of the window at y's index. Gives how many taps lie
  // on the operand or its pads, so not in what rounding up added.
  template <class Fn>
  int64_t taps(const Odometer& at, Fn&& fn) const {
    Shape box;
    Strides steps{};
    int64_t first = 0, counted = 1;
    for (size_t i = 0; i < x.rank(); ++i) {
      const WindowAxis& w = window[i];
      const int64_t start = at[i] * w.stride - w.begin;
      // How many taps lie before position p.
      const auto before = [&](int64_t p) {
        return p <= start ? 0 : std::min(w.kernel, (p - start - 1) / w.dilation + 1);
      };
      box.push_back(before(x[i]) - before(0));
      steps[i] = w.dilation * strides[i];
      first += (start + before(0) * w.dilation) * strides[i];
      counted *= before(x[i] + w.end);
    }
    for (Odometer k(box); k.more(); k.next()) fn(first + k.offset(steps));
    return counted;
  }
};

Result<Pool> make_pool(const OpCall& call, const Shape& x, const Shape& y) {
  Pool out;
  out.x = sub_shape(x, 2, x.rank());
  out.y = sub_shape(y, 2, y.rank());
  const auto& kernel = call.attributes.list(FRL_AT_max_pool_kernel);
  FRL_LET(out.window, read_window(call, kernel, FRL_AT_max_pool_strides));
  out.strides = row_major(out.x);
  return out;
}

}  // namespace

// A window with no tap on the operand gives the lowest value and place -1.
Status eval_max_pool(const OpCall& call, Operands operands, Results results) {
  const Tensor& x = *operands[0];
  FRL_LET(const Pool pool, make_pool(call, x.shape(), results[0].shape()));
  if (results[0].n_elements() == 0) return {};
  const auto places = results[1].mutable_as<int64_t>();
  with_wide(x.element(), [&]<class W>(W) {
    const std::vector<W> in = load<W>(x);
    std::vector<W> values(places.size());
    size_t to = 0;
    for (int64_t nc = 0; nc < x.shape()[0] * x.shape()[1]; ++nc) {
      const int64_t first = nc * pool.x.n_elements();
      for (Odometer at(pool.y); at.more(); at.next(), ++to) {
        W best = neutral_of<W>(FRL_OP_max, x.element());
        int64_t place = -1;
        pool.taps(at, [&](int64_t offset) {
          const W value = in[size_t(first + offset)];
          if (place >= 0 && !(value > best) && !(value != value && best == best)) return;
          best = value;
          place = first + offset;
        });
        values[to] = best, places[to] = place;
      }
    }
    store(values, results[0]);
  });
  return {};
}

// A window that counts no tap gives 0.
Status eval_avg_pool(const OpCall& call, Operands operands, Results results) {
  const Tensor& x = *operands[0];
  const bool count_pads = call.attributes.i(FRL_AT_avg_pool_count_pads) != 0;
  FRL_LET(const Pool pool, make_pool(call, x.shape(), results[0].shape()));
  if (results[0].n_elements() == 0) return {};
  const std::vector<double> in = load<double>(x);
  std::vector<double> out(static_cast<size_t>(results[0].n_elements()));
  size_t to = 0;
  for (int64_t nc = 0; nc < x.shape()[0] * x.shape()[1]; ++nc) {
    const int64_t first = nc * pool.x.n_elements();
    for (Odometer at(pool.y); at.more(); at.next(), ++to) {
      double sum = 0;
      int64_t inside = 0;
      const int64_t counted = pool.taps(at, [&](int64_t offset) {
        sum += in[size_t(first + offset)];
        ++inside;
      });
      const int64_t n = count_pads ? counted : inside;
      out[to] = n ? sum / double(n) : 0;
    }
  }
  store(out, results[0]);
  return {};
}

}  // namespace ferrule
