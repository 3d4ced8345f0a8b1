// Tile loops of the POINTWISE ops with two operands, and select.
#include "plugin-api/frl_plugin.h"
#include "plugins/cpu/isa/tiles.h"

namespace cpu {
namespace FRL_ISA {
namespace {

#define OP(name, expression)             \
  struct name {                          \
    template <class T>                   \
    static FRL_INLINE auto f(T a, T b) { \
      return static_cast<T>(expression); \
    }                                    \
  }
#define WRAPS(name, op)                                                              \
  struct name {                                                                      \
    template <class T>                                                               \
    static FRL_INLINE T f(T a, T b) {                                                \
      if constexpr (kIsFloat<T>)                                                     \
        return a op b;                                                               \
      else                                                                           \
        return static_cast<T>(static_cast<uint64_t>(a) op static_cast<uint64_t>(b)); \
    }                                                                                \
  }
#define TEST(name, op)                   \
  struct name {                          \
    template <class T>                   \
    static FRL_INLINE bool f(T a, T b) { \
      return a op b;                     \
    }                                    \
  }
WRAPS(Add, +);
WRAPS(Sub, -);
WRAPS(Mul, *);
OP(Max, a > b || a != a ? a : b);
OP(Min, a < b || a != a ? a : b);
OP(And, a& b);
OP(Or, a | b);
OP(Xor, a ^ b);
TEST(Less, <);
TEST(LessEqual, <=);
TEST(Greater, >);
TEST(GreaterEqual, >=);
TEST(Equal, ==);
TEST(NotEqual, !=);
OP(ShiftLeft, b >= T(8 * sizeof(T)) ? T(0) : T(a << b));
OP(ShiftRight, b >= T(8 * sizeof(T)) ? T(0) : T(a >> b));
#undef OP
#undef WRAPS
#undef TEST

template <class T>
constexpr bool kIsSigned = T(-1) < T(0);
// x / -1 as a wrapping negation, because min / -1 has no quotient.
template <class T>
FRL_INLINE bool is_minus_one(T b) {
  if constexpr (kIsSigned<T>)
    return b == T(-1);
  else
    return false;
}
struct Div {
  template <class T>
  static FRL_INLINE T f(T a, T b) {
    if constexpr (kIsFloat<T>)
      return a / b;
    else if (b == 0)
      return 0;
    else if (is_minus_one(b))
      return static_cast<T>(Wrap<T>(0) - static_cast<Wrap<T>>(a));
    else
      return static_cast<T>(a / b);
  }
};
struct Fmod {
  template <class T>
  static FRL_INLINE T f(T a, T b) {
    if constexpr (kIsFloat<T>)
      return static_cast<T>(::fmod(static_cast<double>(a), static_cast<double>(b)));
    else if (b == 0 || is_minus_one(b))
      return 0;
    else
      return static_cast<T>(a % b);
  }
};
struct Mod {
  template <class T>
  static FRL_INLINE T f(T a, T b) {
    const T r = Fmod::f(a, b);
    if constexpr (kIsFloat<T>) {
      // A remainder of 0 has the sign of the divisor, as a result does.
      if (r == 0) return __builtin_copysign(static_cast<double>(r), static_cast<double>(b));
      return (r < 0) != (b < 0) ? r + b : r;
    } else if constexpr (kIsSigned<T>) {
      return r != 0 && (r < 0) != (b < 0) ? static_cast<T>(r + b) : r;
    } else {
      return r;
    }
  }
};
struct Pow {
  static FRL_INLINE float f(float a, float b) { return pow(a, b); }
  static FRL_INLINE double f(double a, double b) { return ::pow(a, b); }
  // Wraps; a negative power truncates: 1 / a^|b| is 0 unless |a| is 1.
  template <class T>
  static FRL_INLINE T f(T a, T b) {
    if constexpr (kIsSigned<T>) {
      if (b < 0) return a == 1 ? T(1) : (a == T(-1) ? (b % 2 ? T(-1) : T(1)) : T(0));
    }
    uint64_t y = 1, x = static_cast<uint64_t>(a);
    for (uint64_t k = static_cast<uint64_t>(b); k; k >>= 1, x *= x)
      if (k & 1) y *= x;
    return static_cast<T>(y);
  }
};
struct Prelu {
  template <class T>
  static FRL_INLINE T f(T a, T b) {
    if constexpr (kIsSigned<T>)
      return a < 0 ? Mul::f(a, b) : a;
    else
      return a;
  }
};

template <class Op>
constexpr TileRow numbers(uint32_t op) {
  return {op,
          {binary_loop<Op, double>, binary_loop<Op, float>, binary_loop<Op, int8_t>,
           binary_loop<Op, int16_t>, binary_loop<Op, int32_t>, binary_loop<Op, int64_t>,
           binary_loop<Op, uint8_t>, binary_loop<Op, uint16_t>, binary_loop<Op, uint32_t>,
           binary_loop<Op, uint64_t>}};
}
template <class Op>
constexpr TileRow tests(uint32_t op) {
  return {
      op,
      {binary_loop<Op, double, bool>, binary_loop<Op, float, bool>, binary_loop<Op, int8_t, bool>,
       binary_loop<Op, int16_t, bool>, binary_loop<Op, int32_t, bool>,
       binary_loop<Op, int64_t, bool>, binary_loop<Op, uint8_t, bool>,
       binary_loop<Op, uint16_t, bool>, binary_loop<Op, uint32_t, bool>,
       binary_loop<Op, uint64_t, bool>, binary_loop<Op, uint8_t, bool>}};
}
template <class Op>
constexpr TileRow unsigneds(uint32_t op) {
  return {op,
          {nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, binary_loop<Op, uint8_t>,
           binary_loop<Op, uint16_t>, binary_loop<Op, uint32_t>, binary_loop<Op, uint64_t>}};
}
// Signs do not matter to bits.
template <class Op>
constexpr TileRow bits(uint32_t op) {
  return {op,
          {nullptr, nullptr, binary_loop<Op, uint8_t>, binary_loop<Op, uint16_t>,
           binary_loop<Op, uint32_t>, binary_loop<Op, uint64_t>, binary_loop<Op, uint8_t>,
           binary_loop<Op, uint16_t>, binary_loop<Op, uint32_t>, binary_loop<Op, uint64_t>,
           binary_loop<Op, uint8_t>}};
}
template <class Op>
constexpr TileRow bools(uint32_t op) {
  TileRow row{op, {}};
  row.by_work[kWorkBool] = binary_loop<Op, uint8_t>;
  return row;
}

constexpr TileRow kRows[] = {
    numbers<Add>(FRL_OP_add),
    numbers<Sub>(FRL_OP_sub),
    numbers<Mul>(FRL_OP_mul),
    numbers<Div>(FRL_OP_div),
    numbers<Mod>(FRL_OP_mod),
    numbers<Fmod>(FRL_OP_fmod),
    numbers<Pow>(FRL_OP_pow),
    numbers<Max>(FRL_OP_max),
    numbers<Min>(FRL_OP_min),
    numbers<Prelu>(FRL_OP_prelu),
    tests<Less>(FRL_OP_less),
    tests<LessEqual>(FRL_OP_less_equal),
    tests<Greater>(FRL_OP_greater),
    tests<GreaterEqual>(FRL_OP_greater_equal),
    tests<Equal>(FRL_OP_equal),
    tests<NotEqual>(FRL_OP_not_equal),
    bools<And>(FRL_OP_logical_and),
    bools<Or>(FRL_OP_logical_or),
    bools<Xor>(FRL_OP_logical_xor),
    bits<And>(FRL_OP_bit_and),
    bits<Or>(FRL_OP_bit_or),
    bits<Xor>(FRL_OP_bit_xor),
    unsigneds<ShiftLeft>(FRL_OP_shift_left),
    unsigneds<ShiftRight>(FRL_OP_shift_right),
};

template <class T>
void select_loop(void* dst, const void* a, const void* b, const void* c, int64_t n, const double*) {
  const uint8_t* which = static_cast<const uint8_t*>(a);
  const T *x = static_cast<const T*>(b), *z = static_cast<const T*>(c);
  T* y = static_cast<T*>(dst);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = which[i] ? x[i] : z[i];
}

}  // namespace

TileFn find_binary(uint32_t op, Work work) {
  return find_tile(kRows, sizeof kRows / sizeof *kRows, op, work);
}

TileFn find_select(Work work) {
  constexpr TileFn kByWork[kNWork] = {
      select_loop<uint64_t>, select_loop<uint32_t>, select_loop<uint8_t>, select_loop<uint16_t>,
      select_loop<uint32_t>, select_loop<uint64_t>, select_loop<uint8_t>, select_loop<uint16_t>,
      select_loop<uint32_t>, select_loop<uint64_t>, select_loop<uint8_t>};
  return kByWork[work];
}

}  // namespace FRL_ISA
}  // namespace cpu
