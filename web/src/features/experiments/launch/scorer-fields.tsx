import { Button, Checkbox, NativeSelect, TextInput } from "@mantine/core";
import { FormSection } from "../../../components/dialog/form.tsx";
import type { LaunchFaults, ScorerDraft, ScorerField, ScorerForm } from "./launch-draft.ts";
import { replaceAt } from "./replace-at.ts";

/** The scorers of an experiment. The server describes which fields each scorer has. */
export const ScorerFields = ({
  scorers,
  forms,
  faults,
  onChange,
}: {
  readonly scorers: readonly ScorerDraft[];
  readonly forms: readonly ScorerForm[];
  /** The error messages to show at the fields, in the order of the scorers. */
  readonly faults: LaunchFaults["scorers"];
  readonly onChange: (scorers: readonly ScorerDraft[]) => void;
}) => (
  <FormSection
    title="Scorers"
    description="Compare each output with the expected output, without a model."
  >
    {scorers.map((draft, index) => (
      <ScorerItem
        key={index}
        draft={draft}
        form={forms.find(({ scorer }) => scorer === draft.scorer)}
        faults={faults[index] ?? {}}
        onChange={(changed) => onChange(replaceAt(scorers, index, changed))}
        onRemove={() => onChange(scorers.toSpliced(index, 1))}
      />
    ))}
    <NativeSelect
      aria-label="Add a scorer"
      className="launch-add"
      value=""
      data={[
        { value: "", label: "Add a scorer …" },
        ...forms.map(({ scorer, title }) => ({ value: scorer, label: title })),
      ]}
      onChange={({ currentTarget }) =>
        onChange([...scorers, { scorer: currentTarget.value, options: {} }])
      }
    />
  </FormSection>
);

const ScorerItem = ({
  draft,
  form,
  faults,
  onChange,
  onRemove,
}: {
  readonly draft: ScorerDraft;
  readonly form: ScorerForm | undefined;
  readonly faults: LaunchFaults["scorers"][number];
  readonly onChange: (draft: ScorerDraft) => void;
  readonly onRemove: () => void;
}) => (
  <fieldset className="launch-item">
    <legend>{form?.title ?? draft.scorer}</legend>
    <p className="form-about">{form?.hint}</p>
    <div className="launch-fields">
      {form?.fields.map((field) => (
        <OptionField
          key={field.name}
          field={field}
          value={draft.options[field.name] ?? ""}
          fault={faults[field.name]}
          onChange={(value) =>
            onChange({ ...draft, options: { ...draft.options, [field.name]: value } })
          }
        />
      ))}
    </div>
    <Button size="compact-xs" variant="subtle" color="gray" onClick={onRemove}>
      Remove {form?.title}
    </Button>
  </fieldset>
);

const OptionField = ({
  field: { title, hint, kind, isRequired },
  value,
  fault,
  onChange,
}: {
  readonly field: ScorerField;
  readonly value: string;
  readonly fault: string | undefined;
  readonly onChange: (value: string) => void;
}) =>
  kind === "flag" ? (
    <Checkbox
      label={title}
      description={hint}
      checked={value === "true"}
      onChange={({ currentTarget }) => onChange(String(currentTarget.checked))}
    />
  ) : (
    <TextInput
      label={title}
      description={kind === "list" ? `${hint}. Separate items by commas.` : hint}
      required={isRequired}
      error={fault}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
