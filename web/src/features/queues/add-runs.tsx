import { Textarea } from "@mantine/core";
import { useState } from "react";
import { addQueueRuns } from "./queries.ts";
import { counted } from "../../components/text/quantity.ts";
import { parseRunIds } from "./run-ids.ts";
import { DialogForm } from "../../components/dialog/dialog-form.tsx";

/** Puts runs into a queue, by their ids or addresses. */
export const AddRuns = ({
  queueId,
  onAdded,
  onClose,
}: {
  readonly queueId: string;
  readonly onAdded: () => Promise<void>;
  readonly onClose: () => void;
}) => {
  const [text, setText] = useState("");
  const ids = parseRunIds(text);
  return (
    <DialogForm
      title="Add runs"
      action={`Add ${counted(ids.length, "run")}`}
      isDisabled={ids.length === 0}
      onSubmit={async () => {
        await addQueueRuns(queueId, ids);
        await onAdded();
      }}
      onClose={onClose}
    >
      <Textarea
        label="Ids or addresses of runs"
        description="One after the other; what is around them is passed over."
        rows={6}
        value={text}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
      />
    </DialogForm>
  );
};
