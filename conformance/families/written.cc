// Regions whose bodies are written out: batches of slices and transforms.
#include "conformance/cases/check.h"
#include "conformance/families/written.h"
#include "core/base/text.h"

namespace ferrule::conformance {
namespace {

struct Written {
  const char *kind, *name, *text;  // T stands for the element type
};

constexpr Written kWritten[] = {
    {"batch", "rows_of_a_sum", R"(graph "g"
  %x = input T[6,5] "x"
  %b = input T[5] "b"
  %y = batch %x, %b {axes=[-2,0,-2], slices=3}
  body
    %a = input T[2,5] "a"
    %c = input T[5] "c"
    %r = add %a, %c
    return %r "r"
  return %y "y"
)"},
    {"batch", "columns_of_products", R"(graph "g"
  %x = input T[4,12] "x"
  %w = input T[3,5] "w"
  %y = batch %x, %w {axes=[-1,0,-2], slices=4}
  body
    %a = input T[4,3] "a"
    %c = input T[3,5] "c"
    %r = matmul %a, %c
    return %r "r"
  return %y "y"
)"},
    {"batch", "rows_of_products_with_a_weight", R"(graph "g"
  %x = input T[6,3] "x"
  %w = parameter T[3,5] "w" = random 1
  %y = batch %x, %w {axes=[-2,0,-2], slices=2}
  body
    %a = input T[3,3] "a"
    %c = input T[3,5] "c"
    %r = matmul %a, %c
    return %r "r"
  return %y "y"
)"},
    {"subgraph", "product_with_a_weight", R"(graph "g"
  %x = input T[6,3] "x"
  %w = parameter T[3,5] "w" = random 1
  %y = subgraph %x, %w
  body
    %a = input T[6,3] "a"
    %c = input T[3,5] "c"
    %p = matmul %a, %c
    %r = relu %p
    return %r "r"
  return %y "y"
)"},
    {"batch", "middle_axis_two_results", R"(graph "g"
  %x = input T[3,8,2] "x"
  %y, %z = batch %x {axes=[-2,-2,-1], slices=2}
  body
    %a = input T[3,4,2] "a"
    %m = neg %a
    %s = reduce %m {by=add, axes=[-1], keep=1}
    return %m "m", %s "s"
  return %y "y", %z "z"
)"},
    {"batch", "one_slice", R"(graph "g"
  %x = input T[2,3] "x"
  %y = batch %x {axes=[-1,-1], slices=1}
  body
    %a = input T[2,3] "a"
    %r = neg %a
    return %r "r"
  return %y "y"
)"},
    {"transform", "crop_and_flip", R"(graph "g"
  %x = input T[1,2,6,8] "x"
  %y = transform %x
  body
    %a = input T[1,2,6,8] "a"
    %c = slice %a {starts=[0,0,1,7], sizes=[1,2,4,8], steps=[1,1,1,-1]}
    %r = transpose %c {order=[-4,-1,-2,-3]}
    return %r "r"
  return %y "y"
)"},
    {"transform", "sample_by_grid", R"(graph "g"
  %x = input T[1,2,5,6] "x"
  %g = input T[1,3,4,2] "g"
  %y = transform %x, %g
  body
    %a = input T[1,2,5,6] "a"
    %b = input T[1,3,4,2] "b"
    %s = grid_sample %a, %b {padding=1}
    %r = slice %s {starts=[0,0,1,0], sizes=[1,2,2,4]}
    return %r "r"
  return %y "y"
)"},
};

}  // namespace

void list_written(const Target& target, std::vector<Case>& cases, const CaseBody& run) {
  for (const Written& row : kWritten)
    for (Type type : {Type::f32, Type::f64, Type::f16, Type::bf16}) {
      std::string text = row.text;
      const std::string name = std::string(type_name(type)) + "[";
      for (size_t at = 0; (at = text.find(" T[", at)) != std::string::npos; at += name.size())
        text.replace(at + 1, 2, name);
      add_case(target, cases, cat("G/", row.kind, "/", type_name(type), "/", row.name),
               parse_graph(text), run);
    }
}

}  // namespace ferrule::conformance
