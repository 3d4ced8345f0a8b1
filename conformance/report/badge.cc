// badge.svg: the badge, or that there is none. No font, script or other file is needed.
#include "conformance/report/markup.h"
#include "conformance/report/reports.h"
#include "core/base/text.h"

namespace ferrule::conformance {
namespace {

constexpr const char* kLeft = "ferrule";
constexpr int kCharacter = 7, kMargin = 10;  // px; of 11 px Verdana, on the generous side

int width_of(const std::string& text) { return int(text.size()) * kCharacter + 2 * kMargin; }

std::string label(const std::string& text, int left, int width) {
  return cat("<text x=\"", left + width / 2, "\" y=\"14\" textLength=\"", width - 2 * kMargin,
             "\">", escaped(text), "</text>");
}

}  // namespace

std::string to_badge(const Report& report) {
  const std::string text = report.judgement.badge.empty() ? "no badge" : report.judgement.badge;
  const char* color = report.judgement.badge.empty() ? "#6b7280"
                      : report.judgement.fine        ? "#15803d"
                                                     : "#a16207";
  const int left = width_of(kLeft), right = width_of(text);
  const Facts& f = report.facts;
  return cat("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", left + right,
             "\" height=\"20\" role=\"img\" aria-label=\"", kLeft, ": ", escaped(text),
             "\">\n<title>",
             escaped(cat(f.plugin_id, " ", f.plugin_version, " on ", f.device, ": ", text)),
             "</title>\n<desc>",
             escaped(cat("plugin ", f.plugin_hash, " claims ", f.claims_hash, " must-pass ",
                         f.must_pass_hash, " suite ", f.suite_hash)),
             "</desc>\n<clipPath id=\"r\"><rect width=\"", left + right,
             "\" height=\"20\" rx=\"4\"/></clipPath>\n<g clip-path=\"url(#r)\"><rect width=\"",
             left, "\" height=\"20\" fill=\"#374151\"/><rect x=\"", left, "\" width=\"", right,
             "\" height=\"20\" fill=\"", color, "\"/></g>\n",
             "<g fill=\"#fff\" text-anchor=\"middle\" font-family=\"Verdana,DejaVu "
             "Sans,sans-serif\" font-size=\"11\">",
             label(kLeft, 0, left), label(text, left, right), "</g>\n</svg>\n");
}

}  // namespace ferrule::conformance
