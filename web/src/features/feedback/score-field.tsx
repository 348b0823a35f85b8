import { NumberInput, SegmentedControl } from "@mantine/core";
import type { GivenFeedback } from "./queries.ts";
import type { FeedbackForm } from "./feedback.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";

interface JudgingProps {
  readonly given: GivenFeedback;
  readonly onGive: (given: GivenFeedback) => void;
}

/** What the token asks for: a score within its range, one of its categories, or a thumb. */
export const Judging = ({
  asks,
  ...rest
}: JudgingProps & { readonly asks: FeedbackForm["asks"] }) => {
  switch (asks.kind) {
    case "score":
      return <Score {...rest} min={asks.min} max={asks.max} />;
    case "choice":
      return <Choice {...rest} choices={asks.choices} />;
    case "thumb":
      return (
        <Choice
          {...rest}
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
  given,
  onGive,
  min,
  max,
}: JudgingProps & { readonly min: number | undefined; readonly max: number | undefined }) => (
  <NumberInput
    label="Score"
    description={describeRange(min, max)}
    {...(min === undefined ? {} : { min })}
    {...(max === undefined ? {} : { max })}
    clampBehavior="strict"
    value={typeof given.score === "number" ? given.score : ""}
    onChange={(score) => onGive(typeof score === "number" ? { score } : {})}
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
  given,
  onGive,
  choices,
}: JudgingProps & {
  readonly choices: readonly { readonly score: number; readonly label: string }[];
}) => (
  <SegmentedControl
    aria-label="Your judgement"
    orientation={choices.length > 4 ? "vertical" : "horizontal"}
    data={choices.map(({ score, label }) => ({
      value: String(score),
      label: toVisibleText(label),
    }))}
    value={given.score === undefined ? "" : String(given.score)}
    onChange={(value) => {
      const choice = choices.find(({ score }) => String(score) === value);
      if (choice !== undefined) {
        // What a category is called goes with its number.
        onGive({ score: choice.score, value: choice.label });
      }
    }}
  />
);
