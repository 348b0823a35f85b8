/** The experiments of a comparison, and how their scores are compared. */
export interface ComparisonContext {
  /** Ids of the experiments, in the order of the columns. */
  readonly experimentIds: readonly string[];
  readonly baselineId: string;
  /** Experiment names by id. */
  readonly names: ReadonlyMap<string, string>;
  /** Feedback keys for which a lower score is better. */
  readonly lowerIsBetterKeys: ReadonlySet<string>;
  readonly tenantId: string;
}

const colors = [
  "--accent",
  "--type-llm",
  "--type-tool",
  "--type-embedding",
  "--type-prompt",
  "--type-parser",
  "--type-chain",
] as const;

/**
 * Returns the color of an experiment. The color depends on the column, so that it stays the same when experiments are
 * added.
 */
export const getExperimentColor = ({ experimentIds }: ComparisonContext, id: string): string =>
  colors[experimentIds.indexOf(id) % colors.length] ?? colors[0];

export const getExperimentName = ({ names }: ComparisonContext, id: string): string =>
  names.get(id) ?? id.slice(0, 8);
