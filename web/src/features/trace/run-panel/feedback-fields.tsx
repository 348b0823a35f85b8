import { Button, NumberInput, Textarea, TextInput } from "@mantine/core";
import { useState } from "react";
import { FormError } from "../../../components/dialog/form.tsx";
import type { FeedbackDraft, RunFeedback } from "./feedback-queries.ts";

/** The form for feedback on a run: a key with a score, a value or a comment. */
export const FeedbackFields = ({
  existingFeedback,
  onSave,
  onClose,
}: {
  /** The feedback to edit; absent when the form creates new feedback. */
  readonly existingFeedback?: RunFeedback;
  readonly onSave: (draft: FeedbackDraft) => Promise<void>;
  readonly onClose: () => void;
}) => {
  const [key, setKey] = useState(existingFeedback?.key ?? "");
  const [score, setScore] = useState<number | string>(toFieldNumber(existingFeedback?.score));
  const [value, setValue] = useState(toFieldText(existingFeedback?.value));
  const [comment, setComment] = useState(existingFeedback?.comment ?? "");
  const [state, setState] = useState<{ readonly isBusy: boolean; readonly error?: string }>({
    isBusy: false,
  });
  const save = async (): Promise<void> => {
    if (key.trim() === "") {
      setState({ isBusy: false, error: "Enter a key, for example correctness." });
      return;
    }
    setState({ isBusy: true });
    try {
      await onSave({
        key: key.trim(),
        // For an unchanged field, send the original value: the field shows a boolean as a number, and JSON as text.
        score:
          score === toFieldNumber(existingFeedback?.score)
            ? existingFeedback?.score
            : parseScore(score),
        value:
          value === toFieldText(existingFeedback?.value)
            ? existingFeedback?.value
            : parseValue(value),
        comment: comment === "" ? undefined : comment,
      });
    } catch (cause) {
      setState({ isBusy: false, error: cause instanceof Error ? cause.message : String(cause) });
    }
  };
  return (
    <form
      className="feedback-fields"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <TextInput
        size="xs"
        label="Key"
        placeholder="correctness"
        maxLength={180}
        disabled={existingFeedback !== undefined}
        value={key}
        onChange={({ currentTarget }) => setKey(currentTarget.value)}
      />
      <NumberInput size="xs" label="Score" value={score} onChange={setScore} />
      <TextInput
        size="xs"
        label="Value (text or category)"
        value={value}
        onChange={({ currentTarget }) => setValue(currentTarget.value)}
      />
      <Textarea
        size="xs"
        label="Comment"
        value={comment}
        onChange={({ currentTarget }) => setComment(currentTarget.value)}
      />
      <FormError error={state.error} />
      <div className="feedback-buttons">
        <Button size="xs" variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button size="xs" type="submit" loading={state.isBusy}>
          {existingFeedback === undefined ? "Submit" : "Save"}
        </Button>
      </div>
    </form>
  );
};

const parseScore = (score: number | string): number | undefined =>
  typeof score === "number" ? score : undefined;

const parseValue = (value: string): string | undefined => (value === "" ? undefined : value);

/** Converts a score to the value of the number field, in which a boolean is 0 or 1. */
function toFieldNumber(score: number | boolean | undefined): number | string {
  return typeof score === "boolean" ? Number(score) : (score ?? "");
}

const toFieldText = (value: unknown): string => {
  if (value === undefined) {
    return "";
  }
  return typeof value === "string" ? value : JSON.stringify(value);
};
