import { Button, NativeSelect, NumberInput, Switch, Textarea, TextInput } from "@mantine/core";
import { createQuestion, parseNumber } from "./queue-draft.ts";
import type { QuestionDraft } from "./queue-draft.ts";

const answerKinds = [
  { value: "yesno", label: "Yes or no" },
  { value: "categorical", label: "Choices" },
  { value: "continuous", label: "Number" },
  { value: "freeform", label: "Text" },
] as const;

/** Form fields for the questions of a queue's rubric. */
export const RubricFields = ({
  questions,
  onQuestions,
}: {
  readonly questions: readonly QuestionDraft[];
  readonly onQuestions: (questions: readonly QuestionDraft[]) => void;
}) => {
  const changeQuestion = (id: string, changes: Partial<QuestionDraft>): void =>
    onQuestions(
      questions.map((question) => (question.id === id ? { ...question, ...changes } : question)),
    );
  return (
    <fieldset className="queues-questions">
      <legend>Questions</legend>
      {questions.map((question, index) => (
        <Question
          key={question.id}
          question={question}
          number={index + 1}
          onChange={(changes) => changeQuestion(question.id, changes)}
          onRemove={() => onQuestions(questions.filter(({ id }) => id !== question.id))}
        />
      ))}
      <Button
        size="xs"
        variant="default"
        onClick={() => onQuestions([...questions, createQuestion(crypto.randomUUID())])}
      >
        Add question
      </Button>
    </fieldset>
  );
};

interface QuestionProps {
  readonly question: QuestionDraft;
  readonly number: number;
  readonly onChange: (changes: Partial<QuestionDraft>) => void;
  readonly onRemove: () => void;
}

const Question = (props: QuestionProps) => {
  const { question, number, onChange, onRemove } = props;
  return (
    <fieldset className="queues-question" aria-label={`Question ${number}`}>
      <div className="queues-row">
        <TextInput
          label="Feedback key"
          description="Answers are stored as feedback with this key."
          value={question.key}
          onChange={({ currentTarget }) => onChange({ key: currentTarget.value })}
        />
        <NativeSelect
          label="Answer type"
          value={question.kind}
          data={answerKinds.map((kind) => ({ ...kind }))}
          onChange={({ currentTarget }) => {
            const kind = answerKinds.find(({ value }) => value === currentTarget.value)?.value;
            onChange(kind === undefined ? {} : { kind });
          }}
        />
      </div>
      <TextInput
        label="Question"
        value={question.description}
        onChange={({ currentTarget }) => onChange({ description: currentTarget.value })}
      />
      <AnswerTypeFields {...props} />
      <div className="queues-row queues-question-end">
        <Switch
          label="Answer required"
          checked={question.isRequired}
          onChange={({ currentTarget }) => onChange({ isRequired: currentTarget.checked })}
        />
        <Button size="compact-xs" variant="subtle" color="gray" onClick={onRemove}>
          Remove question
        </Button>
      </div>
    </fieldset>
  );
};

const AnswerTypeFields = ({ question, onChange }: QuestionProps) => {
  if (question.kind === "categorical") {
    return (
      <Textarea
        label="Choices"
        description="Enter one choice per line: a score and a name (2 = good), or only a name (good)."
        rows={3}
        value={question.choices}
        onChange={({ currentTarget }) => onChange({ choices: currentTarget.value })}
      />
    );
  }
  return question.kind === "continuous" ? (
    <div className="queues-row">
      <NumberInput
        label="Minimum"
        value={question.min ?? ""}
        onChange={(value) => onChange({ min: parseNumber(value) })}
      />
      <NumberInput
        label="Maximum"
        value={question.max ?? ""}
        onChange={(value) => onChange({ max: parseNumber(value) })}
      />
    </div>
  ) : null;
};
