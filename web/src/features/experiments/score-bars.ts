/** The distribution of the scores of one experiment. */
export interface ScoreCounts {
  /** The number of scores in each part of the score range. */
  readonly bins: readonly number[];
}

/** The space between the bars of two parts of the score range, as a multiple of the width of a bar. */
const gapWidths = 0.5;

/**
 * Places the bars of experiments side by side in each part of the score range. Returns the positions of all bars, and
 * for each experiment a value at each position, which is `null` where the bar of another experiment is.
 */
export function toScoreBars(
  experiments: readonly ScoreCounts[],
  { min, max, binCount }: { readonly min: number; readonly max: number; readonly binCount: number },
) {
  const binWidth = (max - min) / binCount;
  const barWidth = binWidth / (experiments.length + gapWidths);
  const bars = Array.from({ length: binCount }, (_, bin) =>
    experiments.map((_experiment, index) => ({
      position: min + bin * binWidth + (index + (1 + gapWidths) / 2) * barWidth,
      bin,
      index,
    })),
  ).flat();
  return {
    positions: bars.map(({ position }) => position),
    values: experiments.map(({ bins }, experimentIndex) =>
      bars.map(({ bin, index }) => (index === experimentIndex ? (bins[bin] ?? 0) : null)),
    ),
  };
}
