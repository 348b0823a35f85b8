import { NumberInput, SegmentedControl, Textarea, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Confirm } from "../../../components/dialog/confirm.tsx";
import { DialogForm } from "../../../components/dialog/dialog-form.tsx";
import { usePersonName } from "../../../components/text/person-name.ts";
import { startJob } from "../../jobs/queries.ts";
import { describeTarget } from "./run-target.ts";
import type { RunTarget } from "./run-target.ts";

interface ActionDialogProps {
  readonly target: RunTarget;
  readonly onClose: () => void;
}

/** A note that names the runs to which an action applies. */
export const TargetNote = ({ target }: { readonly target: RunTarget }) => (
  <p className="quiet">
    {target.isAll
      ? "This action applies to all runs that match the filter and the time range now, including runs that are not loaded. Runs that begin later are not included."
      : "This action applies to the selected runs."}{" "}
    You can see its progress and cancel it under Jobs.
  </p>
);

/** Adds a tag to runs, or removes it. */
export const TagDialog = ({ target, onClose }: ActionDialogProps) => {
  const queryClient = useQueryClient();
  const [mode, setMode] = useState("add");
  const [tag, setTag] = useState("");
  const name = tag.trim();
  return (
    <DialogForm
      title="Change tags"
      action={`${mode === "add" ? "Add tag to" : "Remove tag from"} ${describeTarget(target)}`}
      isDisabled={name === ""}
      onSubmit={async () => startJob(queryClient, "runs.tag", { runs: target.runs, [mode]: name })}
      onClose={onClose}
    >
      <SegmentedControl
        aria-label="Add or remove"
        data={[
          { value: "add", label: "Add tag" },
          { value: "remove", label: "Remove tag" },
        ]}
        value={mode}
        onChange={setMode}
      />
      <TextInput
        label="Tag"
        data-autofocus
        autoComplete="off"
        maxLength={200}
        value={tag}
        onChange={({ currentTarget }) => setTag(currentTarget.value)}
      />
      <TargetNote target={target} />
    </DialogForm>
  );
};

/** Adds the same feedback to runs. */
export const FeedbackDialog = ({ target, onClose }: ActionDialogProps) => {
  const queryClient = useQueryClient();
  const [key, setKey] = useState("");
  const [score, setScore] = useState<string | number>("");
  const [comment, setComment] = useState("");
  const [personName] = usePersonName();
  const submit = async (): Promise<unknown> =>
    startJob(queryClient, "runs.add_feedback", {
      runs: target.runs,
      key: key.trim(),
      ...(personName === "" ? {} : { reviewer: personName }),
      ...(typeof score === "number" ? { score } : {}),
      ...(comment.trim() === "" ? {} : { comment: comment.trim() }),
    });
  return (
    <DialogForm
      title="Add feedback"
      action={`Add to ${describeTarget(target)}`}
      isDisabled={key.trim() === "" || (typeof score !== "number" && comment.trim() === "")}
      onSubmit={submit}
      onClose={onClose}
    >
      <TextInput
        label="Key"
        autoComplete="off"
        maxLength={180}
        value={key}
        onChange={({ currentTarget }) => setKey(currentTarget.value)}
      />
      <NumberInput label="Score" value={score} onChange={setScore} />
      <Textarea
        label="Comment"
        maxLength={10_000}
        value={comment}
        onChange={({ currentTarget }) => setComment(currentTarget.value)}
      />
      <TargetNote target={target} />
    </DialogForm>
  );
};

/** Asks for confirmation before runs are deleted. */
export const DeleteRunsDialog = ({ target, onClose }: ActionDialogProps) => {
  const queryClient = useQueryClient();
  return (
    <Confirm
      title={`Delete ${describeTarget(target)}?`}
      action={`Delete ${describeTarget(target)}`}
      confirmationText="delete"
      onConfirm={async () => startJob(queryClient, "runs.delete", { runs: target.runs })}
      onClose={onClose}
    >
      <p>
        This deletes the selected runs and all their child runs, with the feedback, attachments and
        queue entries of these runs. This can&apos;t be undone.
      </p>
      <TargetNote target={target} />
    </Confirm>
  );
};
