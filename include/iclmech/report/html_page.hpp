#ifndef ICLMECH_REPORT_HTML_PAGE_HPP
#define ICLMECH_REPORT_HTML_PAGE_HPP
// One self-contained HTML page: headings, text, figures side by side, tables that sort. No network, light and
// dark.

#include <string>
#include <string_view>
#include <vector>

#include "iclmech/report/svg.hpp"

namespace iclmech {

/// Builds a page from top to bottom. Text is escaped; figures are SVG from report/svg.hpp.
class html_page {
 public:
  explicit html_page(std::string title) : title_(std::move(title)) {
    body_ = "<h1>" + svg::escape(title_) + "</h1>";
  }

  void heading(std::string_view text) { body_ += "<h2>" + svg::escape(text) + "</h2>"; }
  void subheading(std::string_view text) { body_ += "<h3>" + svg::escape(text) + "</h3>"; }
  void paragraph(std::string_view text) { body_ += "<p>" + svg::escape(text) + "</p>"; }

  /// The command that makes what stands above again.
  void command(std::string_view text) { body_ += "<pre>" + svg::escape(text) + "</pre>"; }

  /// Figures in a row that wraps on narrow screens.
  void begin_row() { body_ += "<div class=row>"; }
  void end_row() { body_ += "</div>"; }

  /// A figure with a caption; nothing if the figure is empty. `csv`, if given, becomes a link that saves it.
  void figure(std::string_view caption, const std::string& picture, std::string_view csv = {}) {
    if (picture.empty()) return;
    body_ += "<figure><figcaption>" + svg::escape(caption) + save_link(csv) + "</figcaption>" + picture +
             "</figure>";
  }

  /// A table; its columns sort when their heads are clicked.
  void table(std::string_view caption, const std::vector<std::string>& columns,
             const std::vector<std::vector<std::string>>& rows) {
    std::string csv;
    const auto line = [&csv](const std::vector<std::string>& cells) {
      for (std::size_t i = 0; i < cells.size(); ++i) csv += (i > 0 ? "," : "") + cells[i];
      csv += '\n';
    };
    line(columns);
    for (const auto& row : rows) line(row);
    body_ += "<figure><figcaption>" + svg::escape(caption) + save_link(csv) +
             "</figcaption><div class=wide><table><thead><tr>";
    for (const std::string& c : columns) body_ += "<th scope=col>" + svg::escape(c) + "</th>";
    body_ += "</tr></thead><tbody>";
    for (const auto& row : rows) {
      body_ += "<tr>";
      for (const std::string& cell : row) body_ += "<td>" + svg::escape(cell) + "</td>";
      body_ += "</tr>";
    }
    body_ += "</tbody></table></div></figure>";
  }

  /// The whole page.
  std::string html() const {
    return "<!doctype html><html lang=en><head><meta charset=utf-8><meta name=viewport "
           "content=\"width=device-width,"
           "initial-scale=1\"><title>" +
           svg::escape(title_) + "</title><style>" + std::string(style) + "</style></head><body><main>" +
           body_ + "</main><script>" + std::string(script) + "</script></body></html>\n";
  }

 private:
  static std::string save_link(std::string_view csv) {
    if (csv.empty()) return {};
    std::string encoded;
    for (const char c : csv) {
      char hex[4];
      std::snprintf(hex, sizeof hex, "%%%02X", static_cast<unsigned>(static_cast<unsigned char>(c)));
      const bool plain =
          (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
      encoded += plain ? std::string(1, c) : std::string(hex);
    }
    return " <a download=\"data.csv\" href=\"data:text/csv;charset=utf-8," + encoded + "\">CSV</a>";
  }

  static constexpr std::string_view style =
      ":root{color-scheme:light "
      "dark;--ink:#1c1c1a;--soft:#6b6b66;--paper:#fdfdfb;--line:#dcdcd4;--s0:#2a6fb0;--s1:#d98324;"
      "--s2:#3a9a6b;--s3:#a33b5e;--s4:#7a5bb5;--s5:#7d7d76}"
      "@media(prefers-color-scheme:dark){:root{--ink:#e8e8e2;--soft:#a0a09a;--paper:#181816;--line:#3a3a36;--"
      "s0:#6aaee8;--s1:#eaa65c;"
      "--s2:#6cc79a;--s3:#e07a9c;--s4:#b09be8;--s5:#a8a8a0}}"
      "body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}"
      "main{max-width:1100px;margin:0 "
      "auto;padding:1.2rem}h1{font-size:1.5rem}h2{font-size:1.2rem;margin-top:2.2rem;"
      "border-top:1px solid "
      "var(--line);padding-top:1rem}h3{font-size:1rem}.row{display:flex;flex-wrap:wrap;gap:1.2rem;align-"
      "items:flex-start}"
      "figure{margin:0 0 1rem;flex:1 1 "
      "260px;max-width:100%;min-width:0}figcaption{font-size:.9rem;color:var(--soft);margin-bottom:.3rem}"
      "svg{width:100%;height:auto;display:block}svg.bars,svg.curves{max-width:560px}svg "
      "text{font-size:10px;fill:var(--ink)}"
      ".grid{stroke:var(--line)}.scale{font-size:.8rem;color:var(--soft);margin:.2rem 0 0}.scale "
      "i{display:inline-block;width:90px;"
      "height:.7em;border-radius:2px;margin-right:.4em}pre{background:color-mix(in srgb,var(--ink) "
      "7%,transparent);padding:.5rem .7rem;"
      "border-radius:4px;overflow-x:auto;font-size:.85rem}.wide{overflow-x:auto}table{border-collapse:"
      "collapse;font-size:.9rem}"
      "th,td{padding:.2rem .7rem .2rem 0;text-align:left;border-bottom:1px solid "
      "var(--line);font-variant-numeric:tabular-nums}"
      "th{cursor:pointer}a{color:var(--s0)}polyline{fill:none;stroke-width:1.8}polygon{opacity:.15}"
      ".s0{fill:var(--s0)}.s1{fill:var(--s1)}.s2{fill:var(--s2)}.s3{fill:var(--s3)}.s4{fill:var(--s4)}.s5{"
      "fill:var(--s5)}"
      ".l0{stroke:var(--s0)}.l1{stroke:var(--s1)}.l2{stroke:var(--s2)}.l3{stroke:var(--s3)}.l4{stroke:var(--"
      "s4)}.l5{stroke:var(--s5)}"
      ".b0{fill:var(--s0)}.b1{fill:var(--s1)}.b2{fill:var(--s2)}.b3{fill:var(--s3)}.b4{fill:var(--s4)}.b5{"
      "fill:var(--s5)}"
      "@media print{main{max-width:none}figure,table{break-inside:avoid}a{display:none}}";

  static constexpr std::string_view script =
      "for(const t of document.querySelectorAll('table'))t.querySelectorAll('th').forEach((h,i)=>{let "
      "up=false;"
      "h.onclick=()=>{up=!up;const b=t.tBodies[0],v=r=>r.cells[i].textContent,n=r=>parseFloat(v(r));"
      "[...b.rows].sort((x,y)=>{const d=isNaN(n(x))||isNaN(n(y))?v(x).localeCompare(v(y)):n(x)-n(y);return "
      "up?d:-d})"
      ".forEach(r=>b.append(r))}});";

  std::string title_;
  std::string body_;
};

}  // namespace iclmech

#endif  // ICLMECH_REPORT_HTML_PAGE_HPP
