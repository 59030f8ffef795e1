// The Mamba-1 recurrence and its gradient for one CPU thread, loaded by scan.py through ctypes. All arrays are
// contiguous float32 and do not overlap: u, dt, y [batch, time, channels]; a [channels, states] (negative);
// b, c [batch, time, states]; states [batch, time, channels, states].
#include <cmath>
#include <cstddef>
#include <vector>

extern "C" {

void selective_scan_forward(const float* u, const float* dt, const float* a, const float* b, const float* c, float* y,
                            float* states, std::size_t batch, std::size_t time, std::size_t channels, std::size_t width) {
  const std::vector<float> zero(channels * width, 0.0F);
  for (std::size_t row = 0; row < batch * time; ++row) {
    const float* before = row % time == 0 ? zero.data() : states + (row - 1) * channels * width;
    float* after = states + row * channels * width;
    const float* b_row = b + row * width;
    const float* c_row = c + row * width;
    for (std::size_t ch = 0; ch < channels; ++ch) {
      const float step = dt[row * channels + ch];
      const float input = step * u[row * channels + ch];
      float read = 0.0F;
#pragma GCC ivdep
      for (std::size_t n = 0; n < width; ++n) {
        const std::size_t i = ch * width + n;
        after[i] = std::exp(step * a[i]) * before[i] + input * b_row[n];
        read += after[i] * c_row[n];
      }
      y[row * channels + ch] = read;
    }
  }
}

// Adds to d_a, d_b and d_c (zero them first), sets d_u and d_dt.
void selective_scan_backward(const float* u, const float* dt, const float* a, const float* b, const float* c,
                             const float* states, const float* d_y, float* d_u, float* d_dt, float* d_a, float* d_b,
                             float* d_c, std::size_t batch, std::size_t time, std::size_t channels, std::size_t width) {
  const std::vector<float> zero(channels * width, 0.0F);
  std::vector<float> d_state(channels * width);
  for (std::size_t row = batch * time; row-- > 0;) {
    if (row % time == time - 1) d_state.assign(channels * width, 0.0F);
    const float* before = row % time == 0 ? zero.data() : states + (row - 1) * channels * width;
    const float* after = states + row * channels * width;
    for (std::size_t ch = 0; ch < channels; ++ch) {
      const float step = dt[row * channels + ch];
      const float value = u[row * channels + ch];
      const float d_out = d_y[row * channels + ch];
      float through_decay = 0.0F;
      float through_input = 0.0F;
#pragma GCC ivdep
      for (std::size_t n = 0; n < width; ++n) {
        const std::size_t i = ch * width + n;
        const float d = d_state[i] + d_out * c[row * width + n];
        const float decay = std::exp(step * a[i]);
        const float d_exponent = d * before[i] * decay;
        d_c[row * width + n] += d_out * after[i];
        d_b[row * width + n] += d * step * value;
        d_a[i] += d_exponent * step;
        through_decay += d_exponent * a[i];
        through_input += d * b[row * width + n];
        d_state[i] = d * decay;
      }
      d_dt[row * channels + ch] = through_decay + value * through_input;
      d_u[row * channels + ch] = step * through_input;
    }
  }
}

}  // extern "C"
