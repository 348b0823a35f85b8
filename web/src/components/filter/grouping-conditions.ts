/** The properties of runs by which metrics are grouped. */
export type RunGrouping = "model" | "name" | "tag" | "user" | "status";

const quote = (text: string): string => JSON.stringify(text);

interface Conditions {
  /**
   * @param isTraceList - whether the filter is for a list of traces, in which the field `model` contains the models of
   * all runs of a trace
   */
  readonly equals: (value: string, isTraceList?: boolean) => string;
  /**
   * The condition that a run has the property, with any value. Absent if every run has the property, or if the filter
   * language has no such condition.
   */
  readonly exists?: string;
}

/** The conditions of the filter language that select the runs of a group. */
export const conditionsByGrouping: { readonly [Name in RunGrouping]: Conditions } = {
  model: {
    equals: (value, isTraceList = false) =>
      `eq(${isTraceList ? "metadata.ls_model_name" : "model"}, ${quote(value)})`,
    exists: 'exists(metadata, "ls_model_name")',
  },
  name: { equals: (value) => `eq(name, ${quote(value)})` },
  tag: { equals: (value) => `has(tags, ${quote(value)})` },
  user: {
    equals: (value) => `eq(user, ${quote(value)})`,
    exists: 'or(exists(metadata, "user_id"), exists(metadata, "langfuse_user_id"))',
  },
  status: { equals: (value) => `eq(status, ${quote(value)})` },
};

/** The condition that a run has a value of a property. */
export const toGroupingCondition = (
  grouping: RunGrouping,
  value: string,
  isTraceList: boolean,
): string => conditionsByGrouping[grouping].equals(value, isTraceList);
