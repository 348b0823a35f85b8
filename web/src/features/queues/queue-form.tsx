import { Button, NativeSelect, NumberInput, Switch, Textarea, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Dialog } from "../../components/dialog/dialog.tsx";
import { FormError } from "../../components/dialog/form.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { createQueue, updateQueue } from "./queries.ts";
import {
  createQueueDraft,
  maxClaimMinutes,
  maxReviewersPerRun,
  parseNumber,
  toQueueFields,
  validateQueueDraft,
} from "./queue-draft.ts";
import type { QueueDraft } from "./queue-draft.ts";
import type { Queue } from "./queue.ts";
import { datasetNamesQuery } from "./review/queries.ts";
import { RubricFields } from "./rubric-fields.tsx";

/** Creates a queue, or edits an existing one. */
export const QueueForm = ({
  queue,
  onClose,
  onSaved,
}: {
  /** The queue to edit; absent to create one. */
  readonly queue?: Queue;
  readonly onClose: () => void;
  readonly onSaved?: (queue: Queue) => void;
}) => {
  const client = useQueryClient();
  const [id] = useState(() => queue?.id ?? crypto.randomUUID());
  const [draft, setDraft] = useState(() => createQueueDraft(queue));
  const [state, setState] = useState<{ readonly isBusy: boolean; readonly error?: string }>({
    isBusy: false,
  });
  const save = async (): Promise<void> => {
    const problem = validateQueueDraft(draft);
    if (problem !== undefined) {
      setState({ isBusy: false, error: problem });
      return;
    }
    setState({ isBusy: true });
    try {
      const fields = toQueueFields(draft);
      const saved = await (queue === undefined ? createQueue(id, fields) : updateQueue(id, fields));
      await client.invalidateQueries({ queryKey: ["queues"] });
      onClose();
      onSaved?.(saved);
    } catch (cause) {
      setState({ isBusy: false, error: cause instanceof Error ? cause.message : String(cause) });
    }
  };
  return (
    <Dialog title={queue === undefined ? "New queue" : "Edit queue"} width={680} onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <QueueFormFields draft={draft} onDraft={setDraft} />
        <RubricFields
          questions={draft.questions}
          onQuestions={(questions) => setDraft({ ...draft, questions })}
        />
        <FormError error={state.error} />
        <div className="dialog-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={state.isBusy}>
            {queue === undefined ? "Create queue" : "Save"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
};

const QueueFormFields = ({
  draft,
  onDraft,
}: {
  readonly draft: QueueDraft;
  readonly onDraft: (draft: QueueDraft) => void;
}) => {
  const { data: datasets = [] } = useQuery(datasetNamesQuery);
  const change = (changes: Partial<QueueDraft>): void => onDraft({ ...draft, ...changes });
  return (
    <>
      <TextInput
        label="Name"
        required
        value={draft.name}
        onChange={({ currentTarget }) => change({ name: currentTarget.value })}
      />
      <TextInput
        label="Description"
        value={draft.description}
        onChange={({ currentTarget }) => change({ description: currentTarget.value })}
      />
      <Textarea
        label="Instructions for reviewers"
        description="Markdown, shown next to each run."
        rows={3}
        value={draft.instructions}
        onChange={({ currentTarget }) => change({ instructions: currentTarget.value })}
      />
      <NativeSelect
        label="Dataset for corrected runs"
        value={draft.datasetId}
        onChange={({ currentTarget }) => change({ datasetId: currentTarget.value })}
        data={[
          { value: "", label: "None" },
          ...datasets.map(({ id, name }) => ({ value: id, label: toVisibleText(name) })),
        ]}
      />
      <div className="queues-row">
        <NumberInput
          label="Reviews per run"
          min={1}
          max={maxReviewersPerRun}
          allowDecimal={false}
          value={draft.reviewersPerRun ?? ""}
          onChange={(value) => change({ reviewersPerRun: parseNumber(value) })}
        />
        <NumberInput
          label="Claim timeout (minutes)"
          min={1}
          max={maxClaimMinutes}
          allowDecimal={false}
          disabled={!draft.shouldClaimRuns}
          value={draft.claimMinutes ?? ""}
          onChange={(value) => change({ claimMinutes: parseNumber(value) })}
        />
      </div>
      <Switch
        label="Prevent duplicate reviews"
        description="Claims a run for the reviewer who opens it."
        checked={draft.shouldClaimRuns}
        onChange={({ currentTarget }) => change({ shouldClaimRuns: currentTarget.checked })}
      />
    </>
  );
};
