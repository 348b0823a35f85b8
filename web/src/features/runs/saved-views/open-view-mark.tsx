import { CloseButton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { ApiError } from "../../../api/http.ts";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { createViewQuery } from "./queries.ts";
import { showsView } from "./view.ts";
import type { RunListSearch } from "../run-list-search.ts";

/** The name of the saved view that the list was opened with, and whether the list has been changed since. */
export const OpenViewMark = ({
  projectId,
  viewId,
  search,
  onClose,
}: {
  readonly projectId: string;
  readonly viewId: string;
  readonly search: RunListSearch;
  /** Removes the view, its filter and its settings from the list. */
  readonly onClose: () => void;
}) => {
  const { data: view, error } = useQuery(createViewQuery(projectId, viewId));
  if (view === undefined && error === null) {
    return null;
  }
  return (
    <span className="open-view">
      {view === undefined ? (
        <span>{describeError(error)}</span>
      ) : (
        <span title={toVisibleText(view.description)}>
          View: <bdi>{toVisibleText(view.name)}</bdi>
          {!showsView(view, search) && <span className="quiet"> (changed)</span>}
        </span>
      )}
      <CloseButton
        size={24}
        iconSize={14}
        aria-label="Close view"
        title="Close view"
        onClick={onClose}
      />
    </span>
  );
};

const describeError = (error: Error | null): string =>
  error instanceof ApiError && error.status === 404
    ? "This view was deleted"
    : "The view could not be loaded";
