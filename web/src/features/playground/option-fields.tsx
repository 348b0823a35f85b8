import { Textarea, TextInput } from "@mantine/core";
import { useMemo } from "react";
import { Code } from "../../components/code/code.tsx";
import { findSettingFault, parseSchema, parseTools } from "./playground-request.ts";
import type { NumberSetting, TextFault } from "./playground-request.ts";
import type { EnteredSettings, PlaygroundState } from "./playground-state.ts";

const numberLabels: Readonly<Record<NumberSetting, string>> = {
  temperature: "Temperature",
  maxTokens: "Max tokens",
  topP: "Top P",
  seed: "Seed",
};

/** Fields for the settings of the model, its tools, and the output schema. */
export const OptionFields = ({
  state: { settings, toolsText, schemaText },
  onChange,
}: {
  readonly state: PlaygroundState;
  readonly onChange: (changes: Partial<PlaygroundState>) => void;
}) => {
  const toolFaults = useMemo(() => parseTools(toolsText).faults, [toolsText]);
  const schemaFaults = useMemo(() => parseSchema(schemaText).faults, [schemaText]);
  const changeSettings = (changes: Partial<EnteredSettings>): void =>
    onChange({ settings: { ...settings, ...changes } });
  return (
    <>
      <details className="playground-section" open={hasSettings(settings)}>
        <summary>Settings</summary>
        <div className="playground-settings">
          {(Object.keys(numberLabels) as NumberSetting[]).map((name) => (
            <TextInput
              key={name}
              label={numberLabels[name]}
              inputMode="decimal"
              placeholder="Default"
              value={settings[name]}
              error={findSettingFault(name, settings[name])}
              onChange={({ currentTarget }) => changeSettings({ [name]: currentTarget.value })}
            />
          ))}
          <Textarea
            label="Stop sequences"
            description="One per line"
            rows={2}
            value={settings.stop}
            onChange={({ currentTarget }) => changeSettings({ stop: currentTarget.value })}
          />
        </div>
      </details>
      <JsonOption
        label="Tools"
        hint="A JSON list of tools in the format of OpenAI or Anthropic."
        text={toolsText}
        faults={toolFaults}
        onText={(text) => onChange({ toolsText: text })}
      />
      <JsonOption
        label="Output schema"
        hint="A JSON schema that the answer must match."
        text={schemaText}
        faults={schemaFaults}
        onText={(text) => onChange({ schemaText: text })}
      />
    </>
  );
};

const hasSettings = (settings: EnteredSettings): boolean =>
  Object.values(settings).some((text) => text !== "");

/** A JSON text whose faults are underlined and listed. */
const JsonOption = ({
  label,
  hint,
  text,
  faults,
  onText,
}: {
  readonly label: string;
  readonly hint: string;
  readonly text: string;
  readonly faults: readonly TextFault[];
  readonly onText: (text: string) => void;
}) => (
  <details className="playground-section" open={text !== ""}>
    <summary>{label}</summary>
    <p className="note">{hint}</p>
    <Code
      label={label}
      language="json"
      value={text}
      faults={faults}
      minHeight={80}
      maxHeight={320}
      onChange={onText}
    />
    {faults.map(({ from, message }) => (
      <p key={`${from} ${message}`} className="bad">
        {message}
      </p>
    ))}
  </details>
);
