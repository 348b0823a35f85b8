import { toRecord, toText } from "../../../api/parse.ts";
import type { PromptContent, PromptPart, PromptVariable } from "./manifest.ts";
import { fillTemplate, findTemplateFault } from "./template.ts";
import type { TemplateValues } from "./template.ts";

/** A message whose variables are replaced with values. */
export interface FilledMessage {
  readonly role: string;
  readonly text: string;
}

/** The text that the user entered for each variable, by name. */
export type EnteredValues = Readonly<Record<string, string>>;

/** Converts entered text to the value of a variable: parsed JSON for a structured variable, otherwise the text. */
function toValue(text: string, { isStructured }: Pick<PromptVariable, "isStructured">): unknown {
  if (!isStructured) {
    return text;
  }
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return text; // While the user is still typing the JSON, use the entered text itself.
  }
}

/** Replaces the variables in the messages of a prompt. A variable without a value stays as written. */
export function fillPrompt(
  { messages, format }: PromptContent,
  variables: readonly PromptVariable[],
  enteredValues: EnteredValues,
): readonly FilledMessage[] {
  const values = Object.fromEntries(
    variables.flatMap((variable) => {
      const text = enteredValues[variable.name];
      return text === undefined || text === "" ? [] : [[variable.name, toValue(text, variable)]];
    }),
  );
  return messages.flatMap((message): readonly FilledMessage[] => {
    if (message.kind === "placeholder") {
      return toPlaceholderMessages(values[message.variable], message);
    }
    const text = message.parts.map((part) => fillPart(part, format, values)).join("\n");
    return [{ role: message.role, text }];
  });
}

function fillPart(
  part: PromptPart,
  format: PromptContent["format"],
  values: TemplateValues,
): string {
  if (part.kind === "other") {
    return JSON.stringify(part.value);
  }
  // A malformed template is shown unchanged. The list of messages shows its error.
  return findTemplateFault(part.text, format) === undefined
    ? fillTemplate(part.text, format, values)
    : part.text;
}

function toPlaceholderMessages(
  value: unknown,
  { variable, isOptional }: { readonly variable: string; readonly isOptional: boolean },
): readonly FilledMessage[] {
  if (value === undefined) {
    return isOptional ? [] : [{ role: "placeholder", text: `{${variable}}` }];
  }
  return [value].flat().map((item) => {
    const { role, type, content } = toRecord(item);
    return {
      role: toText(role) ?? toText(type) ?? "human",
      text: toText(content) ?? toText(item) ?? JSON.stringify(content ?? item),
    };
  });
}
