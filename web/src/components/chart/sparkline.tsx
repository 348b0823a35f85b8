const [width, height] = [88, 20];

/** A small line chart without axes. The number itself is shown next to it, so screen readers skip the chart. */
export const Sparkline = ({ values }: { readonly values: readonly number[] }) => {
  const highest = Math.max(...values, 1);
  const step = width / Math.max(1, values.length - 1);
  const points = values
    .map((value, index) => {
      const y = height - 1 - (value / highest) * (height - 3);
      return `${(index * step).toFixed(1)},${y.toFixed(1)}`;
    })
    .join(" ");
  return (
    <svg className="sparkline" viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
      <polyline points={points} />
    </svg>
  );
};
