import { Loader } from "@mantine/core";
import type { ReactNode } from "react";
import { Failure } from "../page/states.tsx";
import type { CompleteSort } from "./complete-sort.ts";
import "./sort-notice.css";

/**
 * Explains above a list why it does not have the chosen order: its other rows are still being loaded, could not be
 * loaded, or are too many.
 */
export const SortNotice = <Row,>({
  resourceName,
  sorting: { state, retry },
  error,
  children,
}: {
  /** The listed resources, in the plural: "threads". */
  readonly resourceName: string;
  readonly sorting: CompleteSort<Row>;
  readonly error: Error | null;
  /** Why a list that is too long is not sorted, and what the user can do. */
  readonly children: ReactNode;
}) => {
  switch (state) {
    case "sorted":
      return null;
    case "loading":
      return (
        <output className="sort-progress">
          <span>
            <Loader size="xs" />
            Loading all {resourceName} to sort them …
          </span>
        </output>
      );
    case "failed":
      return error === null ? null : (
        <Failure resourceName={`all ${resourceName} to sort them`} error={error} onRetry={retry} />
      );
    case "tooLong":
      return <p className="note sort-limit">{children}</p>;
  }
};
