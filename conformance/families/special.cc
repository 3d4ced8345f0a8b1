// I: the values that go wrong: NaN, infinities, denormals, zeros, ties, masked rows, integer edges.
#include <cmath>
#include <cstring>

#include "conformance/cases/check.h"
#include "conformance/judge/number.h"
#include "conformance/suite/families.h"
#include "core/base/text.h"

namespace ferrule::conformance {
namespace {

// Numbers at the edges of a type, functions' own edges among them.
std::vector<double> edges_of(Type type) {
  const FloatFormat f = format_of(type);
  const double denormal = std::ldexp(1, f.min_exponent - f.digits);
  return {NAN,
          INFINITY,
          -INFINITY,
          0.0,
          -0.0,
          denormal,
          -denormal,
          3 * denormal,
          f.min_normal() - denormal,
          denormal - f.min_normal(),
          f.min_normal(),
          -f.min_normal(),
          f.largest,
          -f.largest,
          f.largest / 2,
          1,
          -1,
          0.5,
          -0.5,
          1.5,
          -1.5,
          2,
          -2,
          2.5,
          -3,
          4,
          1 + f.eps(),
          1 - f.eps() / 2,
          std::sqrt(f.largest),
          1 / f.eps()};
}

// Every edge, or (two operands) every pair of edges.
std::vector<Tensor> edge_tensors(Type type, size_t n_operands) {
  std::vector<std::vector<double>> columns(n_operands);
  std::vector<uint64_t> integers;
  if (is_float(type)) {
    const std::vector<double> edges = edges_of(type);
    for (double a : edges)
      for (size_t k = 0; k < (n_operands == 1 ? 1 : edges.size()); ++k) {
        columns[0].push_back(a);
        if (n_operands > 1) columns[1].push_back(edges[k]);
      }
    std::vector<Tensor> out;
    for (const auto& column : columns) {
      Tensor t(TensorType{type, Shape{int64_t(column.size())}});
      for (size_t i = 0; i < column.size(); ++i) t.set_f64(int64_t(i), column[i]);
      out.push_back(std::move(t));
    }
    return out;
  }
  const int bits = type == Type::boolean ? 1 : int(8 * size_bytes(type));
  const uint64_t top = uint64_t{1} << (bits - 1);
  std::vector<uint64_t> edges = {0, 1};
  if (bits > 1)
    edges = {0,
             1,
             2,
             3,
             7,
             uint64_t(bits - 1),
             uint64_t(bits),
             uint64_t(bits + 1),
             top - 1,
             top,
             top + 1,
             ~uint64_t{0},
             ~uint64_t{0} - 1,
             ~uint64_t{2}};
  const auto n = int64_t(edges.size());
  std::vector<Tensor> out;
  for (size_t operand = 0; operand < n_operands; ++operand) {
    Tensor t(TensorType{type, Shape{n_operands == 1 ? n : n * n}});
    for (int64_t i = 0; i < t.n_elements(); ++i) {
      const uint64_t v = edges[size_t(operand == 0 && n_operands > 1 ? i / n : i % n)];
      std::memcpy(t.mutable_data() + i * size_bytes(type), &v, size_t(size_bytes(type)));
    }
    out.push_back(std::move(t));
  }
  return out;
}

void list_pointwise(const Target& target, std::vector<Case>& cases) {
  for (const OpRow& row : op_rows()) {
    if (row.form != Form::pointwise || row.id == FRL_OP_select) continue;
    for (Type type : types_of(row.id)) {
      if (!target.wants(cat("I/", row.name, "/", type_name(type), "/"))) continue;
      const auto tensors =
          std::make_shared<std::vector<Tensor>>(edge_tensors(type, row.min_operands));
      std::vector<Slot> slots;
      for (const Tensor& t : *tensors) slots.push_back({t.type()});
      const int64_t last = row.id == FRL_OP_cast ? FRL_BOOL : FRL_F64;
      for (int64_t to = FRL_F64; to <= last; ++to) {
        Attributes attributes(row.id);
        if (row.id == FRL_OP_cast) attributes.set_i(FRL_AT_cast_to, to);
        add_case(target, cases,
                 cat("I/", row.name, "/", type_name(type),
                     row.id == FRL_OP_cast ? cat("/to_", type_name(Type(to))) : "/edges"),
                 one_node(row.id, attributes, slots),
                 [tensors](const Target& t, const Graph& graph, uint64_t) {
                   return check_run(t, graph, *tensors);
                 });
      }
    }
  }
}

// Data with marks: what is put where in a row of ordinary numbers.
struct Mark {
  const char* name;
  void (*put)(Tensor& x, int64_t first, int64_t n,
              int64_t row);   // one row: n elements from `first`
  bool leaves_range = false;  // sums or products of a row
};
void put(Tensor& x, int64_t i, double v) { x.set_f64(i, v); }
void put_all(Tensor& x, int64_t first, int64_t n, double v) {
  for (int64_t i = 0; i < n; ++i) put(x, first + i, v);
}
// Where in the row the mark goes: at its ends, in its middle, then anywhere.
int64_t place_in(int64_t n, int64_t row) {
  return n == 0 ? 0 : row == 0 ? 0 : row == 1 ? n - 1 : row * 7919 % n;
}

constexpr Mark kMarks[] = {
    {"one_nan", [](Tensor& x, int64_t first, int64_t n,
                   int64_t row) { put(x, first + place_in(n, row), NAN); }},
    {"one_inf", [](Tensor& x, int64_t first, int64_t n,
                   int64_t row) { put(x, first + place_in(n, row), INFINITY); }},
    {"one_minus_inf", [](Tensor& x, int64_t first, int64_t n,
                         int64_t row) { put(x, first + place_in(n, row), -INFINITY); }},
    {"both_inf",
     [](Tensor& x, int64_t first, int64_t n, int64_t row) {
       put(x, first + place_in(n, row), INFINITY), put(x, first + place_in(n, row + 2), -INFINITY);
     }},
    {"all_minus_inf",
     [](Tensor& x, int64_t first, int64_t n, int64_t row) {
       if (row % 2 == 0) put_all(x, first, n, -INFINITY);
     }},
    {"all_inf",
     [](Tensor& x, int64_t first, int64_t n, int64_t row) {
       if (row % 2 == 0) put_all(x, first, n, INFINITY);
     }},
    {"all_nan",
     [](Tensor& x, int64_t first, int64_t n, int64_t row) {
       if (row % 2 == 0) put_all(x, first, n, NAN);
     }},
    {"one_finite",
     [](Tensor& x, int64_t first, int64_t n, int64_t row) {
       put_all(x, first, n, -INFINITY), put(x, first + place_in(n, row), 1.5);
     }},
    {"equal", [](Tensor& x, int64_t first, int64_t n, int64_t) { put_all(x, first, n, 0.75); }},
    {"zeros", [](Tensor& x, int64_t first, int64_t n, int64_t) { put_all(x, first, n, 0); }},
    {"minus_zeros",
     [](Tensor& x, int64_t first, int64_t n, int64_t) { put_all(x, first, n, -0.0); }},
    {"mixed_zeros",
     [](Tensor& x, int64_t first, int64_t n, int64_t) {
       for (int64_t i = 0; i < n; ++i) put(x, first + i, i % 2 ? 0.0 : -0.0);
     }},
    {"negative",
     [](Tensor& x, int64_t first, int64_t n, int64_t) {
       for (int64_t i = 0; i < n; ++i) put(x, first + i, -1 - std::fabs(x.at_f64(first + i)));
     }},
    {"positive",
     [](Tensor& x, int64_t first, int64_t n, int64_t) {
       for (int64_t i = 0; i < n; ++i) put(x, first + i, 1 + std::fabs(x.at_f64(first + i)));
     }},
    {"large",
     [](Tensor& x, int64_t first, int64_t n, int64_t row) {
       for (int64_t i = 0; i < n; ++i)
         put(x, first + i,
             (row % 2 ? -1 : 1) * format_of(x.element()).largest / 2 / double((i + 1) * (i + 1)));
     },
     true},
    {"denormals",
     [](Tensor& x, int64_t first, int64_t n, int64_t) {
       for (int64_t i = 0; i < n; ++i)
         put(x, first + i,
             (i % 2 ? -1 : 1) * format_of(x.element()).min_normal() * double(i % 13) / 16);
     },
     true},
    {"ties",
     [](Tensor& x, int64_t first, int64_t n, int64_t row) {
       for (int64_t i = 0; i < n; ++i) put(x, first + i, double((i * 5 + row) % 3));
     }},
};

// Ops whose rows along the last axis of the first operand are marked.
constexpr SubjectRow kMarked[] = {
    {FRL_OP_reduce, "add", "by=add axes=-1", "T[6,N]"},
    {FRL_OP_reduce, "mul", "by=mul axes=-1", "T[6,N]"},
    {FRL_OP_reduce, "max", "by=max axes=-1", "T[6,N]"},
    {FRL_OP_reduce, "min", "by=min axes=-1", "T[6,N]"},
    {FRL_OP_reduce, "max_all", "by=max axes=-2,-1 keep=0", "T[6,N]"},
    {FRL_OP_arg_reduce, "max", "by=max", "T[6,N]"},
    {FRL_OP_arg_reduce, "min", "by=min", "T[6,N]"},
    {FRL_OP_arg_reduce, "max_last", "by=max last=1", "T[6,N]"},
    {FRL_OP_arg_reduce, "min_last", "by=min last=1", "T[6,N]"},
    {FRL_OP_cumulative, "add", "by=add", "T[6,N]"},
    {FRL_OP_cumulative, "max", "by=max", "T[6,N]"},
    {FRL_OP_cumulative, "min", "by=min reverse=1", "T[6,N]"},
    {FRL_OP_topk, "largest", "k=5", "T[6,N]"},
    {FRL_OP_topk, "smallest", "k=5 largest=0", "T[6,N]"},
    {FRL_OP_softmax, "last", "", "T[6,N]"},
    {FRL_OP_log_softmax, "last", "", "T[6,N]"},
    {FRL_OP_matmul, "left", "", "T[6,N] T[N,3]"},
    {FRL_OP_max_pool, "row", "kernel=3", "T[1,6,N]"},
    {FRL_OP_avg_pool, "row", "kernel=3", "T[1,6,N]"},
    {FRL_OP_conv, "row", "", "T[1,6,N] T[2,6,3]"},
    {FRL_OP_layer_norm, "last", "", "T[6,N] T[N] T[N]"},
    {FRL_OP_rms_norm, "last", "", "T[6,N] T[N]"},
    {FRL_OP_nonzero, "flat", "", "T[6,N]"},
    {FRL_OP_matmul_bias_act, "relu", "activation=relu", "T[6,N] T[N,3] T[3]"},
};

Outcome run_marked(const Target& target, const Graph& graph, const Subject& subject,
                   const Mark& mark, uint64_t seed) {
  std::vector<Tensor> inputs = inputs_of(subject, graph, Style::data, seed);
  Tensor& x = inputs[0];
  const int64_t n = x.shape().back();
  for (int64_t row = 0; n > 0 && row < x.n_elements() / n; ++row) mark.put(x, row * n, n, row);
  return check_run(target, graph, inputs);
}

void list_marked(const Target& target, std::vector<Case>& cases) {
  const std::vector<int64_t> all = {7, 8, 9, 16, 17, 31, 32, 33, 65, 257, 8193}, few = {7, 33, 65},
                             one = {17};
  for (const SubjectRow& row : kMarked) {
    for (Type type : types_of(row.op)) {
      if (!is_float(type)) continue;
      if (!target.wants(cat("I/", op_row(row.op).name, "/", type_name(type), "/", row.label, "_")))
        continue;
      for (int64_t n :
           target.depth == Depth::smoke                                                    ? one
           : target.depth == Depth::deep || (row.op == FRL_OP_reduce && type == Type::f32) ? all
                                                                                           : few) {
        const auto subject = subject_of(row, type, n);
        if (!subject.ok()) continue;
        for (const Mark& mark : kMarks) {
          // Products of such rows leave the range in an order that is the device's.
          const bool product =
              subject->op == FRL_OP_reduce && subject->attributes.i(FRL_AT_reduce_by) == FRL_OP_mul;
          const bool squares = subject->op == FRL_OP_matmul || subject->op == FRL_OP_conv ||
                               subject->op == FRL_OP_matmul_bias_act ||
                               subject->op == FRL_OP_layer_norm || subject->op == FRL_OP_rms_norm;
          if ((product || squares) && mark.leaves_range) continue;
          if (product && n > (type == Type::f16 ? 17 : 65)) continue;
          add_case(target, cases,
                   cat("I/", op_row(row.op).name, "/", type_name(type), "/", row.label, "_", n, "/",
                       mark.name),
                   graph_of(*subject, 1),
                   [subject = *subject, &mark](const Target& t, const Graph& graph, uint64_t seed) {
                     return run_marked(t, graph, subject, mark, seed);
                   });
        }
      }
    }
  }
}

// Rows of the scores that see nothing, by each kind of mask.
struct Masked {
  const char *name, *attributes, *operands;
};
constexpr Masked kMasked[] = {
    {"additive", "mask=2", "T[2,5,8] T[2,7,8] T[2,7,6] T[5,7]"},
    {"boolean", "mask=3", "T[2,5,8] T[2,7,8] T[2,7,6] bool[5,7]"},
    {"boolean_full", "mask=3", "T[2,5,8] T[2,7,8] T[2,7,6] bool[2,5,7]"},
    {"causal_long", "mask=1",
     "T[2,7,8] T[2,5,8] T[2,5,6]"},  // more queries than keys: the first see none
    {"causal_one_key", "mask=1", "T[1,3,4] T[1,1,4] T[1,1,4]"},
};

void list_masked(const Target& target, std::vector<Case>& cases) {
  for (const Masked& row : kMasked) {
    for (Type type : {Type::f64, Type::f32, Type::f16, Type::bf16}) {
      const auto subject =
          subject_of({FRL_OP_attention, row.name, row.attributes, row.operands}, type);
      if (!subject.ok()) continue;
      add_case(target, cases, cat("I/attention/", type_name(type), "/", row.name),
               graph_of(*subject, 1),
               [subject = *subject](const Target& t, const Graph& graph, uint64_t seed) {
                 std::vector<Tensor> inputs = inputs_of(subject, graph, Style::data, seed);
                 if (inputs.size() == 4)
                   for (int64_t i = 0; i < inputs[3].n_elements(); ++i) {
                     // Row 1 is masked whole, row 3 all but its last key.
                     const int64_t row = i / 7 % 5, key = i % 7;
                     const bool seen = row != 1 && (row != 3 || key == 6);
                     inputs[3].set_f64(i, inputs[3].element() == Type::boolean ? seen
                                          : seen ? 0.25 * double(i % 3)
                                                 : -INFINITY);
                   }
                 return check_run(t, graph, inputs);
               });
    }
  }
}

// Integer reductions wrap, and extremes are found at the ends of the range.
void list_integer_rows(const Target& target, std::vector<Case>& cases) {
  for (const SubjectRow& row : kMarked) {
    for (Type type : types_of(row.op)) {
      if (is_float(type)) continue;
      const auto subject = subject_of(row, type, 33);
      if (!subject.ok()) continue;
      add_case(target, cases,
               cat("I/", op_row(row.op).name, "/", type_name(type), "/", row.label, "/edges"),
               *subject, Style::special);
    }
  }
}

}  // namespace

void list_special(const Target& target, std::vector<Case>& cases) {
  list_pointwise(target, cases);
  list_marked(target, cases);
  list_masked(target, cases);
  list_integer_rows(target, cases);
}

}  // namespace ferrule::conformance
