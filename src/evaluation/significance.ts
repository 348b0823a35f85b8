/** Number of pairs above which the binomial distribution is approximated by the normal distribution. */
const maxExactPairs = 1_000;
/** Maximum number of ways to divide the values. With more, a permutation test would take too long, so it is skipped. */
const maxArrangements = 20_000;

/**
 * Returns the p-value of the two-sided sign test: the probability that a fair coin divides the pairs at least as
 * unevenly. Pairs of equal values are not counted. The result is 1 if there are no pairs.
 */
export function signTest(improved: number, regressed: number): number {
  const pairs = improved + regressed;
  const fewer = Math.min(improved, regressed);
  if (pairs === 0 || improved === regressed) {
    return 1;
  }
  if (pairs > maxExactPairs) {
    // The subtraction of 0.5 is the continuity correction.
    const deviations = (pairs / 2 - fewer - 0.5) / Math.sqrt(pairs / 4);
    return Math.min(1, 2 * upperTail(deviations));
  }
  // The logarithm of pairs! / (count! (pairs - count)!) / 2^pairs, first for a count of 0. The loop derives each value
  // from the previous one.
  let logProbability = -pairs * Math.LN2;
  let sum = Math.exp(logProbability);
  for (let count = 1; count <= fewer; count += 1) {
    logProbability += Math.log(pairs - count + 1) - Math.log(count);
    sum += Math.exp(logProbability);
  }
  return Math.min(1, 2 * sum);
}

/**
 * Returns the probability that a standard normal variable exceeds `z`. The relative error is below 1.2e-7 (Numerical
 * Recipes, erfcc).
 */
function upperTail(z: number): number {
  const x = z / Math.SQRT2;
  const t = 1 / (1 + 0.5 * Math.abs(x));
  const coefficients = [
    -1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398,
    1.48851587, -0.82215223, 0.17087277,
  ];
  const polynomial = coefficients.reduceRight((sum, coefficient) => sum * t + coefficient, 0);
  const tail = t * Math.exp(-x * x + polynomial);
  return (x >= 0 ? tail : 2 - tail) / 2;
}

/**
 * Returns the p-value of a two-sided permutation test of two small samples. All ways to divide the values into samples
 * of these sizes are compared; the p-value is the fraction in which the averages differ at least as much as in the
 * given samples. Returns `undefined` if a sample has fewer than two values, or if there are more than
 * {@link maxArrangements} ways.
 */
export function permutationTest(
  left: readonly number[],
  right: readonly number[],
): number | undefined {
  const values = [...left, ...right];
  const arrangements = countCombinations(values.length, left.length);
  if (left.length < 2 || right.length < 2 || arrangements > maxArrangements) {
    return undefined;
  }
  const total = sum(values);
  const differenceOf = (leftSum: number): number =>
    Math.abs(leftSum / left.length - (total - leftSum) / right.length);
  // The tolerance is needed because sums of the same values in another order can differ by rounding errors.
  const observed = differenceOf(sum(left)) - 1e-9;
  let extreme = 0;
  const choose = (start: number, remaining: number, leftSum: number): void => {
    if (remaining === 0) {
      extreme += differenceOf(leftSum) >= observed ? 1 : 0;
      return;
    }
    for (let index = start; index <= values.length - remaining; index += 1) {
      choose(index + 1, remaining - 1, leftSum + (values[index] ?? 0));
    }
  };
  choose(0, left.length, 0);
  return extreme / arrangements;
}

const sum = (values: readonly number[]): number =>
  values.reduce((total, value) => total + value, 0);

function countCombinations(size: number, chosen: number): number {
  let count = 1;
  for (let index = 1; index <= Math.min(chosen, size - chosen); index += 1) {
    count = (count * (size - index + 1)) / index;
  }
  return Math.round(count);
}

/** Computes the average of differences and its 95 percent confidence interval, without storing the differences. */
export class DifferenceStatistics {
  #count = 0;
  #sum = 0;
  /**
   * Running average of Welford's method. It is used only for the deviation: the exact sum results in a more accurate
   * average.
   */
  #mean = 0;
  #squares = 0;

  /** Adds a difference, and updates the running values of Welford's method. */
  add(difference: number): void {
    this.#count += 1;
    this.#sum += difference;
    const deviation = difference - this.#mean;
    this.#mean += deviation / this.#count;
    this.#squares += deviation * (difference - this.#mean);
  }

  get count(): number {
    return this.#count;
  }

  get mean(): number {
    return this.#sum / this.#count;
  }

  /** Standard deviation of the sample; 0 for fewer than two values. */
  get deviation(): number {
    return this.#count < 2 ? 0 : Math.sqrt(this.#squares / (this.#count - 1));
  }

  /**
   * The confidence interval, assuming that averages are distributed normally; `undefined` for fewer than two
   * differences.
   */
  get interval(): readonly [low: number, high: number] | undefined {
    if (this.#count < 2) {
      return undefined;
    }
    const margin = (1.96 * this.deviation) / Math.sqrt(this.#count);
    return [this.mean - margin, this.mean + margin];
  }
}
