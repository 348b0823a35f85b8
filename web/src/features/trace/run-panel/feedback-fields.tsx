import { Button, NumberInput, Textarea, TextInput } from "@mantine/core";
import { useState } from "react";
import { FormError } from "../../../components/dialog/form.tsx";
import type { FeedbackDraft, RunFeedback } from "./feedback-queries.ts";

/** What is said of a run: a key with a score, a value or words. */
export const FeedbackFields = ({
  known,
  onGive,
  onClose,
}: {
  /** What was said before; without it something new is said. */
  readonly known?: RunFeedback;
  readonly onGive: (draft: FeedbackDraft) => Promise<void>;
  readonly onClose: () => void;
}) => {
  const [key, setKey] = useState(known?.key ?? "");
  const [score, setScore] = useState<number | string>(toNumber(known?.score));
  const [value, setValue] = useState(toText(known?.value));
  const [comment, setComment] = useState(known?.comment ?? "");
  const [state, setState] = useState<{ readonly isBusy: boolean; readonly error?: string }>({
    isBusy: false,
  });
  const give = async (): Promise<void> => {
    if (key.trim() === "") {
      setState({ isBusy: false, error: "Say what is judged: a key such as correctness." });
      return;
    }
    setState({ isBusy: true });
    try {
      await onGive({
        key: key.trim(),
        // What was not touched stays what it was: a switch, or any JSON.
        score: score === toNumber(known?.score) ? known?.score : numberOf(score),
        value: value === toText(known?.value) ? known?.value : textOf(value),
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
        void give();
      }}
    >
      <TextInput
        size="xs"
        label="Key"
        placeholder="correctness"
        maxLength={180}
        disabled={known !== undefined}
        value={key}
        onChange={({ currentTarget }) => setKey(currentTarget.value)}
      />
      <NumberInput size="xs" label="Score" value={score} onChange={setScore} />
      <TextInput
        size="xs"
        label="Value"
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
          {known === undefined ? "Give" : "Save"}
        </Button>
      </div>
    </form>
  );
};

const numberOf = (score: number | string): number | undefined =>
  typeof score === "number" ? score : undefined;

const textOf = (value: string): string | undefined => (value === "" ? undefined : value);

/** A switch is given as the number that it stands for. */
function toNumber(score: number | boolean | undefined): number | string {
  return typeof score === "boolean" ? Number(score) : (score ?? "");
}

const toText = (value: unknown): string => {
  if (value === undefined) {
    return "";
  }
  return typeof value === "string" ? value : JSON.stringify(value);
};
