#ifndef ICLMECH_REPORT_SVG_HPP
#define ICLMECH_REPORT_SVG_HPP
// Figures as SVG text for a page: heat maps of heads, bars, curves with intervals. Colours follow the page's
// theme.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "iclmech/host/head_map.hpp"

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

/// A number for people: three significant digits.
inline std::string number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", x);
  return text;
}

namespace detail {

inline std::string fixed(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", x);
  return text;
}

/// Sequential: pale to dark blue for 0..1. Diverging: blue, pale, red for -1..1.
inline std::string colour(double share, bool diverging) {
  using rgb = std::array<double, 3>;
  constexpr rgb pale{244, 244, 240}, dark{8, 48, 107}, mid{66, 146, 198}, red{178, 24, 43},
      rose{239, 138, 98};
  const auto mix = [](const rgb& a, const rgb& b, double t) {
    char text[24];
    std::snprintf(text, sizeof text, "#%02x%02x%02x", static_cast<unsigned>(a[0] + t * (b[0] - a[0])),
                  static_cast<unsigned>(a[1] + t * (b[1] - a[1])),
                  static_cast<unsigned>(a[2] + t * (b[2] - a[2])));
    return std::string(text);
  };
  const double t = std::clamp(std::abs(share), 0.0, 1.0);
  const bool hot = diverging && share > 0.0;
  const rgb& half = hot ? rose : mid;
  return t < 0.5 ? mix(pale, half, 2 * t) : mix(half, hot ? red : dark, 2 * t - 1);
}

}  // namespace detail

/// One value per head of one mixer kind as a map, layers upwards and heads to the right; every cell tells its
/// head and value when pointed at. Empty if the model has no such mixers. Negative values make the scale
/// diverging.
inline std::string heat_map(const model_spec& spec, mixer_kind kind, const head_map<double>& values,
                            std::string_view what) {
  int heads = 0;
  double top = 0.0;
  bool negative = false;
  for (const head_id id : values.ids()) {
    if (id.mixer != kind) continue;
    heads = std::max(heads, id.head + 1);
    top = std::max(top, std::abs(values[id]));
  }
  if (heads == 0) return {};
  for (const head_id id : values.ids())
    if (id.mixer == kind && values[id] < -0.02 * top) negative = true;
  const int layers = spec.layer_count();
  const double cell = std::clamp(420.0 / heads, 6.0, 26.0), row = std::clamp(420.0 / layers, 7.0, 22.0);
  const double left = 34, bottom = 34, width = left + heads * cell + 8, height = 8 + layers * row + bottom;
  std::string out = "<svg class=map role=img aria-label=\"" + escape(what) + "\" viewBox=\"0 0 " +
                    detail::fixed(width) + " " + detail::fixed(height) +
                    "\" style=\"max-width:" + detail::fixed(width * 1.3) + "px\">";
  for (const head_id id : values.ids()) {
    if (id.mixer != kind) continue;
    const double v = values[id];
    out += "<rect x=" + detail::fixed(left + id.head * cell) +
           " y=" + detail::fixed(8 + (layers - 1 - id.layer) * row) + " width=" + detail::fixed(cell - 0.6) +
           " height=" + detail::fixed(row - 0.6) + " fill=\"" +
           detail::colour(top > 0 ? v / top : 0.0, negative) + "\"><title>" + escape(spec.label(id)) + ": " +
           number(v) + "</title></rect>";
  }
  const int step = std::max(1, (layers + 9) / 10);
  for (int l = 0; l < layers; l += step)
    out += "<text x=" + detail::fixed(left - 5) + " y=" + detail::fixed(8 + (layers - 0.5 - l) * row + 3.5) +
           " text-anchor=end>" + std::to_string(l) + "</text>";
  const int across = std::max(1, (heads + 7) / 8);
  for (int h = 0; h < heads; h += across)
    out += "<text x=" + detail::fixed(left + (h + 0.5) * cell) +
           " y=" + detail::fixed(8 + layers * row + 12) + " text-anchor=middle>" + std::to_string(h) +
           "</text>";
  out += "<text x=" + detail::fixed(left + heads * cell / 2) + " y=" + detail::fixed(height - 5) +
         " text-anchor=middle>head</text>";
  out += "<text transform=\"translate(9 " + detail::fixed(8 + layers * row / 2) +
         ") rotate(-90)\" text-anchor=middle>layer</text></svg>";
  out += "<p class=scale><i style=\"background:linear-gradient(90deg";
  for (const double share :
       negative ? std::vector<double>{-1, -0.5, 0, 0.5, 1} : std::vector<double>{0, 0.25, 0.5, 0.75, 1})
    out += "," + detail::colour(share, negative);
  return out + ")\"></i> " + (negative ? number(-top) : "0") + " to " + number(top) + "</p>";
}

/// A row of a bar chart: a label and one share (0..1) per series.
struct bar_row {
  std::string label;
  std::vector<double> shares;
};

/// Horizontal bars, grouped by row.
inline std::string bars(const std::vector<std::string>& series, const std::vector<bar_row>& rows) {
  const double bar = 11, gap = 9, left = 130, span = 300;
  const double per_row = bar * static_cast<double>(series.size()) + gap;
  const double height = per_row * static_cast<double>(rows.size()) + 26;
  std::string out = "<svg class=bars role=img viewBox=\"0 0 490 " + detail::fixed(height) + "\">";
  double y = 4;
  for (const bar_row& r : rows) {
    out += "<text x=" + detail::fixed(left - 8) + " y=" + detail::fixed(y + per_row / 2) +
           " text-anchor=end>" + escape(r.label) + "</text>";
    for (std::size_t s = 0; s < r.shares.size(); ++s) {
      const double share = std::clamp(r.shares[s], 0.0, 1.0);
      out += "<rect class=s" + std::to_string(s) + " x=" + detail::fixed(left) + " y=" + detail::fixed(y) +
             " width=" + detail::fixed(std::max(1.0, span * share)) + " height=" + detail::fixed(bar - 1) +
             "><title>" + escape(r.label) + ", " + escape(series[s]) + ": " + number(r.shares[s]) +
             "</title></rect><text x=" + detail::fixed(left + span * share + 5) +
             " y=" + detail::fixed(y + bar - 2) + ">" + number(r.shares[s]) + "</text>";
      y += bar;
    }
    y += gap;
  }
  double x = left;
  for (std::size_t s = 0; s < series.size(); ++s) {
    out += "<rect class=s" + std::to_string(s) + " x=" + detail::fixed(x) +
           " y=" + detail::fixed(height - 13) + " width=10 height=10 /><text x=" + detail::fixed(x + 14) +
           " y=" + detail::fixed(height - 4) + ">" + escape(series[s]) + "</text>";
    x += 30 + 6.5 * static_cast<double>(series[s].size());
  }
  return out + "</svg>";
}

/// A curve: points with an optional interval each (low == high: none).
struct curve {
  std::string name;
  std::vector<double> x, y, low, high;
};

/// Curves over a common axis; y from 0 to 1 unless values lie outside.
inline std::string curves(const std::vector<curve>& lines, std::string_view x_name, std::string_view y_name) {
  double x0 = 1e300, x1 = -1e300, y0 = 0.0, y1 = 1.0;
  for (const curve& c : lines)
    for (std::size_t i = 0; i < c.x.size(); ++i) {
      x0 = std::min(x0, c.x[i]);
      x1 = std::max(x1, c.x[i]);
      y0 = std::min(y0, c.y[i]);
      y1 = std::max(y1, c.y[i]);
    }
  if (!(x1 > x0)) x1 = x0 + 1;
  const double left = 46, right = 12, top = 10, bottom = 40, w = 460, h = 260;
  const auto px = [&](double x) { return left + (x - x0) / (x1 - x0) * (w - left - right); };
  const auto py = [&](double y) { return h - bottom - (y - y0) / (y1 - y0) * (h - top - bottom); };
  std::string out = "<svg class=curves role=img viewBox=\"0 0 460 " +
                    detail::fixed(h + 16.0 * static_cast<double>(lines.size())) + "\">";
  for (int tick = 0; tick <= 4; ++tick) {
    const double y = y0 + (y1 - y0) * tick / 4, x = x0 + (x1 - x0) * tick / 4;
    out += "<line class=grid x1=" + detail::fixed(left) + " x2=" + detail::fixed(w - right) +
           " y1=" + detail::fixed(py(y)) + " y2=" + detail::fixed(py(y)) +
           " /><text x=" + detail::fixed(left - 5) + " y=" + detail::fixed(py(y) + 3.5) +
           " text-anchor=end>" + number(y) + "</text><text x=" + detail::fixed(px(x)) +
           " y=" + detail::fixed(h - bottom + 14) + " text-anchor=middle>" + number(x) + "</text>";
  }
  for (std::size_t s = 0; s < lines.size(); ++s) {
    const curve& c = lines[s];
    const std::string css = std::to_string(s % 6);
    if (!c.low.empty()) {
      std::string band;
      for (std::size_t i = 0; i < c.x.size(); ++i)
        band += detail::fixed(px(c.x[i])) + "," + detail::fixed(py(c.high[i])) + " ";
      for (std::size_t i = c.x.size(); i-- > 0;)
        band += detail::fixed(px(c.x[i])) + "," + detail::fixed(py(c.low[i])) + " ";
      out += "<polygon class=b" + css + " points=\"" + band + "\" />";
    }
    std::string points;
    for (std::size_t i = 0; i < c.x.size(); ++i)
      points += detail::fixed(px(c.x[i])) + "," + detail::fixed(py(c.y[i])) + " ";
    out += "<polyline class=l" + css + " points=\"" + points + "\" />";
    for (std::size_t i = 0; i < c.x.size(); ++i)
      out += "<circle class=s" + css + " r=2.6 cx=" + detail::fixed(px(c.x[i])) +
             " cy=" + detail::fixed(py(c.y[i])) + "><title>" + escape(c.name) + ", " + escape(x_name) + " " +
             number(c.x[i]) + ": " + number(c.y[i]) + "</title></circle>";
    const double y = h + 16.0 * static_cast<double>(s);
    out += "<rect class=s" + css + " x=" + detail::fixed(left) + " y=" + detail::fixed(y) +
           " width=10 height=10 /><text x=" + detail::fixed(left + 15) + " y=" + detail::fixed(y + 9) + ">" +
           escape(c.name) + "</text>";
  }
  out += "<text x=" + detail::fixed((left + w) / 2) + " y=" + detail::fixed(h - 10) + " text-anchor=middle>" +
         escape(x_name) + "</text><text transform=\"translate(11 " + detail::fixed(h / 2 - 15) +
         ") rotate(-90)\" text-anchor=middle>" + escape(y_name) + "</text>";
  return out + "</svg>";
}

}  // namespace iclmech::svg

#endif  // ICLMECH_REPORT_SVG_HPP
