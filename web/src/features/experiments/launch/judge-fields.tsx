import { Button, NativeSelect, Textarea, TextInput } from "@mantine/core";
import { FormSection } from "../../../components/dialog/form.tsx";
import { createJudgeDraft, judgeForms } from "./launch-draft.ts";
import type { JudgeDraft, JudgeForm } from "./launch-draft.ts";
import { ModelFields } from "./model-fields.tsx";
import { replaceAt } from "./replace-at.ts";

/** The judges of an experiment: prompts with which a model judges each output. */
export const JudgeFields = ({
  judges,
  endpoints,
  onChange,
}: {
  readonly judges: readonly JudgeDraft[];
  readonly endpoints: readonly { readonly name: string; readonly host: string }[];
  readonly onChange: (judges: readonly JudgeDraft[]) => void;
}) => (
  <FormSection
    title="LLM judges"
    description="A model judges each output. The form of its answer is added to your prompt."
  >
    {judges.map((judge, index) => {
      const change = (changes: Partial<JudgeDraft>): void =>
        onChange(replaceAt(judges, index, { ...judge, ...changes }));
      return (
        <fieldset key={index} className="launch-item">
          <legend>Judge {index + 1}</legend>
          <div className="launch-fields">
            <TextInput
              label="Feedback key"
              required
              value={judge.key}
              onChange={({ currentTarget }) => change({ key: currentTarget.value })}
            />
            <NativeSelect
              label="Result"
              value={judge.form}
              data={Object.entries(judgeForms).map(([value, label]) => ({ value, label }))}
              onChange={({ currentTarget }) => change({ form: currentTarget.value as JudgeForm })}
            />
            {judge.form === "categories" && (
              <TextInput
                label="Categories"
                description="Comma-separated"
                required
                value={judge.categories}
                onChange={({ currentTarget }) => change({ categories: currentTarget.value })}
              />
            )}
          </div>
          <Textarea
            label="Judge prompt"
            description="Mustache template. Variables: inputs, output and reference, and their members, such as inputs.question"
            required
            autosize
            minRows={4}
            maxRows={16}
            value={judge.template}
            onChange={({ currentTarget }) => change({ template: currentTarget.value })}
          />
          <ModelFields draft={judge} endpoints={endpoints} onChange={change} />
          <Button
            size="compact-xs"
            variant="subtle"
            color="gray"
            onClick={() => onChange(judges.toSpliced(index, 1))}
          >
            Remove judge {index + 1}
          </Button>
        </fieldset>
      );
    })}
    <Button
      variant="default"
      size="xs"
      className="launch-add"
      onClick={() => onChange([...judges, createJudgeDraft(endpoints[0]?.name ?? "")])}
    >
      Add a judge
    </Button>
  </FormSection>
);
