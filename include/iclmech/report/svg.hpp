#ifndef ICLMECH_REPORT_SVG_HPP
#define ICLMECH_REPORT_SVG_HPP
// Figures as SVG text for a page: heat maps of heads, bars, curves with intervals. Colours follow the page's
// theme.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "iclmech/host/head_id.hpp"

namespace iclmech::svg {

/// Text that stands in markup.
inline std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  return out;
}

/// A number for people: three significant digits, all of them before the point below a million; a dash for
/// NaN.
inline std::string number(double x) {
  if (std::isnan(x)) return "–";
  return std::abs(x) >= 1000.0 && std::abs(x) < 1e6 ? fmt::format("{:.0f}", x) : fmt::format("{:.3g}", x);
}

namespace detail {

/// Sequential: pale to dark blue for 0..1. Diverging: red, pale, blue for -1..1.
inline std::string colour(double share, bool diverging) {
  using rgb = std::array<double, 3>;
  constexpr rgb pale{244, 244, 240}, dark{8, 48, 107}, mid{66, 146, 198}, red{178, 24, 43},
      rose{239, 138, 98};
  const auto mix = [](const rgb& a, const rgb& b, double t) {
    const auto part = [&](std::size_t i) { return static_cast<unsigned>(a[i] + t * (b[i] - a[i])); };
    return fmt::format("#{:02x}{:02x}{:02x}", part(0), part(1), part(2));
  };
  const double t = std::isnan(share) ? 0.0 : std::clamp(std::abs(share), 0.0, 1.0);
  const bool hot = diverging && share < 0.0;
  const rgb& half = hot ? rose : mid;
  return t < 0.5 ? mix(pale, half, 2 * t) : mix(half, hot ? red : dark, 2 * t - 1);
}

constexpr double page_width = 380;  // fits a phone without scaling

inline std::string text(double x, double y, std::string_view anchor, std::string_view what) {
  return fmt::format("<text x={:.1f} y={:.1f} text-anchor={}>{}</text>", x, y, anchor, escape(what));
}

inline std::string upright(double x, double y, std::string_view what) {
  return fmt::format("<text transform=\"translate({:.1f} {:.1f}) rotate(-90)\" text-anchor=middle>{}</text>",
                     x, y, escape(what));
}

/// Round numbers from `low` to `high`, at most seven, and no closer than `least`.
inline std::vector<double> ticks(double low, double high, double least = 0.0) {
  const double rough = std::max((high - low) / 6, least),
               power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0})
    if (factor * power >= rough * (1 - 1e-9)) step = factor * power;
  std::vector<double> out;
  for (double k = std::ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; ++k)
    out.push_back(k * step + 0.0);  // no -0
  return out;
}

/// One coloured square and a name for each series, in rows that fit the width; returns the height.
inline double legend(std::string& out, const std::vector<std::string>& names, double left, double top) {
  double x = left, y = top;
  for (std::size_t s = 0; s < names.size(); ++s) {
    const double width = 24 + 6.6 * static_cast<double>(names[s].size());
    if (x > left && x + width > page_width) {
      x = left;
      y += 17;
    }
    out += fmt::format("<rect class=s{} x={:.1f} y={:.1f} width=10 height=10 />", s % 6, x, y);
    out += text(x + 14, y + 9.5, "start", names[s]);
    x += width;
  }
  return y + 17 - top;
}

}  // namespace detail

/// One head's value in a heat map.
struct heat_cell {
  int layer = 0;
  int head = 0;
  std::string name;  ///< said, with the value, when the cell is pointed at
  double value = 0.0;
};

/// Cells as a map, layers upwards and heads to the right. Empty for no cells. Negative values make the scale
/// diverging.
inline std::string heat_map(const std::vector<heat_cell>& cells, int layers, std::string_view what) {
  if (cells.empty()) return {};
  int heads = 0;
  double top = 0.0;
  for (const heat_cell& c : cells) {
    heads = std::max(heads, c.head + 1);
    if (!std::isnan(c.value)) top = std::max(top, std::abs(c.value));
  }
  const bool negative =
      std::any_of(cells.begin(), cells.end(), [top](const heat_cell& c) { return c.value < -0.02 * top; });
  const double left = 36, bottom = 34;
  const double cell = std::clamp((detail::page_width - left - 8) / heads, 5.0, 30.0);
  const double row = std::clamp(400.0 / layers, 8.0, 24.0);
  const double width = left + heads * cell + 8, height = 8 + layers * row + bottom;
  std::string out = fmt::format(
      "<svg class=map role=img aria-label=\"{}\" viewBox=\"0 0 {:.1f} {:.1f}\" style=\"max-width:{:.0f}px\">",
      escape(what), width, height, width * 1.25);
  for (const heat_cell& c : cells)
    out += fmt::format(
        "<rect x={:.1f} y={:.1f} width={:.1f} height={:.1f} fill=\"{}\"><title>{}: {}</title></rect>",
        left + c.head * cell, 8 + (layers - 1 - c.layer) * row, cell - 0.6, row - 0.6,
        detail::colour(top > 0 ? c.value / top : 0.0, negative), escape(c.name), number(c.value));
  const int step = std::max(1, (layers + 9) / 10), across = std::max(1, (heads + 7) / 8);
  for (int l = 0; l < layers; l += step)
    out += detail::text(left - 5, 8 + (layers - 0.5 - l) * row + 4, "end", std::to_string(l));
  for (int h = 0; h < heads; h += across)
    out += detail::text(left + (h + 0.5) * cell, 8 + layers * row + 13, "middle", std::to_string(h));
  out += detail::text(left + heads * cell / 2, height - 5, "middle", "head");
  out += detail::upright(11, 8 + layers * row / 2, "layer");
  out += "</svg><p class=scale><i style=\"background:linear-gradient(90deg";
  for (const double share :
       negative ? std::vector<double>{-1, -0.5, 0, 0.5, 1} : std::vector<double>{0, 0.25, 0.5, 0.75, 1})
    out += "," + detail::colour(share, negative);
  return out + fmt::format(")\"></i> {} to {}</p>", negative ? number(-top) : "0", number(top));
}

/// A row of a bar chart: a label and one share (0..1) per series.
struct bar_row {
  std::string label;
  std::vector<double> shares;
};

/// Horizontal bars, grouped by row.
inline std::string bars(const std::vector<std::string>& series, const std::vector<bar_row>& rows) {
  if (rows.empty()) return {};
  std::size_t longest = 0;
  for (const bar_row& r : rows) longest = std::max(longest, r.label.size());
  const double bar = 12, gap = 9, left = std::clamp(12 + 6.2 * static_cast<double>(longest), 60.0, 170.0);
  const double span = detail::page_width - left - 44;
  const double per_row = bar * static_cast<double>(series.size()) + gap;
  std::string body;
  double y = 4;
  for (const bar_row& r : rows) {
    body += detail::text(left - 8, y + (per_row - gap) / 2 + 4, "end", r.label);
    for (std::size_t s = 0; s < r.shares.size(); ++s) {
      const double share = std::isnan(r.shares[s]) ? 0.0 : std::clamp(r.shares[s], 0.0, 1.0);
      body += fmt::format(
          "<rect class=s{} x={:.1f} y={:.1f} width={:.1f} height={:.1f}><title>{}, {}: {}</title></rect>",
          s % 6, left, y, std::max(1.0, span * share), bar - 1, escape(r.label), escape(series[s]),
          number(r.shares[s]));
      body += detail::text(left + span * share + 5, y + bar - 2, "start", number(r.shares[s]));
      y += bar;
    }
    y += gap;
  }
  const double height = y + 4 + detail::legend(body, series, 8, y + 2);
  return fmt::format("<svg class=bars role=img viewBox=\"0 0 {} {:.1f}\">{}</svg>", detail::page_width,
                     height, body);
}

/// A curve: points with an optional interval each (low and high empty: none).
struct curve {
  std::string name;
  std::vector<double> x, y, low, high;
};

/// Where the vertical axis runs.
enum class vertical_axis : unsigned char {
  shares,  ///< 0 to 1, more if values lie outside
  values   ///< what the values span
};

/// Curves over a common axis. Empty for no points.
inline std::string curves(const std::vector<curve>& lines, std::string_view x_name, std::string_view y_name,
                          vertical_axis axis = vertical_axis::shares) {
  constexpr double far = 1e300;
  double x0 = far, x1 = -far, y0 = far, y1 = -far;
  for (const curve& c : lines)
    for (std::size_t i = 0; i < c.x.size(); ++i) {
      if (std::isnan(c.y[i])) continue;
      x0 = std::min(x0, c.x[i]);
      x1 = std::max(x1, c.x[i]);
      y0 = std::min(y0, c.y[i]);
      y1 = std::max(y1, c.y[i]);
    }
  if (x1 < x0) return {};
  if (axis == vertical_axis::shares) {
    y0 = std::min(y0, 0.0);
    y1 = std::max(y1, 1.0);
  }
  if (x1 <= x0) x1 = x0 + 1;
  if (y1 <= y0) y1 = y0 + 1;
  const double left = 52, right = 12, top = 10, bottom = 40, w = detail::page_width, h = 240;
  const auto px = [&](double x) { return left + (x - x0) / (x1 - x0) * (w - left - right); };
  const auto py = [&](double y) { return h - bottom - (y - y0) / (y1 - y0) * (h - top - bottom); };
  std::string body;
  for (const double y : detail::ticks(y0, y1)) {
    body += fmt::format("<line class=grid x1={:.1f} x2={:.1f} y1={:.1f} y2={:.1f} />", left, w - right, py(y),
                        py(y));
    body += detail::text(left - 5, py(y) + 4, "end", number(y));
  }
  const bool whole = std::all_of(lines.begin(), lines.end(), [](const curve& c) {
    return std::all_of(c.x.begin(), c.x.end(), [](double x) { return x == std::round(x); });
  });
  for (const double x : detail::ticks(x0, x1, whole ? 1.0 : 0.0))
    body += detail::text(px(x), h - bottom + 15, "middle", number(x));
  std::vector<std::string> names;
  for (std::size_t s = 0; s < lines.size(); ++s) {
    const curve& c = lines[s];
    names.push_back(c.name);
    if (!c.low.empty()) {
      std::string band;
      for (std::size_t i = 0; i < c.x.size(); ++i)
        band += fmt::format("{:.1f},{:.1f} ", px(c.x[i]), py(c.high[i]));
      for (std::size_t i = c.x.size(); i-- > 0;)
        band += fmt::format("{:.1f},{:.1f} ", px(c.x[i]), py(c.low[i]));
      body += fmt::format("<polygon class=b{} points=\"{}\" />", s % 6, band);
    }
    std::string points, marks;
    for (std::size_t i = 0; i < c.x.size(); ++i) {
      if (std::isnan(c.y[i])) continue;
      points += fmt::format("{:.1f},{:.1f} ", px(c.x[i]), py(c.y[i]));
      marks += fmt::format(
          "<circle class=s{} r=2.8 cx={:.1f} cy={:.1f}><title>{}, {} {}: {}</title></circle>", s % 6,
          px(c.x[i]), py(c.y[i]), escape(c.name), escape(x_name), number(c.x[i]), number(c.y[i]));
    }
    body += fmt::format("<polyline class=l{} points=\"{}\" />{}", s % 6, points, marks);
  }
  body += detail::text((left + w) / 2, h - 8, "middle", x_name);
  body += detail::upright(12, (h - bottom + top) / 2, y_name);
  const double height = h + 2 + detail::legend(body, names, 8, h + 2);
  return fmt::format("<svg class=curves role=img viewBox=\"0 0 {} {:.1f}\">{}</svg>", w, height, body);
}

}  // namespace iclmech::svg

#endif  // ICLMECH_REPORT_SVG_HPP
