#include "conformance/families/sizes.h"

#include <algorithm>

#include "core/base/text.h"

namespace ferrule::conformance {
namespace {

constexpr int64_t kEdges[] = {1,  2,  3,  5,  7,  8,  9,  13,  15,  16, 17,
                              31, 32, 33, 61, 63, 64, 65, 127, 128, 129};
constexpr int64_t kLongEdges[] = {251,  255,  256,  257,  509,  511,  512,  513, 1021,
                                  1023, 1024, 1025, 2049, 4095, 4097, 8191, 8193};

// Recipes whose operands have N (any size) and M, K (small ones that vary with it).
struct Sized : SubjectRow {
  bool is_long;  // takes the long edges too
};
constexpr Sized kSized[] = {
    {FRL_OP_add, "row", "", "T[N] T[N]", true},
    {FRL_OP_mul, "bias", "", "T[3,N] T[N]", true},
    {FRL_OP_exp, "row", "", "T[N]", true},
    {FRL_OP_sub, "column", "", "T[N,3] T[N,1]", true},
    {FRL_OP_select, "row", "", "bool[N] T[N] T[N]", true},
    {FRL_OP_reduce, "add", "by=add axes=-1", "T[3,N]", true},
    {FRL_OP_reduce, "max", "by=max axes=-1", "T[3,N]", true},
    {FRL_OP_reduce, "columns", "by=add axes=-2", "T[5,N]", true},
    {FRL_OP_reduce, "over", "by=min axes=-2", "T[N,3]", true},
    {FRL_OP_arg_reduce, "max", "by=max", "T[3,N]", true},
    {FRL_OP_cumulative, "add", "by=add", "T[2,N]", true},
    {FRL_OP_topk, "one", "k=1", "T[2,N]", true},
    {FRL_OP_softmax, "last", "", "T[3,N]", true},
    {FRL_OP_softmax, "first", "axis=-2", "T[N,3]", true},
    {FRL_OP_log_softmax, "last", "", "T[3,N]", true},
    {FRL_OP_layer_norm, "last", "", "T[3,N] T[N] T[N]", true},
    {FRL_OP_rms_norm, "last", "", "T[3,N] T[N]", true},
    {FRL_OP_transpose, "tall", "order=-1,-2", "T[N,5]", true},
    {FRL_OP_transpose, "wide", "order=-1,-2", "T[9,N]", true},
    {FRL_OP_concat, "last", "axis=-1", "T[2,N] T[2,3]", true},
    {FRL_OP_gather, "rows", "axis=-2", "T[5,N] i64[3]:5", true},
    {FRL_OP_matmul, "m", "", "T[N,7] T[7,5]", true},
    {FRL_OP_matmul, "n", "", "T[5,7] T[7,N]", true},
    {FRL_OP_matmul, "k", "", "T[5,N] T[N,7]", true},
    {FRL_OP_matmul, "cube", "", "T[N,N] T[N,N]", false},
    {FRL_OP_matmul, "row", "", "T[1,N] T[N,N]", false},
    {FRL_OP_matmul_bias_act, "n", "activation=relu", "T[5,7] T[7,N] T[N]", true},
    {FRL_OP_matmul_bias_act, "k", "", "T[5,N] T[N,7] T[7]", true},
    {FRL_OP_conv, "channels", "pads=1,1", "T[1,N,5] T[3,N,3] T[3]", true},
    {FRL_OP_conv, "filters", "", "T[1,2,5] T[N,2,3] T[N]", true},
    {FRL_OP_conv, "length", "pads=1,1", "T[1,3,N] T[4,3,3] T[4]", true},
    {FRL_OP_conv, "width", "pads=1,1,1,1", "T[1,3,5,N] T[4,3,3,3] T[4]", false},
    {FRL_OP_conv, "depthwise", "groups=3 pads=1,1,1,1", "T[1,3,5,N] T[3,1,3,3] T[3]", false},
    {FRL_OP_conv_bias_act, "width", "pads=1,1,1,1 activation=relu", "T[1,3,5,N] T[4,3,3,3] T[4]",
     false},
    {FRL_OP_conv_transpose, "length", "strides=2", "T[1,3,N] T[3,2,3] T[2]", true},
    {FRL_OP_max_pool, "width", "kernel=3,3 strides=2,2 pads=1,1,1,1", "T[1,2,5,N]", true},
    {FRL_OP_avg_pool, "width", "kernel=2,3 pads=0,1,0,1", "T[1,2,5,N]", true},
    {FRL_OP_attention, "keys", "", "T[2,5,8] T[2,N,8] T[2,N,6]", true},
    {FRL_OP_attention, "queries", "mask=1", "T[1,N,4] T[1,N,4] T[1,N,4]", false},
    {FRL_OP_attention, "head", "", "T[2,3,N] T[2,5,N] T[2,5,N]", true},
    {FRL_OP_nonzero, "flat", "", "T[N]", true},
    {FRL_OP_cast, "row", "to=4", "T[N]", true},
};

}  // namespace

std::vector<Type> some_types(const Target& target, OpId op) {
  std::vector<Type> out;
  const auto wanted = target.depth == Depth::smoke
                          ? std::vector<Type>{Type::f32}
                          : std::vector<Type>{Type::f32, Type::f64, Type::f16, Type::bf16,
                                              Type::i8,  Type::i64, Type::u16, Type::boolean};
  for (Type type : types_of(op))
    if (std::find(wanted.begin(), wanted.end(), type) != wanted.end()) out.push_back(type);
  return out;
}

void list_sizes(const Target& target, std::vector<Case>& cases) {
  for (const Sized& row : kSized) {
    for (Type type : some_types(target, row.op)) {
      if (type == Type::boolean && row.op != FRL_OP_select && row.op != FRL_OP_transpose) continue;
      if (!target.wants(
              cat("H/", op_row(row.op).name, "/", type_name(type), "/", row.label, "/n_")))
        continue;
      std::vector<int64_t> sizes(std::begin(kEdges), std::end(kEdges));
      const bool all = type == Type::f32 || target.depth == Depth::deep;
      if (row.is_long && all)
        sizes.insert(sizes.end(), std::begin(kLongEdges), std::end(kLongEdges));
      if (!all) sizes = {1, 2, 7, 9, 16, 17, 31, 33, 64, 65, 129};
      if (!all && row.is_long) sizes.insert(sizes.end(), {257, 1021, 1025});
      if (target.depth == Depth::smoke) sizes = {17, 64};
      for (int64_t n : sizes)
        if (auto subject = subject_of(row, type, n); subject.ok() && graph_of(*subject, 1).ok())
          add_case(target, cases,
                   cat("H/", op_row(row.op).name, "/", type_name(type), "/", row.label, "/n_", n),
                   *subject, Style::data);
    }
  }
}

}  // namespace ferrule::conformance
