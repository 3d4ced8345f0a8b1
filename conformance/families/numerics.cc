// F: each claimed op and type against the reference, over its recipes and several kinds of data.
#include "conformance/cases/golden.h"
#include "conformance/suite/families.h"
#include "core/base/text.h"

namespace ferrule::conformance {
namespace {

// Scores of wide data leave the range of the exponential: nothing of them could be judged.
bool takes_wide_data(OpId op) {
  return op != FRL_OP_attention && op != FRL_OP_attention_block &&
         op != FRL_OP_attention_backward && op != FRL_OP_transformer_layer;
}

// Which data a subject gets beside its first: more at greater depth.
std::vector<Style> styles_at(Depth depth, OpId op, Type type, bool first) {
  if (depth == Depth::smoke) return {Style::data};
  std::vector<Style> out = {Style::data, Style::ramp};
  if (first || depth == Depth::deep) {
    if (takes_wide_data(op)) out.push_back(Style::wide);
    out.push_back(Style::one_hot);
    out.push_back(Style::alternating);
    if (is_float(type)) out.push_back(Style::negative_zero);
  }
  return out;
}

}  // namespace

void list_numerics(const Target& target, std::vector<Case>& cases) {
  const int rounds = target.depth == Depth::deep ? 4 : 1;
  for (const OpRow& row : op_rows()) {
    if (row.form == Form::control || row.form == Form::open) continue;
    for (Type type : types_of(row.id)) {
      if (!target.wants(cat("F/", row.name, "/", type_name(type), "/"))) continue;
      for (const Subject& subject : subjects_of(row.id, type)) {
        if (target.depth == Depth::smoke && !subject.is_smoke(type)) continue;
        for (Style style : styles_at(target.depth, row.id, type, subject.is_first))
          for (int round = 0; round < rounds; ++round)
            add_case(target, cases,
                     cat("F/", row.name, "/", type_name(type), "/", subject.label, "/",
                         style_name(style), round ? cat("_", round) : ""),
                     subject, style);
      }
    }
  }
  list_golden(target, cases);
}

}  // namespace ferrule::conformance
