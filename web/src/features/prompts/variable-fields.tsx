import { Textarea } from "@mantine/core";
import { toVisibleText } from "../../components/text/visible-text.ts";
import type { PromptVariable } from "./manifest/manifest.ts";
import type { EnteredValues } from "./manifest/prompt-render.ts";

/** Fields to enter the values of the variables of a prompt. */
export const VariableFields = ({
  variables,
  enteredValues,
  onValues,
}: {
  readonly variables: readonly PromptVariable[];
  readonly enteredValues: EnteredValues;
  readonly onValues: (values: EnteredValues) => void;
}) => (
  <>
    {variables.map(({ name, isStructured, isMessageList }) => (
      <Textarea
        key={name}
        label={toVisibleText(name)}
        {...(isMessageList
          ? { description: 'A list of messages: [{"role": "human", "content": "…"}]' }
          : {})}
        {...(isStructured && !isMessageList ? { description: "JSON list or object" } : {})}
        rows={2}
        value={enteredValues[name] ?? ""}
        onChange={({ currentTarget: { value } }) => onValues({ ...enteredValues, [name]: value })}
      />
    ))}
  </>
);
