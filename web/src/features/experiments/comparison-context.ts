/** What is compared, and how. */
export interface ComparisonContext {
  /** Experiments in the order of the columns. */
  readonly ids: readonly string[];
  readonly baselineId: string;
  readonly names: ReadonlyMap<string, string>;
  /** Keys of which less is better. */
  readonly lower: ReadonlySet<string>;
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

/** The colour of an experiment: its place, so that it stays while others are added. */
export const colorOf = ({ ids }: ComparisonContext, id: string): string =>
  colors[ids.indexOf(id) % colors.length] ?? colors[0];

export const nameOf = ({ names }: ComparisonContext, id: string): string =>
  names.get(id) ?? id.slice(0, 8);
