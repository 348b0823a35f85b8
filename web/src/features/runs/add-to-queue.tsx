import { addRunsToQueue, createTargetQueue, targetQueuesQuery } from "./run-targets.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { AddRunsDialog } from "./add-runs-dialog.tsx";

/** Puts runs at the end of an annotation queue. */
export const AddToQueue = ({
  ids,
  onClose,
}: {
  readonly ids: readonly string[];
  readonly onClose: () => void;
}) => (
  <AddRunsDialog
    title="Add to an annotation queue"
    noun="queue"
    count={ids.length}
    targets={targetQueuesQuery}
    onCreate={createTargetQueue}
    onAdd={async ({ id }) => addRunsToQueue(id, ids)}
    renderTarget={({ name }) => <b>{toVisibleText(name)}</b>}
    onClose={onClose}
  />
);
