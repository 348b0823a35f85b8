import { Button, Menu } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { startJob, trackStartedJob } from "../jobs/queries.ts";
import { AddToDataset, AddToQueue } from "./add-runs-dialog.tsx";
import { DeleteRunsDialog, FeedbackDialog, TagDialog } from "./all-matches/action-dialogs.tsx";
import { describeTarget, toAllTarget, toSelectedTarget } from "./all-matches/run-target.ts";
import type { RunTarget } from "./all-matches/run-target.ts";
import { createRunCountsQuery, startExport, toSearchBody } from "./queries.ts";
import type { RunListQuery } from "./queries.ts";
import type { ProjectAddress } from "./run-list-search.ts";

type OpenDialog = "dataset" | "queue" | "tag" | "feedback" | "delete";

/** The actions on the selected runs, or on all runs that match the filter. */
export const SelectionBar = ({
  address,
  query,
  selectedIds,
  runTarget: { target, isAllSelected, matchCount, selectAll, clearAll },
  onClear,
  onCompare,
}: {
  readonly address: ProjectAddress;
  readonly query: RunListQuery;
  readonly selectedIds: ReadonlySet<string>;
  readonly runTarget: ReturnType<typeof useRunTarget>;
  readonly onClear: () => void;
  readonly onCompare: () => void;
}) => {
  const [openDialog, setOpenDialog] = useState<OpenDialog>();
  const [error, setError] = useState<string>();
  const queryClient = useQueryClient();
  const count = selectedIds.size;
  const exportRuns = async (format: "jsonl" | "csv"): Promise<void> => {
    setError(undefined);
    try {
      const body =
        count > 0 && !isAllSelected
          ? { session: [address.projectId], id: [...selectedIds] }
          : toSearchBody(query);
      const { path, jobId } = await startExport(body, format);
      download(path);
      await trackStartedJob(queryClient, jobId);
    } catch (cause) {
      setError(cause instanceof Error ? cause.message : String(cause));
    }
  };
  const clear = (): void => {
    clearAll();
    onClear();
  };
  return (
    <footer className="selection-bar" aria-label="Selected runs">
      <span>{describeSelection(target)}</span>
      {target !== undefined && (
        <Button size="compact-sm" variant="subtle" onClick={clear}>
          Clear selection
        </Button>
      )}
      {!isAllSelected && matchCount !== undefined && matchCount.count > count && (
        <Button size="compact-sm" variant="default" onClick={selectAll}>
          {matchCount.isExact
            ? `Select all ${matchCount.count.toLocaleString("en")} that match`
            : `Select all that match (more than ${matchCount.count.toLocaleString("en")})`}
        </Button>
      )}
      {target !== undefined && (
        <>
          {!isAllSelected && (
            <Button size="compact-sm" variant="default" disabled={count !== 2} onClick={onCompare}>
              Compare runs
            </Button>
          )}
          <Button size="compact-sm" variant="default" onClick={() => setOpenDialog("dataset")}>
            Add to dataset
          </Button>
          <Button size="compact-sm" variant="default" onClick={() => setOpenDialog("queue")}>
            Add to annotation queue
          </Button>
        </>
      )}
      <Menu position="top-end" withinPortal={false} transitionProps={{ duration: 0 }}>
        <Menu.Target>
          <Button size="compact-sm" variant="default">
            {target === undefined || isAllSelected ? "Export all matches" : "Export selected"}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => void exportRuns("jsonl")}>JSON Lines</Menu.Item>
          <Menu.Item onClick={() => void exportRuns("csv")}>CSV</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {target !== undefined && (
        <Menu position="top-end" withinPortal={false} transitionProps={{ duration: 0 }}>
          <Menu.Target>
            <Button size="compact-sm" variant="default">
              More
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item onClick={() => setOpenDialog("tag")}>Change tags</Menu.Item>
            <Menu.Item onClick={() => setOpenDialog("feedback")}>Add feedback</Menu.Item>
            <Menu.Item className="bad" onClick={() => setOpenDialog("delete")}>
              Delete
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
      )}
      {error !== undefined && (
        <span className="bad" role="alert">
          {error}
        </span>
      )}
      {target !== undefined && openDialog !== undefined && (
        <ActionDialog
          kind={openDialog}
          address={address}
          target={target}
          selectedIds={selectedIds}
          onClose={() => setOpenDialog(undefined)}
        />
      )}
    </footer>
  );
};

const describeSelection = (target: RunTarget | undefined): string => {
  if (target === undefined) {
    return "No runs selected";
  }
  return target.isAll
    ? `All ${describeTarget(target)} that match are selected`
    : `${target.count.toLocaleString("en")} selected`;
};

/**
 * Returns the runs to which the actions apply. When the user selects all matching runs, the time range is fixed,
 * because the meaning of a range such as the last hour changes as time passes.
 *
 * @param options.listKey - a key that is different for each filter and each time range
 * @param options.isValid - whether the filter is valid, so that the matching runs can be counted.
 */
export function useRunTarget(
  query: RunListQuery,
  selectedIds: ReadonlySet<string>,
  { listKey, isValid }: { readonly listKey: string; readonly isValid: boolean },
) {
  const { projectId, isRoot, filter, range } = query;
  const { data } = useQuery({
    ...createRunCountsQuery({ projectId, isRootOnly: isRoot, filter, range }),
    enabled: isValid,
  });
  const [all, setAll] = useState<{ readonly listKey: string; readonly target: RunTarget }>();
  const matchCount =
    data === undefined
      ? undefined
      : { count: data.total, isExact: data.countedFromMs === undefined };
  // Another filter or time range clears the selection.
  const allTarget = all?.listKey === listKey ? all.target : undefined;
  const selectedTarget =
    selectedIds.size > 0 ? toSelectedTarget(projectId, selectedIds) : undefined;
  return {
    target: allTarget ?? selectedTarget,
    isAllSelected: allTarget !== undefined,
    matchCount,
    selectAll: () => setAll(matchCount && { listKey, target: toAllTarget(query, matchCount) }),
    clearAll: () => setAll(undefined),
  };
}

const ActionDialog = ({
  kind,
  address,
  target,
  selectedIds,
  onClose,
}: {
  readonly kind: OpenDialog;
  readonly address: ProjectAddress;
  readonly target: RunTarget;
  readonly selectedIds: ReadonlySet<string>;
  readonly onClose: () => void;
}) => {
  const queryClient = useQueryClient();
  const { runs, isAll } = target;
  switch (kind) {
    case "dataset":
      return (
        <AddToDataset
          address={address}
          runIds={[...selectedIds]}
          onClose={onClose}
          {...(isAll && {
            all: {
              target,
              start: async (datasetId, { includesOutputs, split }) =>
                startJob(queryClient, "runs.add_to_dataset", {
                  runs,
                  dataset_id: datasetId,
                  includes_outputs: includesOutputs,
                  ...(split === "" ? {} : { split }),
                }),
            },
          })}
        />
      );
    case "queue":
      return (
        <AddToQueue
          runIds={[...selectedIds]}
          onClose={onClose}
          {...(isAll && {
            all: {
              target,
              start: async (queueId) =>
                startJob(queryClient, "runs.add_to_queue", { runs, queue_id: queueId }),
            },
          })}
        />
      );
    case "tag":
      return <TagDialog target={target} onClose={onClose} />;
    case "feedback":
      return <FeedbackDialog target={target} onClose={onClose} />;
    case "delete":
      return <DeleteRunsDialog target={target} onClose={onClose} />;
  }
};

/** Downloads a file with a link, because the browser then writes it to disk without holding it in memory. */
function download(path: string): void {
  const link = document.createElement("a");
  link.href = path;
  link.download = "";
  link.click();
}
