// Ops that sort or search: arg_reduce, topk, nonzero, unique.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "plugins/cpu/keys.h"

namespace cpu {

KernelPtr make_arg_reduce(const Context&, const Request& region) {
  const frl::Operand x = region.operand(0), y = region.result(0);
  const Split s =
      split_at(x.value, axis_index(x.value, region.attribute_i(FRL_AT_arg_reduce_axis)));
  const bool is_min = region.attribute_i(FRL_AT_arg_reduce_by) != FRL_OP_max;
  const bool last = region.attribute_i(FRL_AT_arg_reduce_last) != 0;
  const KeyLoader load_keys = key_loader(x.value.type);
  const int64_t width = frl::element_bytes(x.value.type);
  return make_kernel([=, from = Place(x), to = Place(y)](const frl::Call& call) {
    if (s.n == 0 && s.outer * s.inner > 0)
      throw frl::Failure(FRL_INVALID, "arg_reduce: want an element on the axis, got none");
    frl::for_slices(call.host, s.outer * s.inner, 1.5 * static_cast<double>(s.n), 0,
                    [&](int64_t begin, int64_t end, void*) {
                      constexpr int64_t kPart = 256;
                      uint64_t keys[kPart];
                      for (int64_t k = begin; k < end; ++k) {
                        const std::byte* line =
                            from.at(call) + (k / s.inner * s.n * s.inner + k % s.inner) * width;
                        int64_t best = 0;
                        uint64_t most = 0;
                        for (int64_t i = 0; i < s.n; i += kPart) {
                          const int64_t n = std::min(kPart, s.n - i);
                          load_keys(keys, line + i * s.inner * width, s.inner, n, is_min);
                          for (int64_t j = 0; j < n; ++j)
                            if (keys[j] > most || (last && keys[j] == most) || i + j == 0)
                              most = keys[j], best = i + j;
                        }
                        to.out<int64_t>(call)[k] = best;
                      }
                    });
  });
}

KernelPtr make_topk(const Context&, const Request& region) {
  const frl::Operand x = region.operand(0), values = region.result(0), places = region.result(1);
  const Split s = split_at(x.value, axis_index(x.value, region.attribute_i(FRL_AT_topk_axis)));
  const int64_t k = region.attribute_i(FRL_AT_topk_k), width = frl::element_bytes(x.value.type);
  const bool largest = region.attribute_i(FRL_AT_topk_largest) != 0;
  const KeyLoader load_keys = key_loader(x.value.type);
  return make_kernel(
      [=, from = Place(x), to = Place(values), at = Place(places)](const frl::Call& call) {
        const uint64_t scratch_bytes = static_cast<uint64_t>(2 * s.n + 1) * sizeof(int64_t);
        frl::for_slices(
            call.host, s.outer * s.inner, static_cast<double>(s.n) * 8, scratch_bytes,
            [&](int64_t begin, int64_t end, void* scratch) {
              int64_t* order = static_cast<int64_t*>(scratch);
              uint64_t* keys = static_cast<uint64_t*>(scratch) + s.n;
              for (int64_t lane = begin; lane < end; ++lane) {
                const std::byte* line =
                    from.at(call) + (lane / s.inner * s.n * s.inner + lane % s.inner) * width;
                const int64_t first = lane / s.inner * k * s.inner + lane % s.inner;
                load_keys(keys, line, s.inner, s.n, false);
                std::iota(order, order + s.n, 0);
                std::partial_sort(order, order + k, order + s.n, [&](int64_t a, int64_t b) {
                  if (keys[a] != keys[b]) return largest ? keys[a] > keys[b] : keys[a] < keys[b];
                  return a < b;
                });
                for (int64_t i = 0; i < k; ++i) {
                  const int64_t place = first + i * s.inner;
                  if (to.present())
                    std::memcpy(to.at(call) + place * width, line + order[i] * s.inner * width,
                                static_cast<size_t>(width));
                  if (at.present()) at.out<int64_t>(call)[place] = order[i];
                }
              }
            });
      });
}

// Rows of the result lie as far apart as the bound says: memory never moves with the extent.
KernelPtr make_nonzero(const Context&, const Request& region) {
  const frl::Operand x = region.operand(0), y = region.result(0);
  const int extents = region.extents_argument();
  const KeyLoader load_keys = key_loader(x.value.type);
  const int64_t width = frl::element_bytes(x.value.type);
  uint64_t zero = 0;
  const uint64_t nothing = 0;
  load_keys(&zero, reinterpret_cast<const std::byte*>(&nothing), 1, 1, false);
  return make_kernel([=, v = x.value, bound = y.value.extent(-1), from = Place(x),
                      to = Place(y)](const frl::Call& call) {
    int64_t* out = to.out<int64_t>(call);
    int64_t found = 0;
    constexpr int64_t kPart = 256;
    uint64_t keys[kPart];
    for (int64_t i = 0, n = v.n_elements(); i < n; ++i) {
      if (i % kPart == 0)
        load_keys(keys, from.at(call) + i * width, 1, std::min(kPart, n - i), false);
      if (keys[i % kPart] == zero) continue;
      for (size_t d = v.rank, rest = static_cast<size_t>(i); d-- > 0;) {
        const size_t e = static_cast<size_t>(v.extents[d]);
        out[static_cast<int64_t>(d) * bound + found] = static_cast<int64_t>(rest % e);
        rest /= e;
      }
      ++found;
    }
    if (extents >= 0) *call.out<int64_t>(extents) = found;
  });
}

namespace {

// The items (slices along an axis, or single elements) of unique, as keys.
class Items {
 public:
  Items(std::vector<uint64_t> keys, const Split& s) : keys_(std::move(keys)), s_(s) {}

  int order(int64_t a, int64_t b) const {
    for (int64_t o = 0; o < s_.outer; ++o)
      for (int64_t k = 0; k < s_.inner; ++k) {
        const uint64_t x = keys_[static_cast<size_t>((o * s_.n + a) * s_.inner + k)];
        const uint64_t y = keys_[static_cast<size_t>((o * s_.n + b) * s_.inner + k)];
        if (x != y) return x < y ? -1 : 1;
      }
    return 0;
  }

 private:
  std::vector<uint64_t> keys_;
  Split s_;
};

struct Distinct {
  std::vector<int64_t> first, counts, inverse;
};

Distinct find_distinct(const Items& items, size_t n, bool sorted) {
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int64_t a, int64_t b) { return items.order(a, b) < 0; });
  Distinct out;
  out.inverse.resize(n);
  for (size_t i = 0; i < n; ++i) {
    if (i == 0 || items.order(order[i - 1], order[i]) != 0)
      out.first.push_back(order[i]), out.counts.push_back(0);
    ++out.counts.back();
    out.inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(out.first.size()) - 1;
  }
  if (sorted) return out;
  // In order of first appearance instead.
  std::vector<int64_t> by_place(out.first.size()), rank(out.first.size());
  std::iota(by_place.begin(), by_place.end(), 0);
  std::ranges::sort(by_place, {}, [&](int64_t i) { return out.first[static_cast<size_t>(i)]; });
  Distinct moved;
  for (size_t i = 0; i < by_place.size(); ++i) {
    const size_t old = static_cast<size_t>(by_place[i]);
    moved.first.push_back(out.first[old]), moved.counts.push_back(out.counts[old]);
    rank[old] = static_cast<int64_t>(i);
  }
  for (int64_t i : out.inverse) moved.inverse.push_back(rank[static_cast<size_t>(i)]);
  return moved;
}

}  // namespace

KernelPtr make_unique_op(const Context&, const Request& region) {
  const frl::Operand x = region.operand(0), y = region.result(0), first = region.result(1),
                     inverse = region.result(2), counts = region.result(3);
  const int64_t axis = region.attribute_i(FRL_AT_unique_axis);
  const bool sorted = region.attribute_i(FRL_AT_unique_sorted) != 0;
  Split s{1, x.value.n_elements(), 1};
  if (axis != 0) s = split_at(x.value, axis_index(x.value, axis));
  const int extents = region.extents_argument();
  const KeyLoader load_keys = key_loader(x.value.type);
  const int64_t bytes = s.inner * frl::element_bytes(x.value.type);
  return make_kernel([=, from = Place(x), to = Place(y), firsts = Place(first),
                      inverses = Place(inverse), totals = Place(counts)](const frl::Call& call) {
    std::vector<uint64_t> keys(static_cast<size_t>(s.outer * s.n * s.inner));
    load_keys(keys.data(), from.at(call), 1, static_cast<int64_t>(keys.size()), false);
    const Distinct found =
        find_distinct(Items(std::move(keys), s), static_cast<size_t>(s.n), sorted);
    const auto give = [&](const Place& place, const std::vector<int64_t>& values) {
      if (place.present()) std::ranges::copy(values, place.out<int64_t>(call));
    };
    give(firsts, found.first), give(inverses, found.inverse), give(totals, found.counts);
    // Rows lie as far apart as the bound, which is the operand's extent.
    const auto n = static_cast<int64_t>(found.first.size());
    for (int64_t o = 0; to.present() && o < s.outer; ++o)
      for (int64_t i = 0; i < n; ++i)
        std::memcpy(to.at(call) + (o * s.n + i) * bytes,
                    from.at(call) + (o * s.n + found.first[static_cast<size_t>(i)]) * bytes,
                    static_cast<size_t>(bytes));
    if (extents >= 0) *call.out<int64_t>(extents) = n;
  });
}

}  // namespace cpu
