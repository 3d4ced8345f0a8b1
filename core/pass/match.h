// Patterns: little graphs that are matched upwards from their last node. The matcher itself
// enforces that every swallowed value is used inside the match only (outputs count), lies on the
// same device, and keeps its type.
#pragma once

#include <string>
#include <vector>

#include "core/pass/pass.h"

namespace ferrule {

// What a place of a pattern wants. A slot that occurs twice wants the same value twice.
struct Pattern {
  enum class What { any, literal, op, activation, one_of } what = What::any;
  OpId op = 0;
  double number = 0;        // literal: a splat of this number
  bool any_number = false;  // literal: a splat of some number, taken
  bool rounded = false;     // literal: the number as the literal's type and an author may round it
  uint32_t slot = 0;        // any, literal: where the match keeps the value; activation: the op
  uint32_t named = 0;       // op, activation: 1 + the slot that keeps its first result
  bool tee = false;         // its first result may be used elsewhere: it is a result of the region
  std::vector<Pattern> operands;
};

Pattern any(uint32_t slot);
Pattern lit(double number);
Pattern about(double number);   // written with seven digits or more, or as many as the type has
Pattern number(uint32_t slot);  // a literal splat, kept
Pattern pat(OpId op, std::vector<Pattern> operands);
// A pointwise op with one operand and default attributes, kept.
Pattern activation(uint32_t slot, Pattern operand);
// `pattern`, its result kept: any(slot) elsewhere is this value again.
Pattern as(uint32_t slot, Pattern pattern);
Pattern tee(uint32_t slot, Pattern pattern);
// The first of these that fits with all the rest.
Pattern one_of(std::vector<Pattern> patterns);
// The op around `pattern`, or `pattern` alone.
Pattern maybe(OpId op, Pattern pattern);

struct Match {
  Graph& graph;
  NodeId root = kNoNode;
  std::vector<ValueId> values;  // by slot
  std::vector<OpId> ops;        // by slot, of activations
  std::vector<NodeId> nodes;    // the pattern's nodes, root first
  std::vector<ValueId> tees;
  std::set<std::string>* read_parameters = nullptr;  // whose values rules looked at; may be null
  std::string leak;  // why what fits otherwise is no match: a value that is used elsewhere
  ValueId operator[](size_t slot) const { return values[slot]; }
  const Node& node(size_t i) const {
    return graph.node(nodes[i]);
  }  // in the order of the pattern, root first
  double number(size_t slot) const { return graph.literal(values[slot])->at_f64(0); }
  // The literal in this slot is about `number`.
  bool is_about(size_t slot, double number) const;
  // The value in this slot is known to be a splat of `number`. A parameter counts as read.
  bool is_splat_of(size_t slot, double number) const;
  bool has(size_t slot) const { return slot < values.size() && values[slot] != kNoValue; }
  const Node& maker(size_t slot) const {
    return *graph.maker(values[slot]);
  }  // void once one emits
  const Shape& shape(size_t slot) const { return graph.shape(values[slot]); }
};

// Commutative ops match both ways.
//   uses  of each value; null: it does not matter what else uses the values inside
bool match(Graph& graph, const std::vector<uint32_t>* uses, NodeId root, const Pattern& pattern,
           Match* out);

// One fusion: a pattern, what must hold beside it, and the region that it becomes.
struct FusionRow {
  Pattern pattern;
  std::string (*guard)(const Match&);    // empty: fits; else the reason. Null: nothing to ask
  Result<NodeId> (*emit)(const Match&);  // the region; its first result stands for the root's
  std::vector<uint32_t> tees;            // slots that further results of the region stand for
};

// Tries the rows, first to last, at every node, last node first. Rejections with a reason are
// reported.
Result<bool> fuse_rows(Graph& graph, PassContext& context, const char* pass,
                       std::span<const FusionRow> rows);

// A rule for any target: replaces the root by what `result` gives if the type is the same. No
// value, or an emission that a shape rule refuses: the rule does not fit.
struct Rule {
  Pattern pattern;
  Result<ValueId> (*result)(Match&);
};
// keeps: what is matched may be used elsewhere too.
enum class Inner { keeps, swallows };
//   read_parameters  gets the names of parameters whose values rules looked at
Result<bool> rewrite(Graph& graph, std::span<const Rule> rules, Inner inner = Inner::keeps,
                     std::set<std::string>* read_parameters = nullptr);
// Lists of rules one after the other, so that later ones see what earlier ones made.
Result<bool> rewrite_lists(Graph& graph, std::initializer_list<std::span<const Rule>> lists,
                           std::set<std::string>* read_parameters);
// The same as what a pass runs.
template <auto&... kLists>
Result<bool> rewrite_in_turn(Graph& graph, PassContext& context) {
  return rewrite_lists(graph, {kLists...}, context.read_parameters);
}

// What all these nodes come from.
std::vector<SourceId> merged_sources(const Graph& graph, std::span<const NodeId> nodes);

}  // namespace ferrule
