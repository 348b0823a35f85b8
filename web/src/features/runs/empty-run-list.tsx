import { Empty } from "../../components/page/states.tsx";
import type { RunListQuery } from "./queries.ts";

/** Explains why a list has no runs, and how to see some. */
export const EmptyRunList = ({ filter, isRoot, range }: RunListQuery) => {
  const noun = isRoot ? "traces" : "runs";
  if (filter !== "") {
    return (
      <Empty title={`No matching ${noun}`}>
        <p>Remove a condition or select a longer time range.</p>
      </Empty>
    );
  }
  const isLimited = range.fromMs !== undefined || range.toMs !== undefined;
  return isLimited ? (
    <Empty title={`No ${noun} in this time range`}>
      <p>Select a longer time range.</p>
    </Empty>
  ) : (
    <Empty title={`No ${noun} yet`}>
      <p>New {noun} appear here as soon as they arrive.</p>
    </Empty>
  );
};
