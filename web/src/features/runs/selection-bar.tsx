import { Button, Menu } from "@mantine/core";
import { useState } from "react";
import { AddToDataset, AddToQueue } from "./add-runs-dialog.tsx";
import { startExport, toSearchBody } from "./queries.ts";
import type { RunListQuery } from "./queries.ts";
import type { ProjectAddress } from "./run-list-search.ts";

/** The actions on the selected runs. An export without a selection contains all runs that match the filter. */
export const SelectionBar = ({
  address,
  query,
  selectedIds,
  onClear,
  onCompare,
}: {
  readonly address: ProjectAddress;
  readonly query: RunListQuery;
  readonly selectedIds: ReadonlySet<string>;
  readonly onClear: () => void;
  readonly onCompare: () => void;
}) => {
  const [openDialog, setOpenDialog] = useState<"dataset" | "queue">();
  const [error, setError] = useState<string>();
  const count = selectedIds.size;
  const exportRuns = async (format: "jsonl" | "csv"): Promise<void> => {
    setError(undefined);
    try {
      const body =
        count > 0 ? { session: [address.projectId], id: [...selectedIds] } : toSearchBody(query);
      download(await startExport(body, format));
    } catch (cause) {
      setError(cause instanceof Error ? cause.message : String(cause));
    }
  };
  return (
    <footer className="selection-bar" aria-label="Selected runs">
      <span>{count === 0 ? "No runs selected" : `${count.toLocaleString()} selected`}</span>
      {count > 0 && (
        <>
          <Button size="compact-sm" variant="subtle" onClick={onClear}>
            Clear selection
          </Button>
          <Button size="compact-sm" variant="default" disabled={count !== 2} onClick={onCompare}>
            Compare runs
          </Button>
          <Button size="compact-sm" variant="default" onClick={() => setOpenDialog("dataset")}>
            Add to dataset
          </Button>
          <Button size="compact-sm" variant="default" onClick={() => setOpenDialog("queue")}>
            Add to queue
          </Button>
        </>
      )}
      <Menu position="top-end" withinPortal={false} transitionProps={{ duration: 0 }}>
        <Menu.Target>
          <Button size="compact-sm" variant="default">
            {count === 0 ? "Export all matches" : "Export selected"}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => void exportRuns("jsonl")}>JSON Lines</Menu.Item>
          <Menu.Item onClick={() => void exportRuns("csv")}>CSV</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {error !== undefined && (
        <span className="bad" role="alert">
          {error}
        </span>
      )}
      {openDialog === "dataset" && (
        <AddToDataset
          address={address}
          runIds={[...selectedIds]}
          onClose={() => setOpenDialog(undefined)}
        />
      )}
      {openDialog === "queue" && (
        <AddToQueue runIds={[...selectedIds]} onClose={() => setOpenDialog(undefined)} />
      )}
    </footer>
  );
};

/** Downloads a file with a link, because the browser then writes it to disk without holding it in memory. */
function download(path: string): void {
  const link = document.createElement("a");
  link.href = path;
  link.download = "";
  link.click();
}
