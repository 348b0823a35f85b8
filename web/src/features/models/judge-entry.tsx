import { NativeSelect, Textarea, TextInput } from "@mantine/core";
import { judgeResultLabels } from "./judge-draft.ts";
import type { JudgeDraft, JudgeFaults, JudgeResultKind } from "./judge-draft.ts";
import { ModelFields } from "./model-fields.tsx";
import "./models.css";

/** Fields to edit an LLM judge: a prompt, and the model that judges an output as the prompt instructs it. */
export const JudgeEntry = ({
  draft,
  endpoints,
  variables,
  faults = {},
  onChange,
}: {
  readonly draft: JudgeDraft;
  readonly endpoints: readonly { readonly name: string; readonly host: string }[];
  /** The variables that the template can use, in words, such as `inputs and output`. */
  readonly variables: string;
  /** The error messages to show at the fields. */
  readonly faults?: JudgeFaults;
  readonly onChange: (draft: JudgeDraft) => void;
}) => {
  const change = (changes: Partial<JudgeDraft>): void => onChange({ ...draft, ...changes });
  return (
    <>
      <div className="model-fields">
        <TextInput
          label="Feedback key"
          required
          error={faults.key}
          value={draft.key}
          onChange={({ currentTarget }) => change({ key: currentTarget.value })}
        />
        <NativeSelect
          label="Result"
          value={draft.form}
          data={Object.entries(judgeResultLabels).map(([value, label]) => ({ value, label }))}
          onChange={({ currentTarget }) => change({ form: currentTarget.value as JudgeResultKind })}
        />
        {draft.form === "categories" && (
          <TextInput
            label="Categories"
            description="Separate categories by commas."
            required
            error={faults.categories}
            value={draft.categories}
            onChange={({ currentTarget }) => change({ categories: currentTarget.value })}
          />
        )}
      </div>
      <Textarea
        label="Judge prompt"
        description={`A Mustache template. Its variables are ${variables}.`}
        required
        autosize
        minRows={4}
        maxRows={16}
        error={faults.template}
        value={draft.template}
        onChange={({ currentTarget }) => change({ template: currentTarget.value })}
      />
      <ModelFields draft={draft} endpoints={endpoints} faults={faults} onChange={onChange} />
    </>
  );
};
