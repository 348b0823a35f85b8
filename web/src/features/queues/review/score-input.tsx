import { NumberInput, Textarea } from "@mantine/core";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { isChosen, stepOf, toAnswer } from "../rubric.ts";
import type { Answer, ScoreInput as Asked } from "../rubric.ts";

interface ScoreProps {
  readonly input: Asked;
  readonly answer: Answer | undefined;
  /** Whether number keys answer it. */
  readonly isMarked: boolean;
  readonly onMark: () => void;
  readonly onAnswer: (answer: Answer | undefined) => void;
}

/** One question of the rubric, and its answer. */
export const ScoreInput = (props: ScoreProps) => {
  const { input, answer, isMarked, onMark } = props;
  const key = toVisibleText(input.key);
  return (
    // Whatever of it takes the focus marks it; it takes none itself.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <fieldset
      className="review-question"
      data-marked={isMarked}
      data-answered={answer !== undefined}
      onFocus={onMark}
    >
      <legend>
        {key}
        {input.isRequired && <span className="review-required"> must be answered</span>}
      </legend>
      {input.about !== "" && <p className="review-about">{toVisibleText(input.about)}</p>}
      <Field {...props} label={key} />
    </fieldset>
  );
};

const Field = ({ input, answer, label, onAnswer }: ScoreProps & { readonly label: string }) => {
  switch (input.kind) {
    case "categorical":
      return (
        <div className="review-choices">
          {input.choices.map((choice, index) => (
            <button
              key={`${choice.label} ${choice.score ?? ""}`}
              type="button"
              aria-pressed={isChosen(choice, answer)}
              title={choice.about === undefined ? undefined : toVisibleText(choice.about)}
              onClick={() => onAnswer(isChosen(choice, answer) ? undefined : toAnswer(choice))}
            >
              {index < 10 && <kbd>{(index + 1) % 10}</kbd>}
              {toVisibleText(choice.label)}
              {choice.about !== undefined && choice.about !== "" && (
                <span className="review-meaning">{toVisibleText(choice.about)}</span>
              )}
            </button>
          ))}
        </div>
      );
    case "continuous":
      return <Range input={input} answer={answer} label={label} onAnswer={onAnswer} />;
    case "freeform":
      return (
        <Textarea
          aria-label={label}
          autosize={false}
          rows={2}
          value={answer?.value ?? ""}
          onChange={({ currentTarget: { value } }) =>
            onAnswer(value === "" ? undefined : { value })
          }
        />
      );
  }
};

const Range = ({
  input,
  answer,
  label,
  onAnswer,
}: {
  readonly input: Asked & { readonly kind: "continuous" };
  readonly answer: Answer | undefined;
  readonly label: string;
  readonly onAnswer: (answer: Answer | undefined) => void;
}) => {
  const { min, max } = input;
  return (
    <div className="review-range">
      <input
        type="range"
        aria-label={`${label}, slider`}
        aria-valuetext={answer?.score === undefined ? "not answered" : String(answer.score)}
        min={min}
        max={max}
        step={stepOf(input)}
        value={answer?.score ?? min}
        data-answered={answer !== undefined}
        onChange={({ currentTarget }) => onAnswer({ score: Number(currentTarget.value) })}
      />
      <NumberInput
        aria-label={label}
        size="xs"
        min={min}
        max={max}
        step={stepOf(input)}
        value={answer?.score ?? ""}
        onChange={(value) => onAnswer(value === "" ? undefined : { score: Number(value) })}
      />
      <span className="review-bounds">
        {min} to {max}
      </span>
    </div>
  );
};
