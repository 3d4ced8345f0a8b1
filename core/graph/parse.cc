// The text form, reading side. Hostile-safe: sizes, depth and counts are bounded by the text.
#include <map>

#include "core/base/text.h"
#include "core/graph/graph.h"
#include "core/graph/text_form.h"

namespace ferrule {
namespace {

constexpr int kMostNested = 16;
constexpr int64_t kMostElements = 1 << 24;

// One line as words; punctuation stands alone, a quoted text keeps its quote as first character.
std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  for (size_t i = 0; i < line.size();) {
    const char c = line[i];
    if (c == ' ' || c == '\t' || c == '\r') {
      ++i;
    } else if (c == '#') {
      break;
    } else if (c == '"') {
      std::string word = "\"";
      for (++i; i < line.size() && line[i] != '"'; ++i) {
        if (line[i] == '\\' && i + 1 < line.size()) ++i;
        word += line[i];
      }
      ++i;
      words.push_back(std::move(word));
    } else if (std::string_view("=,{}[]()").find(c) != std::string_view::npos) {
      words.emplace_back(1, c);
      ++i;
    } else {
      const size_t end = std::min(line.find_first_of(" \t\r#\"=,{}[]()", i), line.size());
      words.emplace_back(line.substr(i, end - i));
      i = end;
    }
  }
  return words;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : lines_(split(text, '\n')) {}

  Result<Graph> run() {
    if (!next_line() || take() != "graph") return wrong("want 'graph NAME' on the first line");
    Graph graph(text_word());
    FRL_TRY(body(graph, 0));
    if (next_line()) return wrong("want nothing after the last return");
    return graph;
  }

 private:
  using Names = std::map<std::string, ValueId, std::less<>>;

  Status wrong(std::string text) const {
    return Status(Code::invalid_argument, cat("line ", line_, ": ", text));
  }
  bool next_line() {
    while (line_ < lines_.size()) {
      words_ = words_of(lines_[line_++]);
      at_ = 0;
      if (!words_.empty()) return true;
    }
    return false;
  }
  bool done() const { return at_ >= words_.size(); }
  std::string peek() const { return done() ? std::string() : words_[at_]; }
  std::string take() { return done() ? std::string() : words_[at_++]; }
  bool accept(std::string_view word) { return peek() == word && !done() ? ++at_, true : false; }
  std::string text_word() {
    std::string word = take();
    return !word.empty() && word[0] == '"' ? word.substr(1) : word;
  }

  Status body(Graph& graph, int depth) {
    if (depth > kMostNested) return wrong(cat("want at most ", kMostNested, " nested bodies"));
    Names names;
    while (next_line()) {
      if (accept("return")) return outputs(graph, names);
      FRL_TRY(statement(graph, names, depth));
    }
    return wrong("want 'return' at the end of the body");
  }

  Status statement(Graph& graph, Names& names, int depth) {
    std::vector<std::string> results;
    do {
      const std::string name = take();
      if (name.size() < 2 || name[0] != '%')
        return wrong(cat("want a value like %x, got '", name, "'"));
      if (names.count(name)) return wrong(cat("want each value once, got ", name, " again"));
      results.push_back(name);
    } while (accept(","));
    if (!accept("=")) return wrong(cat("want '=', got '", peek(), "'"));
    const std::string word = take();
    if (word == "input" || word == "state" || word == "parameter" || word == "literal")
      return leaf(graph, names, results, word);
    return node(graph, names, results, word, depth);
  }

  Result<int64_t> integer() {
    const std::string word = take();
    if (const auto value = parse_int(word)) return *value;
    return wrong(cat("want an integer, got '", word, "'"));
  }

  Result<TensorType> type() {
    const std::string word = take();
    const Type element = parse_type(word);
    if (element == Type::none) return wrong(cat("want an element type, got '", word, "'"));
    if (!accept("[")) return wrong(cat("want '[', got '", peek(), "'"));
    std::vector<int64_t> extents;
    while (!accept("]")) {
      if (!extents.empty() && !accept(","))
        return wrong(cat("want ',' or ']', got '", peek(), "'"));
      FRL_LET(const int64_t extent, integer());
      extents.push_back(extent);
    }
    auto shape = Shape::checked(extents);
    if (!shape.ok()) return wrong(shape.status().message());
    return TensorType{element, *shape};
  }

  // "= 1 2 3" (one number: a splat), "= random SEED" (uniform in -1 .. 1).
  Result<Tensor> elements(const TensorType& type) {
    if (!accept("=")) return wrong(cat("want '=' and elements, got '", peek(), "'"));
    if (type.shape.n_elements() > kMostElements)
      return wrong(cat("want at most ", kMostElements, " elements"));
    Tensor out(type);
    const int64_t n = type.shape.n_elements();
    if (accept("random")) {
      FRL_LET(const int64_t seed, integer());
      uint64_t state = uint64_t(seed) * 2 + 1;
      for (int64_t i = 0; i < n; ++i) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;  // Knuth's MMIX constants
        out.set_f64(i, double(state >> 40) / double(1 << 23) - 1);
      }
      return out;
    }
    std::vector<double> numbers;
    std::vector<int64_t> integers;
    while (!done()) {
      const std::string word = take();
      const auto whole = parse_int(word);
      const auto real = parse_double(word);
      if (!real && !whole) return wrong(cat("want a number, got '", word, "'"));
      numbers.push_back(real ? *real : double(*whole));
      integers.push_back(whole ? *whole : 0);
    }
    if (int64_t(numbers.size()) != n && numbers.size() != 1)
      return wrong(cat("want ", n, " elements or one, got ", numbers.size()));
    for (int64_t i = 0; i < n; ++i) {
      const size_t from = numbers.size() == 1 ? 0 : size_t(i);
      if (type.type == Type::i64)
        out.mutable_as<int64_t>()[size_t(i)] = integers[from];
      else
        out.set_f64(i, numbers[from]);
    }
    return out;
  }

  Status leaf(Graph& graph, Names& names, const std::vector<std::string>& results,
              const std::string& word) {
    if (results.size() != 1) return wrong("want one name for a leaf");
    FRL_LET(const TensorType leaf_type, type());
    std::string name = results[0].substr(1);
    if (!done() && peek()[0] == '"') name = text_word();
    if (word == "input") {
      names[results[0]] = graph.add_input(leaf_type, name);
    } else if (word == "state") {
      names[results[0]] = graph.add_state(leaf_type, name);
    } else {
      FRL_LET(Tensor known, elements(leaf_type));
      names[results[0]] = word == "literal" ? graph.add_literal(std::move(known))
                                            : graph.add_parameter(std::move(known), name);
    }
    return done() ? Status() : wrong(cat("want the end of the line, got '", peek(), "'"));
  }

  Result<ValueId> value(const Names& names) {
    const std::string word = take();
    if (word == "none") return kNoValue;
    const auto found = names.find(word);
    if (found == names.end()) return wrong(cat("want a value made above, got '", word, "'"));
    return found->second;
  }

  Result<int64_t> attribute_integer(const AttributeRow& row) {
    const TextMeaning meaning = text_meaning(row);
    if (meaning == TextMeaning::type && parse_type(peek()) != Type::none)
      return int64_t(parse_type(take()));
    if (meaning == TextMeaning::op && find_op(peek())) return int64_t(find_op(take())->id);
    return integer();
  }

  Status attribute(const AttributeRow& row, Attribute& slot) {
    if (row.kind == AttributeKind::text) {
      slot.text = text_word();
    } else if (row.kind == AttributeKind::real) {
      const std::string word = take();
      const auto number = parse_double(word);
      if (!number) return wrong(cat(row.name, ": want a number, got '", word, "'"));
      slot.f = *number;
    } else if (row.kind == AttributeKind::integer) {
      FRL_LET(slot.i, attribute_integer(row));
    } else {
      if (!accept("[")) return wrong(cat(row.name, ": want '[', got '", peek(), "'"));
      while (!accept("]")) {
        if (!slot.list.empty() && !accept(","))
          return wrong(cat("want ',' or ']', got '", peek(), "'"));
        FRL_LET(const int64_t item, attribute_integer(row));
        slot.list.push_back(item);
      }
    }
    return {};
  }

  Result<Attributes> attributes(OpId op) {
    Attributes out(op);
    if (!accept("{")) return out;
    do {
      const std::string name = take();
      const AttributeRow* found = nullptr;
      for (const AttributeRow& row : attribute_rows(op))
        if (row.name == name) found = &row;
      if (!found) return wrong(cat("want an attribute of ", op_row(op).name, ", got '", name, "'"));
      if (!accept("=")) return wrong(cat("want '=', got '", peek(), "'"));
      FRL_TRY(attribute(*found, out.slot(found->slot)));
    } while (accept(","));
    if (!accept("}")) return wrong(cat("want '}', got '", peek(), "'"));
    return out;
  }

  Status node(Graph& graph, Names& names, const std::vector<std::string>& results,
              const std::string& word, int depth) {
    const OpRow* row = find_op(word);
    if (!row) return wrong(cat("want an op, got '", word, "'"));
    std::vector<ValueId> operands;
    while (!done() && peek() != "{") {
      if (!operands.empty() && !accept(",")) return wrong(cat("want ',', got '", peek(), "'"));
      FRL_LET(const ValueId operand, value(names));
      operands.push_back(operand);
    }
    FRL_LET(Attributes found, attributes(row->id));
    if (!done()) return wrong(cat("want the end of the line, got '", peek(), "'"));
    const size_t line = line_;
    std::vector<Body> bodies;
    for (uint32_t i = 0; i < row->n_bodies; ++i) {
      if (!next_line() || !accept("body")) return wrong("want 'body'");
      Graph inner(row->name);
      FRL_TRY(this->body(inner, depth + 1));
      bodies.push_back(std::make_shared<const Graph>(std::move(inner)));
    }
    auto id = graph.emit_node(row->id, std::move(found), std::move(operands), std::move(bodies));
    if (!id.ok()) return line_ = line, wrong(id.status().message());
    const auto& made = graph.node(*id).results;
    if (made.size() != results.size())
      return wrong(cat("want ", made.size(), " results, got ", results.size()));
    for (size_t i = 0; i < made.size(); ++i) names[results[i]] = made[i];
    return {};
  }

  Status outputs(Graph& graph, const Names& names) {
    while (!done()) {
      if (!graph.outputs().empty() && !accept(","))
        return wrong(cat("want ',', got '", peek(), "'"));
      const std::string word = peek();
      FRL_LET(const ValueId id, value(names));
      if (id == kNoValue) return wrong("want a value to return, got none");
      std::string name = word.substr(1);
      if (!done() && peek()[0] == '"') name = text_word();
      graph.add_output(id, name, accept("droppable"));
      if (!accept("updates")) continue;
      FRL_LET(const ValueId leaf, value(names));
      if (leaf == kNoValue || graph.value(leaf).role != Role::state)
        return wrong("updates: want a state");
      graph.add_state_pair({leaf, graph.outputs().size() - 1});
    }
    return {};
  }

  std::vector<std::string> lines_;
  size_t line_ = 0;
  std::vector<std::string> words_;
  size_t at_ = 0;
};

}  // namespace

Result<Graph> parse_graph(std::string_view text) { return Parser(text).run(); }

}  // namespace ferrule
