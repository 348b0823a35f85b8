import { Button } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { Confirm } from "../../components/dialog/confirm.tsx";
import { Dialog } from "../../components/dialog/dialog.tsx";
import { ActionMenu } from "../../components/page/action-menu.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { ProgressBar } from "./progress-bar.tsx";
import { deleteQueue, createProgressQuery } from "./queries.ts";
import { QueueForm } from "./queue-form.tsx";
import type { Queue } from "./queue.ts";
import { ReviewerEntry } from "./reviewer-entry.tsx";

/** The name, description, progress and actions of a queue. */
export const QueueHeading = ({
  queue,
  tenantId,
  view,
  reviewer,
  onReviewer,
}: {
  readonly queue: Queue;
  readonly tenantId: string;
  readonly view: "runs" | undefined;
  readonly reviewer: string;
  readonly onReviewer: (name: string) => void;
}) => {
  const client = useQueryClient();
  const navigate = useNavigate();
  const { data: progress } = useQuery(createProgressQuery(queue.id, reviewer));
  const [dialog, setDialog] = useState<"edit" | "delete" | "name">();
  const close = (): void => setDialog(undefined);
  return (
    <div className="heading">
      <div>
        <p className="crumbs">
          <Link to="/o/$tenantId/annotation-queues" params={{ tenantId }}>
            Annotation queues
          </Link>
        </p>
        <h1>
          <bdi>{toVisibleText(queue.name)}</bdi>
        </h1>
        {queue.description !== "" && <p className="about">{toVisibleText(queue.description)}</p>}
      </div>
      <div className="tools">
        {progress !== undefined && <ProgressBar progress={progress} />}
        <nav className="segments" aria-label="Queue views">
          <Link
            to="."
            search={{}}
            activeOptions={{ exact: true, includeSearch: true }}
            aria-current={view === undefined ? "page" : undefined}
          >
            Review
          </Link>
          <Link
            to="."
            search={{ view: "runs" }}
            activeOptions={{ exact: true, includeSearch: true }}
            aria-current={view === "runs" ? "page" : undefined}
          >
            Runs
          </Link>
        </nav>
        {reviewer !== "" && (
          <Button size="xs" variant="subtle" onClick={() => setDialog("name")}>
            {toVisibleText(reviewer)}
          </Button>
        )}
        <ActionMenu
          label="Queue actions"
          actions={[
            { label: "Edit queue", onClick: () => setDialog("edit") },
            { label: "Delete queue", onClick: () => setDialog("delete"), isDestructive: true },
          ]}
        />
      </div>
      {dialog === "edit" && <QueueForm queue={queue} onClose={close} />}
      {dialog === "name" && (
        <Dialog title="Change reviewer name" onClose={close}>
          <ReviewerEntry
            currentName={reviewer}
            onName={(name) => {
              onReviewer(name);
              close();
              void navigate({ to: ".", search: view === undefined ? {} : { view } });
            }}
          />
        </Dialog>
      )}
      {dialog === "delete" && (
        <Confirm
          title={`Delete ${toVisibleText(queue.name)}?`}
          action="Delete queue"
          onClose={close}
          onConfirm={async () => {
            await deleteQueue(queue.id);
            await navigate({ to: "/o/$tenantId/annotation-queues", params: { tenantId } });
            await client.invalidateQueries({ queryKey: ["queues", "list"] });
          }}
        >
          <p>
            The runs and their feedback are kept. The record of who reviews or has reviewed each run
            is deleted.
          </p>
        </Confirm>
      )}
    </div>
  );
};
