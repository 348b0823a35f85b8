import { NumberInput, SegmentedControl } from "@mantine/core";
import { toVisibleText } from "../../components/text/visible-text.ts";
import type { FeedbackForm } from "./feedback.ts";
import type { SubmittedFeedback } from "./queries.ts";

interface ScoreFieldProps {
  readonly draft: SubmittedFeedback;
  readonly onChange: (draft: SubmittedFeedback) => void;
}

/** A field for the kind of feedback that the form requests: a number, a category, or good or bad. */
export const ScoreField = ({
  input,
  ...fieldProps
}: ScoreFieldProps & { readonly input: FeedbackForm["input"] }) => {
  switch (input.kind) {
    case "score":
      return <Score {...fieldProps} min={input.min} max={input.max} />;
    case "choice":
      return <Choice {...fieldProps} choices={input.choices} />;
    case "thumb":
      return (
        <Choice
          {...fieldProps}
          choices={[
            { score: 1, label: "Good" },
            { score: 0, label: "Bad" },
          ]}
        />
      );
    case "text":
      return null;
  }
};

const Score = ({
  draft,
  onChange,
  min,
  max,
}: ScoreFieldProps & { readonly min: number | undefined; readonly max: number | undefined }) => (
  <NumberInput
    label="Score"
    description={describeRange(min, max)}
    {...(min === undefined ? {} : { min })}
    {...(max === undefined ? {} : { max })}
    clampBehavior="strict"
    value={typeof draft.score === "number" ? draft.score : ""}
    onChange={(score) => onChange(typeof score === "number" ? { score } : {})}
  />
);

function describeRange(min: number | undefined, max: number | undefined): string {
  if (min !== undefined && max !== undefined) {
    return `From ${min} to ${max}`;
  }
  if (min !== undefined) {
    return `${min} or more`;
  }
  return max === undefined ? "Any number" : `${max} or less`;
}

const Choice = ({
  draft,
  onChange,
  choices,
}: ScoreFieldProps & {
  readonly choices: readonly { readonly score: number; readonly label: string }[];
}) => (
  <SegmentedControl
    aria-label="Your rating"
    orientation={choices.length > 4 ? "vertical" : "horizontal"}
    data={choices.map(({ score, label }) => ({
      value: String(score),
      label: toVisibleText(label),
    }))}
    value={draft.score === undefined ? "" : String(draft.score)}
    onChange={(value) => {
      const choice = choices.find(({ score }) => String(score) === value);
      if (choice !== undefined) {
        // Submit the label of the category together with its score.
        onChange({ score: choice.score, value: choice.label });
      }
    }}
  />
);
