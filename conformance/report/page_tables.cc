#include "conformance/report/page_tables.h"

#include <algorithm>
#include <map>
#include <set>

#include "conformance/report/markup.h"
#include "core/base/text.h"

namespace ferrule::conformance {
namespace {

constexpr size_t kWorst = 40;

struct Cell {
  size_t n = 0, good = 0, bad = 0, warn = 0;
  void add(const Record& record, int level) {
    const std::string color = color_of(record, level);
    ++n, good += color == "good", bad += color == "bad", warn += color == "warn";
  }
  const char* color() const { return bad ? "bad" : warn ? "warn" : good ? "good" : "none"; }
  // What counts: "12", "3/12" where some are not good, "-" where nothing is claimed.
  std::string text() const {
    if (bad || warn) return cat(good, "/", good + bad + warn);
    return good ? std::to_string(good) : "\xE2\x80\x93";
  }
};

std::string td(const Cell* cell, const std::string& title, const std::string& find) {
  if (!cell) return "<td class=cell></td>";
  return cat("<td class=\"cell ", cell->color(), "\" data-find=\"", escaped(find), "\" title=\"",
             escaped(cat(title, ": ", cell->good, " good, ", cell->bad, " bad, ", cell->warn,
                         " excused, of ", cell->n)),
             "\">", cell->text(), "</td>");
}

using Cells = std::map<std::string, std::map<std::string, Cell>>;

std::string matrix(const char* corner, const Cells& cells, const std::vector<std::string>& columns,
                   const std::vector<std::string>& rows) {
  std::string out = cat("<div class=card><table class=matrix><thead><tr><th>", corner);
  for (const std::string& column : columns) out += cat("<th>", escaped(column));
  out += "</thead><tbody>";
  for (const std::string& row : rows) {
    out += cat("<tr><td><code>", escaped(row), "</code></td>");
    const auto found = cells.find(row);
    for (const std::string& column : columns) {
      const Cell* cell = nullptr;
      if (found != cells.end())
        if (const auto at = found->second.find(column); at != found->second.end())
          cell = &at->second;
      out += td(cell, cat(row, " ", column),
                cat("/", row, column.size() > 1 ? cat("/", column) : std::string()));
    }
    out += "</tr>";
  }
  return out + "</tbody></table></div>";
}

bool is_kind(const Facts& facts, const std::string& name) {
  if (const OpRow* op = find_op(name)) return op->form == Form::open || op->form == Form::closed;
  return std::any_of(facts.claims.begin(), facts.claims.end(),
                     [&](const Claimed& c) { return c.op == name; });
}

}  // namespace

int level_of(const Record& record, std::span<const Family> families) {
  for (const Family& family : families)
    if (!record.name.empty() && family.id == record.name[0]) return family.level;
  return 0;
}

const char* color_of(const Record& record, int level) {
  if (record.verdict == Verdict::not_claimed) return "none";
  if (!allowed(record.verdict, level)) return record.verdict == Verdict::xfail ? "warn" : "bad";
  return record.verdict == Verdict::pass ? "good" : "warn";
}

std::string pill(const Record& record, int level) {
  return cat("<span class=\"pill ", color_of(record, level), "\">", verdict_name(record.verdict),
             "</span>");
}

std::string family_table(const Report& report, std::span<const Family> families) {
  std::string out =
      "<div class=card><table><thead><tr><th>family<th>level<th>what it judges<th "
      "class=n>cases<th>verdicts<th class=n>bad<th class=n>not claimed<th class=n>judged<th "
      "class=n>time, s</thead><tbody>";
  for (const Family& family : families) {
    Cell cell;
    uint64_t judged = 0;
    double seconds = 0;
    for (const Record& record : report.records)
      if (!record.name.empty() && record.name[0] == family.id)
        cell.add(record, family.level), judged += record.judged, seconds += record.seconds;
    if (cell.n == 0) continue;
    const auto part = [&](const char* color, size_t n) {
      return n ? cat("<i class=", color,
                     " style=\"width:", fixed(100.0 * double(n) / double(cell.n), 2), "%\"></i>")
               : std::string();
    };
    out +=
        cat("<tr><td><b>", std::string(1, family.id), "</b> ", family.name, "<td>L", family.level,
            "<td class=soft>", escaped(family.doc), "<td class=n>", cell.n, "<td><div class=bar>",
            part("g", cell.good), part("w", cell.warn), part("b", cell.bad), "</div><td class=n>",
            cell.bad, "<td class=n>", cell.n - cell.good - cell.bad - cell.warn, "<td class=n>",
            judged, "<td class=n>", fixed(seconds, 1), "</tr>");
  }
  return out + "</tbody></table></div>";
}

std::string op_matrix(const Report& report, std::span<const Family> families) {
  Cells cells;
  std::set<std::string> types;
  for (const Record& record : report.records) {
    const std::string subject = subject_of(record.name), type = type_of(record.name);
    if (type.empty() || !find_op(subject) || is_kind(report.facts, subject)) continue;
    cells[subject][type].add(record, level_of(record, families));
    types.insert(type);
  }
  std::vector<std::string> rows, columns;
  for (const OpRow& op : op_rows())
    if (cells.count(op.name)) rows.push_back(op.name);
  for (uint8_t t = FRL_F64; t <= FRL_BOOL; ++t)
    if (types.count(std::string(type_name(Type(t))))) columns.emplace_back(type_name(Type(t)));
  return rows.empty() ? "<p class=soft>No case is about an op and a type.</p>"
                      : matrix("op", cells, columns, rows);
}

std::string kind_matrix(const Report& report, std::span<const Family> families) {
  Cells cells;
  std::vector<std::string> rows, columns;
  for (const Record& record : report.records) {
    const std::string subject = subject_of(record.name);
    if (!is_kind(report.facts, subject) ||
        (find_op(subject) && find_op(subject)->form != Form::open &&
         find_op(subject)->form != Form::closed))
      continue;
    if (!cells.count(subject)) rows.push_back(subject);
    cells[subject][record.name.substr(0, 1)].add(record, level_of(record, families));
  }
  for (const Family& family : families)
    for (const auto& [kind, row] : cells)
      if (row.count(std::string(1, family.id))) {
        columns.emplace_back(1, family.id);
        break;
      }
  std::sort(rows.begin(), rows.end());
  return rows.empty() ? "<p class=soft>No case is about a region kind.</p>"
                      : matrix("kind", cells, columns, rows);
}

std::string worst_table(const Report& report) {
  std::vector<const Record*> worst;
  for (const Record& record : report.records)
    if (record.worst > 0) worst.push_back(&record);
  std::stable_sort(worst.begin(), worst.end(),
                   [](const Record* a, const Record* b) { return a->worst > b->worst; });
  if (worst.size() > kWorst) worst.resize(kWorst);
  if (worst.empty()) return "<p class=soft>No case measured an error.</p>";
  std::string out =
      "<div class=card><table><thead><tr><th>case<th class=n>error over bound<th "
      "style=\"width:30%\"><th class=n>judged</thead><tbody>";
  for (const Record* record : worst) {
    const double share = std::min(1.0, record->worst);
    out += cat("<tr><td><code>", escaped(record->name), "</code><td class=n>",
               worst_text(record->worst), "<td><div class=bar><i class=",
               record->worst > 1 ? "b"
               : share > 0.8     ? "w"
                                 : "g",
               " style=\"width:", fixed(share * 100, 1), "%\"></i></div><td class=n>",
               record->judged, "</tr>");
  }
  return out + "</tbody></table></div>";
}

std::string case_table(const Report& report, std::span<const Family> families) {
  std::set<std::string> verdicts;
  for (const Record& record : report.records) verdicts.insert(verdict_name(record.verdict));
  std::string out =
      "<div class=filter><input id=words type=search placeholder=\"Filter: words of a name or a "
      "reason\" aria-label=\"Filter\"><select id=verdict aria-label=\"Verdict\"><option "
      "value=\"\">every verdict";
  for (const std::string& verdict : verdicts) out += cat("<option>", verdict);
  out +=
      "</select><span id=shown class=soft></span></div><div class=card><table "
      "id=cases><thead><tr><th>case<th>verdict<th>what it says<th class=n>judged<th class=n>time, "
      "ms</thead><tbody>";
  for (const Record& record : report.records)
    out += cat("<tr data-v=", verdict_name(record.verdict), "><td><code>", escaped(record.name),
               "</code><td>", pill(record, level_of(record, families)), "<td>",
               escaped(record.text), "<td class=n>", record.judged, "<td class=n>",
               fixed(record.seconds * 1000, 1), "</tr>");
  return out + "</tbody></table></div>";
}

}  // namespace ferrule::conformance
