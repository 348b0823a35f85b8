import { Button, Menu } from "@mantine/core";
import { useState } from "react";
import { AddToDataset, AddToQueue } from "./add-runs-dialog.tsx";
import { startExport, toSearchBody } from "./queries.ts";
import type { RunListQuery } from "./queries.ts";
import type { ProjectAddress } from "./run-list-search.ts";

/** What can be done with runs: those that are selected, or for an export all that meet the filter. */
export const SelectionBar = ({
  address,
  query,
  ids,
  onClear,
  onCompare,
}: {
  readonly address: ProjectAddress;
  readonly query: RunListQuery;
  readonly ids: ReadonlySet<string>;
  readonly onClear: () => void;
  readonly onCompare: () => void;
}) => {
  const [open, setOpen] = useState<"dataset" | "queue">();
  const [fault, setFault] = useState<string>();
  const count = ids.size;
  const save = async (format: "jsonl" | "csv"): Promise<void> => {
    setFault(undefined);
    try {
      const body = count > 0 ? { session: [address.projectId], id: [...ids] } : toSearchBody(query);
      download(await startExport(body, format));
    } catch (cause) {
      setFault(cause instanceof Error ? cause.message : String(cause));
    }
  };
  return (
    <footer className="selection-bar" aria-label="Selection">
      <span>{count === 0 ? "Nothing selected" : `${count.toLocaleString()} selected`}</span>
      {count > 0 && (
        <>
          <Button size="compact-sm" variant="subtle" onClick={onClear}>
            Clear
          </Button>
          <Button size="compact-sm" variant="default" disabled={count !== 2} onClick={onCompare}>
            Compare two
          </Button>
          <Button size="compact-sm" variant="default" onClick={() => setOpen("dataset")}>
            Add to dataset
          </Button>
          <Button size="compact-sm" variant="default" onClick={() => setOpen("queue")}>
            Add to queue
          </Button>
        </>
      )}
      <Menu position="top-end" withinPortal={false} transitionProps={{ duration: 0 }}>
        <Menu.Target>
          <Button size="compact-sm" variant="default">
            {count === 0 ? "Export all that match" : "Export selected"}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => void save("jsonl")}>JSON lines</Menu.Item>
          <Menu.Item onClick={() => void save("csv")}>CSV</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {fault !== undefined && (
        <span className="bad" role="alert">
          {fault}
        </span>
      )}
      {open === "dataset" && (
        <AddToDataset address={address} ids={[...ids]} onClose={() => setOpen(undefined)} />
      )}
      {open === "queue" && <AddToQueue ids={[...ids]} onClose={() => setOpen(undefined)} />}
    </footer>
  );
};

/** The browser fetches the file itself, and saves it as it comes. */
function download(path: string): void {
  const link = document.createElement("a");
  link.href = path;
  link.download = "";
  link.click();
}
