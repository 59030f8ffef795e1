#ifndef ICLMECH_REPORT_HTML_PAGE_HPP
#define ICLMECH_REPORT_HTML_PAGE_HPP
// One self-contained HTML page: headings, text, figures of several subjects side by side, tables that sort.
// No network, light and dark, for screens of any width and for paper.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "iclmech/report/csv_field.hpp"
#include "iclmech/report/svg.hpp"

namespace iclmech {

/// Builds a page from top to bottom. Text is escaped; figures are SVG from report/svg.hpp.
class html_page {
 public:
  explicit html_page(std::string title) : title_(std::move(title)) {}

  /// A heading, which the list of contents names too. It shows when something follows it.
  void heading(std::string_view text) { heading_ = text; }
  void paragraph(std::string_view text) {
    place(text, "<p>" + subject() + percent_kept(svg::escape(text)) + "</p>");
  }

  /// A command to run.
  void command(std::string_view text) { add("<pre>" + svg::escape(text) + "</pre>"); }

  /// Several subjects, a column each: what has the same caption stands in one line. The only subject's
  /// figures, and all on narrow screens, follow each other.
  /// `title` says whose figures follow; it goes before captions and text.
  void begin_column(std::string title) { columns_.push_back(std::move(title)); }
  void end_columns() {
    std::string content;
    for (aligned_line& l : lines_) {
      l.cells.resize(columns_.size());
      for (const std::string& cell : l.cells)
        content += columns_.size() > 1 ? "<div>" + cell + "</div>" : cell;
    }
    const std::string layout = columns_.size() > 1
                                   ? fmt::format("<div class=columns style=\"--n:{}\">", columns_.size())
                                   : "<div class=row>";
    columns_.clear();
    lines_.clear();
    if (!content.empty()) add(layout + content + "</div>");
  }

  /// A figure with a caption; nothing if the figure is empty. `csv` becomes a link that saves it, `command`
  /// can be unfolded; either may be empty.
  void figure(std::string_view caption, const std::string& picture, std::string_view csv = {},
              std::string_view command = {}) {
    if (picture.empty()) return;
    place(caption, fmt::format("<figure><figcaption>{}{}</figcaption>{}{}</figure>", subject(),
                               svg::escape(caption), picture, links(csv, command)));
  }

  /// A table; its columns sort when their heads are pressed. Nothing without rows.
  void table(std::string_view caption, const std::vector<std::string>& columns,
             const std::vector<std::vector<std::string>>& rows, std::string_view command = {}) {
    if (rows.empty()) return;
    std::string csv, cells = "<div class=wide><table><thead><tr>";
    const auto line = [&csv](const std::vector<std::string>& values) {
      for (std::size_t i = 0; i < values.size(); ++i) csv += (i > 0 ? "," : "") + csv_field(values[i]);
      csv += '\n';
    };
    line(columns);
    for (const std::string& c : columns)
      cells += fmt::format("<th scope=col><button>{}</button></th>", svg::escape(c));
    cells += "</tr></thead><tbody>";
    for (const auto& row : rows) {
      line(row);
      cells += "<tr>";
      for (const std::string& cell : row) cells += "<td>" + svg::escape(cell) + "</td>";
      cells += "</tr>";
    }
    figure(caption, cells + "</tbody></table></div>", csv, command);
  }

  /// The whole page.
  std::string html() const {
    return fmt::format(
        "<!doctype html><html lang=en><head><meta charset=utf-8><meta name=viewport "
        "content=\"width=device-width,initial-scale=1\"><title>{0}</title><style>{1}</style></"
        "head><body><main>"
        "<h1>{0}</h1><nav>{2}</nav>{3}</main><p id=tip hidden></p><script>{4}</script></body></html>\n",
        svg::escape(title_), style, contents_, body_, script);
  }

 private:
  /// What stands side by side in all columns.
  struct aligned_line {
    std::string caption;
    std::vector<std::string> cells;  ///< one per column, up to the last that has something
  };

  std::string subject() const { return columns_.empty() ? "" : svg::escape(columns_.back()) + ": "; }

  void place(std::string_view caption, const std::string& content) {
    if (columns_.empty()) return add(content);
    auto here = std::find_if(lines_.begin(), lines_.end(),
                             [&](const aligned_line& l) { return l.caption == caption; });
    if (here == lines_.end()) here = lines_.insert(here, {std::string(caption), {}});
    here->cells.resize(columns_.size());
    here->cells.back() += content;
  }

  void add(const std::string& content) {
    if (!heading_.empty()) {
      contents_ += fmt::format("<a href=\"#h{}\">{}</a>", headings_, svg::escape(heading_));
      body_ += fmt::format("<h2 id=h{}>{}</h2>", headings_++, svg::escape(heading_));
      heading_.clear();
    }
    body_ += content;
  }

  /// Keeps a number and its percent sign on one line.
  static std::string percent_kept(std::string text) {
    for (std::size_t at = 0; (at = text.find(" %", at)) != std::string::npos;) text.replace(at, 1, "&nbsp;");
    return text;
  }

  static std::string links(std::string_view csv, std::string_view command) {
    std::string out;
    if (!command.empty())
      out += fmt::format("<details><summary>command</summary><pre>{}</pre></details>", svg::escape(command));
    if (csv.empty()) return out;
    out += "<a download=data.csv href=\"data:text/csv;charset=utf-8,";
    for (const char c : csv) {
      const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                         c == '.' || c == '-' || c == ',';
      out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return out + "\">CSV</a>";
  }

  static constexpr std::string_view style = R"(
:root{color-scheme:light dark;--ink:#1c1c1a;--soft:#63635e;--paper:#fdfdfb;--line:#dcdcd4;
--s0:#2a6fb0;--s1:#c9701a;--s2:#2f8a5c;--s3:#a33b5e;--s4:#7a5bb5;--s5:#75756e}
@media(prefers-color-scheme:dark){:root{--ink:#e8e8e2;--soft:#a5a59e;--paper:#181816;--line:#3a3a36;
--s0:#6aaee8;--s1:#eaa65c;--s2:#6cc79a;--s3:#e07a9c;--s4:#b09be8;--s5:#a8a8a0}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{max-width:1180px;margin:0 auto;padding:1rem}
h1{font-size:1.5rem;margin:.5rem 0}
h2{font-size:1.2rem;margin-top:2.4rem;border-top:1px solid var(--line);padding-top:1rem}
p{max-width:75ch}
nav{display:flex;flex-wrap:wrap;gap:.3rem 1rem;font-size:.9rem;margin:.6rem 0 1rem}
.row{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,330px),1fr));gap:1.4rem;align-items:start}
main:has(.columns){max-width:1700px}
.columns{display:grid;grid-template-columns:repeat(var(--n),minmax(280px,1fr));gap:0 1.4rem;align-items:start;
overflow-x:auto}
.columns>div{min-width:0}
@media(max-width:640px){.columns{display:block}}
figure{margin:0 0 1.2rem;min-width:0}
figure:has(table){grid-column:1/-1}
figcaption{font-size:.9rem;font-weight:600;margin-bottom:.3rem}
svg{width:100%;height:auto;display:block}
svg.bars,svg.curves{max-width:440px}
svg text{font-size:11px;fill:var(--ink)}
.grid{stroke:var(--line)}
.scale,figure>a,details{font-size:.8rem;color:var(--soft);margin:.2rem .9rem 0 0}
details,figure>a{display:inline-block;vertical-align:top}
details[open]{display:block}
summary{cursor:pointer}
.scale i{display:inline-block;width:90px;height:.7em;border-radius:2px;margin-right:.4em}
pre{background:color-mix(in srgb,var(--ink) 7%,transparent);padding:.5rem .7rem;border-radius:4px;
overflow-x:auto;font-size:.8rem;white-space:pre-wrap;overflow-wrap:anywhere}
.wide{overflow-x:auto;max-height:26rem}
table{width:max-content;border-collapse:collapse;font-size:.88rem}
th,td{padding:.2rem .9rem .2rem 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--line);
font-variant-numeric:tabular-nums}
th{white-space:nowrap}
td{max-width:22ch}
thead th{position:sticky;top:0;background:var(--paper)}
th button{font:inherit;color:inherit;background:none;border:0;padding:0;cursor:pointer;text-align:left}
th[aria-sort=ascending] button::after{content:" \2191"}
th[aria-sort=descending] button::after{content:" \2193"}
a{color:var(--s0)}
polyline{fill:none;stroke-width:1.8}
polygon{opacity:.15}
.s0,.b0{fill:var(--s0)}.s1,.b1{fill:var(--s1)}.s2,.b2{fill:var(--s2)}
.s3,.b3{fill:var(--s3)}.s4,.b4{fill:var(--s4)}.s5,.b5{fill:var(--s5)}
.l0{stroke:var(--s0)}.l1{stroke:var(--s1)}.l2{stroke:var(--s2)}
.l3{stroke:var(--s3)}.l4{stroke:var(--s4)}.l5{stroke:var(--s5)}
#tip{position:fixed;bottom:.6rem;left:50%;transform:translateX(-50%);margin:0;padding:.25rem .7rem;
background:var(--ink);color:var(--paper);border-radius:4px;font-size:.9rem;max-width:94vw}
@media print{main{max-width:none}figure{break-inside:avoid}.wide{max-height:none;overflow:visible}
.columns{grid-template-columns:repeat(var(--n),minmax(0,1fr));overflow:visible}
nav,figure>a,details,#tip{display:none}}
)";

  // Sorting by a column, and what a mark's <title> says in a line at the bottom, for screens without a
  // pointer that hovers.
  static constexpr std::string_view script = R"(
for(const t of document.querySelectorAll('table')){
const heads=[...t.querySelectorAll('th')];
heads.forEach((h,i)=>h.firstChild.onclick=()=>{
const up=h.ariaSort!='ascending',b=t.tBodies[0],v=r=>r.cells[i].textContent,n=r=>parseFloat(v(r));
heads.forEach(o=>o.removeAttribute('aria-sort'));h.ariaSort=up?'ascending':'descending';
[...b.rows].sort((x,y)=>{const d=isNaN(n(x))||isNaN(n(y))?v(x).localeCompare(v(y)):n(x)-n(y);return up?d:-d})
.forEach(r=>b.append(r))})}
const tip=document.getElementById('tip');
addEventListener('pointerover',e=>{const t=e.target.querySelector&&e.target.querySelector(':scope>title');
tip.hidden=!t||!e.target.closest('svg');if(t)tip.textContent=t.textContent});
)";

  std::string title_;
  std::string contents_;
  std::string body_;
  std::string heading_;               // waits for content
  std::vector<std::string> columns_;  // titles; empty outside of columns
  std::vector<aligned_line> lines_;
  int headings_ = 0;
};

}  // namespace iclmech

#endif  // ICLMECH_REPORT_HTML_PAGE_HPP
