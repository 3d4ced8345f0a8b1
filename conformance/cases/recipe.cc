#include "conformance/cases/recipe.h"

#include <algorithm>

#include "core/base/text.h"

namespace ferrule::conformance {
namespace {

struct Row {
  OpId op;
  const char *label, *attributes, *operands;
};
constexpr Row kRows[] = {
#define RECIPE(op, label, attributes, operands) {FRL_OP_##op, #label, attributes, operands},
#include "conformance/cases/recipes.def"
#undef RECIPE
};

// Shapes of pointwise operands: what each form of broadcast needs.
struct PointwiseShapes {
  const char* label;
  size_t n_operands;
  Shape shapes[3];
};
const PointwiseShapes kPointwise[] = {
    {"row", 1, {{3, 37}}},
    {"scalar", 1, {Shape{}}},
    {"long", 1, {{4099}}},
    {"deep", 1, {{2, 3, 1, 5}}},
    {"same", 2, {{3, 37}, {3, 37}}},
    {"bias", 2, {{5, 33}, {33}}},
    {"column", 2, {{5, 33}, {5, 1}}},
    {"scalar_left", 2, {Shape{}, {3, 37}}},
    {"scalar_right", 2, {{3, 37}, Shape{}}},
    {"outer", 2, {{7, 1}, {1, 9}}},
    {"middle", 2, {{2, 5, 3}, {2, 1, 3}}},
    {"long", 2, {{4099}, {4099}}},
    {"same", 3, {{3, 37}, {3, 37}, {3, 37}}},
    {"mask_row", 3, {{37}, {3, 37}, {3, 37}}},
    {"mask_column", 3, {{3, 1}, {3, 37}, Shape{}}},
    {"scalars", 3, {Shape{}, {3, 37}, {37}}},
};

int64_t value_of(std::string_view text) {
  if (const auto number = parse_int(text)) return *number;
  const OpRow* row = find_op(text);
  return row ? row->id : INT64_MIN;
}

std::vector<double> numbers_of(std::string_view text) {
  std::vector<double> out;
  for (const std::string& part : split(text, ',')) out.push_back(parse_double(part).value_or(0));
  return out;
}

Status fill_of(std::string_view text, OperandSpec* out) {
  if (text.empty()) return {};
  const char mark = text[0];
  text.remove_prefix(1);
  if (mark == '=' || mark == '~') {
    out->fill = Fill::given, out->literal = mark == '=', out->values = numbers_of(text);
    return {};
  }
  if (text == "g" || text == "p") {
    out->fill = text == "g" ? Fill::unit : Fill::small;
    return {};
  }
  out->fill = text[0] == 'u' ? Fill::unique : text[0] == 'l' ? Fill::length : Fill::index;
  if (out->fill != Fill::index) text.remove_prefix(1);
  const auto limit = parse_int(text);
  if (mark != ':' || !limit) return Status(Code::internal, cat("recipe: want a fill, got ", text));
  out->limit = *limit;
  return {};
}

// Which operand of the op has the type under test: of select the branches.
Type operand_type(OpId op, size_t operand, Type type) {
  return op == FRL_OP_select && operand == 0 ? Type::boolean : type;
}

void add_pointwise(const OpRow& row, Type type, std::vector<Subject>* out) {
  for (const PointwiseShapes& shapes : kPointwise) {
    if (shapes.n_operands != row.min_operands) continue;
    Subject subject;
    subject.op = row.id, subject.label = shapes.label, subject.attributes = Attributes(row.id);
    subject.is_first = out->empty();
    for (size_t i = 0; i < shapes.n_operands; ++i)
      subject.operands.push_back({{operand_type(row.id, i, type), shapes.shapes[i]}});
    out->push_back(std::move(subject));
  }
}

// cast to every other type, over the shape of the first form.
void add_casts(Type from, std::vector<Subject>* out) {
  std::vector<Subject> forms;
  add_pointwise(op_row(FRL_OP_cast), from, &forms);
  for (int64_t to = FRL_F64; to <= FRL_BOOL; ++to) {
    Subject subject = forms[0];
    subject.label = cat("to_", type_name(Type(to)));
    subject.attributes.set_i(FRL_AT_cast_to, to);
    subject.is_first = to == FRL_F32;
    out->push_back(std::move(subject));
  }
}

}  // namespace

Result<Attributes> parse_attributes(OpId op, std::string_view text) {
  Attributes out(op);
  for (const std::string& item : split(text, ' ')) {
    if (item.empty()) continue;
    const size_t at = item.find('=');
    const auto rows = attribute_rows(op);
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const AttributeRow& r) {
      return item.substr(0, at) == r.name;
    });
    if (at == std::string::npos || row == rows.end())
      return Status(Code::internal, cat(op_row(op).name, ": want an attribute, got ", item));
    const std::string value = item.substr(at + 1);
    if (row->kind == AttributeKind::real) {
      out.set_f(row->slot, parse_double(value).value_or(0));
    } else if (row->kind == AttributeKind::integer) {
      out.set_i(row->slot, value_of(value));
    } else {
      std::vector<int64_t> list;
      for (const std::string& part : split(value, ','))
        if (!part.empty()) list.push_back(value_of(part));
      out.set_list(row->slot, std::move(list));
    }
  }
  return out;
}

Result<OperandSpec> parse_operand(std::string_view text, Type type) {
  OperandSpec out;
  if (text == "-") return out;
  const size_t open = text.find('['), close = text.find(']');
  if (open == std::string_view::npos || close == std::string_view::npos)
    return Status(Code::internal, cat("recipe: want type[shape], got ", text));
  out.type.type = text[0] == 'T' ? type : parse_type(text.substr(0, open));
  for (const std::string& extent : split(text.substr(open + 1, close - open - 1), ','))
    if (!extent.empty()) out.type.shape.push_back(parse_int(extent).value_or(0));
  FRL_TRY(fill_of(text.substr(close + 1), &out));
  return out;
}

Result<Subject> subject_of(const SubjectRow& row, Type type, int64_t n) {
  Subject subject;
  subject.op = row.op, subject.label = row.label;
  FRL_LET(subject.attributes, parse_attributes(row.op, row.attributes));
  for (std::string text : split(row.operands, ' ')) {
    for (size_t at; (at = text.find('N')) != std::string::npos;) text.replace(at, 1, cat(n));
    FRL_LET(OperandSpec operand, parse_operand(text, type));
    subject.operands.push_back(std::move(operand));
  }
  return subject;
}

Result<Graph> graph_of(const Subject& subject, uint64_t seed) {
  std::vector<Slot> slots;
  for (size_t i = 0; i < subject.operands.size(); ++i) {
    const OperandSpec& spec = subject.operands[i];
    Slot slot{spec.type, {}, spec.parameter};
    if (spec.literal) {
      slot.known = Tensor(spec.type);
      for (size_t k = 0; k < spec.values.size(); ++k)
        slot.known.set_f64(int64_t(k), spec.values[k]);
    } else if (spec.parameter) {
      slot.known = fill(spec.type, Style::data, seed + i);
    }
    slots.push_back(std::move(slot));
  }
  return one_node(subject.op, subject.attributes, slots);
}

std::vector<Subject> subjects_of(OpId op, Type type) {
  std::vector<Subject> all, out;
  const OpRow& row = op_row(op);
  if (op == FRL_OP_cast)
    add_casts(type, &all);
  else if (row.form == Form::pointwise)
    add_pointwise(row, type, &all);
  for (const Row& recipe : kRows) {
    if (recipe.op != op) continue;
    Subject subject;
    subject.op = op, subject.label = recipe.label, subject.is_first = all.empty();
    auto attributes = parse_attributes(op, recipe.attributes);
    if (!attributes.ok()) continue;
    subject.attributes = std::move(*attributes);
    bool fine = true;
    for (const std::string& text : split(recipe.operands, ' ')) {
      auto operand = parse_operand(text, type);
      fine &= operand.ok();
      if (operand.ok()) subject.operands.push_back(std::move(*operand));
    }
    if (fine) all.push_back(std::move(subject));
  }
  for (Subject& subject : all)
    if (graph_of(subject, 0).ok()) out.push_back(std::move(subject));
  return out;
}

Subject with_parameters(Subject subject) {
  for (size_t i = 1; i < subject.operands.size(); ++i)
    if (subject.operands[i].fill == Fill::style && subject.operands[i].type.type != Type::none)
      subject.operands[i].parameter = true;
  return subject;
}

std::vector<Type> types_of(OpId op) {
  std::vector<Type> out;
  for (int t = FRL_F64; t <= FRL_BOOL; ++t) {
    const uint64_t mask = op == FRL_OP_select ? ~uint64_t{0} : op_row(op).types;
    if (mask & FRL_BIT(t)) out.push_back(Type(t));
  }
  return out;
}

}  // namespace ferrule::conformance
