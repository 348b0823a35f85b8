import { NativeSelect, TextInput } from "@mantine/core";
import type { ModelDraft, ModelFaults } from "./model-draft.ts";
import "./models.css";

export const ModelFields = <Draft extends ModelDraft>({
  draft,
  endpoints,
  faults = {},
  onChange,
}: {
  readonly draft: Draft;
  readonly endpoints: readonly { readonly name: string; readonly host: string }[];
  /** The error messages to show at the fields. */
  readonly faults?: ModelFaults;
  readonly onChange: (draft: Draft) => void;
}) => (
  <div className="model-fields">
    <NativeSelect
      label="Endpoint"
      error={faults.endpoint}
      value={draft.endpoint}
      data={endpoints.map(({ name, host }) => ({ value: name, label: `${name} (${host})` }))}
      onChange={({ currentTarget }) => onChange({ ...draft, endpoint: currentTarget.value })}
    />
    <TextInput
      label="Model"
      required
      placeholder="gpt-5-mini"
      error={faults.model}
      value={draft.model}
      onChange={({ currentTarget }) => onChange({ ...draft, model: currentTarget.value })}
    />
    <TextInput
      label="Temperature"
      inputMode="decimal"
      placeholder="Default"
      error={faults.temperature}
      value={draft.temperature}
      onChange={({ currentTarget }) => onChange({ ...draft, temperature: currentTarget.value })}
    />
    <TextInput
      label="Max tokens"
      inputMode="numeric"
      placeholder="Default"
      error={faults.maxTokens}
      value={draft.maxTokens}
      onChange={({ currentTarget }) => onChange({ ...draft, maxTokens: currentTarget.value })}
    />
  </div>
);
