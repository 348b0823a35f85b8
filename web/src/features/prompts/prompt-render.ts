import { toRecord, toText } from "../../api/parse.ts";
import type { PromptContent, PromptVariable } from "./manifest.ts";
import { fillTemplate } from "./template.ts";

/** A message with its values in it. */
export interface FilledMessage {
  readonly role: string;
  readonly text: string;
}

/** What a person typed for each variable. */
export type TypedValues = Readonly<Record<string, string>>;

/** A typed value, as the template takes it: JSON where it is asked for lists or objects, else the text. */
function toValue(text: string, { isStructured }: Pick<PromptVariable, "isStructured">): unknown {
  if (!isStructured) {
    return text;
  }
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return text; // Not JSON (yet): as it is.
  }
}

/** The messages of a prompt with values; variables without one stay as they are written. */
export function fillPrompt(
  { messages, format }: PromptContent,
  variables: readonly PromptVariable[],
  typed: TypedValues,
): readonly FilledMessage[] {
  const values = Object.fromEntries(
    variables.flatMap((variable) => {
      const text = typed[variable.name];
      return text === undefined || text === "" ? [] : [[variable.name, toValue(text, variable)]];
    }),
  );
  return messages.flatMap((message): readonly FilledMessage[] => {
    if (message.kind === "placeholder") {
      return listOf(values[message.variable], message);
    }
    const text = message.parts
      .map((part) =>
        part.kind === "other"
          ? JSON.stringify(part.value)
          : fillTemplate(part.text, format, values),
      )
      .join("\n");
    return [{ role: message.role, text }];
  });
}

function listOf(
  value: unknown,
  { variable, isOptional }: { readonly variable: string; readonly isOptional: boolean },
): readonly FilledMessage[] {
  if (value === undefined) {
    return isOptional ? [] : [{ role: "placeholder", text: `{${variable}}` }];
  }
  return [value].flat().map((one) => {
    const { role, type, content } = toRecord(one);
    return {
      role: toText(role) ?? toText(type) ?? "human",
      text: toText(content) ?? toText(one) ?? JSON.stringify(content ?? one),
    };
  });
}
