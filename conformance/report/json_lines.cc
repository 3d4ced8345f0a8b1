// The only file of the suite that knows nlohmann::json.
#include "conformance/report/json_lines.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "conformance/report/sha256.h"
#include "core/base/text.h"

namespace ferrule::conformance {
namespace {

using Json = nlohmann::ordered_json;

// Calls field(key, member) for everything that crosses; one list for both ways.
template <class Fn>
void each(Record& r, Fn&& field) {
  field("text", r.text), field("output", r.output), field("after", r.after);
  field("judged", r.judged), field("worst", r.worst), field("seconds", r.seconds);
}
template <class Fn>
void each(Claimed& c, Fn&& field) {
  field("op", c.op), field("form", c.form), field("types", c.types);
}
template <class Fn>
void each(Facts& f, Fn&& field) {
  field("suite_version", f.suite_version), field("suite_hash", f.suite_hash);
  field("suite_parts", f.suite_parts);
  field("plugin_file", f.plugin_file), field("plugin_hash", f.plugin_hash);
  field("plugin_id", f.plugin_id), field("plugin_version", f.plugin_version);
  field("load_stage", f.load_stage), field("load_text", f.load_text), field("device", f.device);
  field("architecture", f.architecture), field("driver", f.driver);
  field("device_text", f.device_text), field("device_number", f.device_number);
  field("claims_hash", f.claims_hash), field("must_pass_hash", f.must_pass_hash);
  field("claims", f.claims), field("void_claims", f.void_claims), field("profile", f.profile);
  field("families", f.families), field("only", f.only), field("waiver_file", f.waiver_file);
  field("level", f.level), field("seed", f.seed), field("depth", f.depth);
  field("command", f.command), field("host", f.host), field("date", f.date);
}
template <class Fn>
void each(Judgement& j, Fn&& field) {
  field("fine", j.fine), field("badge", j.badge), field("level", j.level);
  field("profiles", j.profiles), field("reasons", j.reasons), field("counts", j.counts);
}
template <class Fn>
void each(Job& j, Fn&& field) {
  field("plugin", j.plugin), field("depth", j.depth), field("data_folder", j.data_folder);
  field("list", j.list), field("load", j.load), field("load_text", j.load_text);
  field("families", j.families), field("device", j.device), field("seed", j.seed);
  field("memory_limit_mib", j.memory_limit_mib), field("cases", j.cases);
}

template <class T>
Json to_json_value(const T& value) {
  if constexpr (requires(T & t) { each(t, [](const char*, auto&) {}); }) {
    Json out = Json::object();
    each(const_cast<T&>(value),
         [&](const char* key, auto& member) { out[key] = to_json_value(member); });
    return out;
  } else if constexpr (std::is_same_v<T, std::vector<Claimed>>) {
    Json out = Json::array();
    for (const Claimed& c : value) out.push_back(to_json_value(c));
    return out;
  } else {
    return value;
  }
}

template <class T>
void from_json_value(const Json& json, T& value) {
  if constexpr (requires(T & t) { each(t, [](const char*, auto&) {}); }) {
    each(value, [&](const char* key, auto& member) {
      if (const auto found = json.find(key); found != json.end()) from_json_value(*found, member);
    });
  } else if constexpr (std::is_same_v<T, std::vector<Claimed>>) {
    for (const Json& one : json) from_json_value(one, value.emplace_back());
  } else if constexpr (std::is_same_v<T, double>) {
    value = json.is_string() ? std::stod(json.get<std::string>()) : json.get<double>();
  } else {
    value = json.get<T>();
  }
}

// What a plugin or a file name says need not be UTF-8.
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

constexpr const char* kTexts[] = {"family", "case", "begin", "problem", "note", "done"};

Line read_line(std::string_view text) {
  const Json json = Json::parse(text);
  Line out;
  if (const auto end = json.find("end"); end != json.end()) {
    out.kind = "end", out.text = out.record.name = end->get<std::string>();
    out.record.verdict = parse_verdict(json.at("verdict").get<std::string>());
    from_json_value(json, out.record);
    return out;
  }
  const auto take = [&](const char* kind, auto& member) {
    if (const auto found = json.find(kind); found != json.end())
      out.kind = kind, from_json_value(*found, member);
  };
  take("facts", out.facts), take("judgement", out.judgement), take("job", out.job);
  for (const char* kind : kTexts) take(kind, out.text);
  return out;
}

void put(std::string& out, const std::string& line) { out += line, out += '\n'; }

}  // namespace

std::string line_of(const char* kind, const std::string& text) {
  return text_of(Json{{kind, text}});
}
std::string line_of(const Facts& facts) { return text_of(Json{{"facts", to_json_value(facts)}}); }
std::string line_of(const Job& job) { return text_of(Json{{"job", to_json_value(job)}}); }
std::string line_of(const Judgement& judgement) {
  return text_of(Json{{"judgement", to_json_value(judgement)}});
}

std::string line_of(const Record& record) {
  Json out{{"end", record.name}, {"verdict", verdict_name(record.verdict)}};
  each(const_cast<Record&>(record), [&](const char* key, auto& member) {
    using Member = std::remove_reference_t<decltype(member)>;
    if constexpr (std::is_same_v<Member, double>) {
      // JSON has no infinity; the text form reads back.
      out[key] = std::isfinite(member) ? Json(member) : Json(number_text(member));
    } else if (member != Member{}) {
      out[key] = member;
    }
  });
  return text_of(out);
}

Result<Line> parse_line(std::string_view text) {
  try {
    Line line = read_line(text);
    if (!line.kind.empty()) return line;
  } catch (const std::exception&) {
  }
  return Status(Code::invalid_argument,
                cat("want a whole record of the suite, got ", text.substr(0, 80)));
}

Result<Read> parse_report(std::string_view text) {
  Read out;
  size_t number = 0;
  std::map<std::string, Record> ended;
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    if (end == std::string_view::npos) end = text.size();
    auto line = parse_line(text.substr(at, end - at));
    ++number;
    if (!line.ok()) return std::move(line).within(cat("line ", number)).status();
    if (line->kind == "facts") out.report.facts = std::move(line->facts);
    if (line->kind == "case") out.report.listed.push_back(line->text);
    if (line->kind == "problem") out.report.problems.push_back(line->text);
    if (line->kind == "note") out.report.notes.push_back(line->text);
    if (line->kind == "judgement") out.report.judgement = std::move(line->judgement);
    if (line->kind == "end")
      out.ends.push_back(line->text), ended[line->text] = std::move(line->record);
    if (line->kind == "done") out.hash = line->text, out.head = text.substr(0, at);
    at = end + 1;
  }
  for (const std::string& name : out.report.listed)
    if (const auto found = ended.find(name); found != ended.end())
      out.report.records.push_back(found->second);
  return out;
}

std::string to_json_lines(const Report& report) {
  std::string out;
  put(out, line_of(report.facts));
  for (const std::string& name : report.listed) put(out, line_of("case", name));
  for (const Record& record : report.records) put(out, line_of(record));
  for (const std::string& problem : report.problems) put(out, line_of("problem", problem));
  for (const std::string& note : report.notes) put(out, line_of("note", note));
  put(out, line_of(report.judgement));
  put(out, line_of("done", sha256(out)));
  return out;
}

}  // namespace ferrule::conformance
