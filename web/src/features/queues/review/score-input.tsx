import { NumberInput, Textarea } from "@mantine/core";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { isChosen, toAnswer, toSliderStep } from "../rubric.ts";
import type { Answer, RubricQuestion } from "../rubric.ts";

interface ScoreProps {
  readonly question: RubricQuestion;
  readonly answer: Answer | undefined;
  /** Whether number keys answer this question. */
  readonly isSelected: boolean;
  readonly onSelect: () => void;
  readonly onAnswer: (answer: Answer | undefined) => void;
}

/** One question of the rubric, and its answer. */
export const ScoreInput = (props: ScoreProps) => {
  const { question, answer, isSelected, onSelect } = props;
  const key = toVisibleText(question.key);
  return (
    // The fieldset itself can't have the focus; `onFocus` runs when one of its controls gets the focus.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <fieldset
      className="review-question"
      data-selected={isSelected}
      data-answered={answer !== undefined}
      onFocus={onSelect}
    >
      <legend>
        {key}
        {question.isRequired && <span className="review-required"> required</span>}
      </legend>
      {question.description !== "" && (
        <p className="review-about">{toVisibleText(question.description)}</p>
      )}
      <AnswerField {...props} label={key} />
    </fieldset>
  );
};

const AnswerField = ({
  question,
  answer,
  label,
  onAnswer,
}: ScoreProps & { readonly label: string }) => {
  switch (question.kind) {
    case "categorical":
      return (
        <div className="review-choices">
          {question.choices.map((choice, index) => (
            <button
              key={`${choice.label} ${choice.score ?? ""}`}
              type="button"
              aria-pressed={isChosen(choice, answer)}
              title={
                choice.description === undefined ? undefined : toVisibleText(choice.description)
              }
              onClick={() => onAnswer(isChosen(choice, answer) ? undefined : toAnswer(choice))}
            >
              {index < 10 && <kbd>{(index + 1) % 10}</kbd>}
              {toVisibleText(choice.label)}
              {choice.description !== undefined && choice.description !== "" && (
                <span className="review-meaning">{toVisibleText(choice.description)}</span>
              )}
            </button>
          ))}
        </div>
      );
    case "continuous":
      return <RangeInput question={question} answer={answer} label={label} onAnswer={onAnswer} />;
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

const RangeInput = ({
  question,
  answer,
  label,
  onAnswer,
}: {
  readonly question: RubricQuestion & { readonly kind: "continuous" };
  readonly answer: Answer | undefined;
  readonly label: string;
  readonly onAnswer: (answer: Answer | undefined) => void;
}) => {
  const { min, max } = question;
  return (
    <div className="review-range">
      <input
        type="range"
        aria-label={`${label}, slider`}
        aria-valuetext={answer?.score === undefined ? "not answered" : String(answer.score)}
        min={min}
        max={max}
        step={toSliderStep(question)}
        value={answer?.score ?? min}
        data-answered={answer !== undefined}
        onChange={({ currentTarget }) => onAnswer({ score: Number(currentTarget.value) })}
      />
      <NumberInput
        aria-label={label}
        size="xs"
        min={min}
        max={max}
        step={toSliderStep(question)}
        value={answer?.score ?? ""}
        onChange={(value) => onAnswer(value === "" ? undefined : { score: Number(value) })}
      />
      <span className="review-bounds">
        {min} to {max}
      </span>
    </div>
  );
};
