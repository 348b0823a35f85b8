import { toVariables } from "../prompts/manifest/template.ts";
import type { TemplateFormat, Variable } from "../prompts/manifest/template.ts";

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON, as the model wrote it. */
  readonly arguments: string;
}

/** The roles that a message can have. The text of a placeholder is the name of a variable with a list of messages. */
export const messageRoles = ["system", "user", "assistant", "tool", "placeholder"] as const;
export type MessageRole = (typeof messageRoles)[number];

export interface PlaygroundMessage {
  /** Used only in the editor: identifies the message while others are added, moved and removed. */
  readonly id: string;
  readonly role: MessageRole;
  readonly text: string;
  /** Addresses of images, mostly `data:` URLs. */
  readonly images: readonly string[];
  readonly toolCalls: readonly ToolCall[];
  /** The id of the tool call that a message of the role `tool` answers. */
  readonly toolCallId: string;
}

/** The syntax of variables; `none` for messages in which braces have no special meaning, such as recorded messages. */
export type VariableFormat = TemplateFormat | "none";

/** The settings as the user has entered them. If a text is empty, the provider chooses the value. */
export interface EnteredSettings {
  readonly temperature: string;
  readonly maxTokens: string;
  readonly topP: string;
  readonly seed: string;
  /** Stop sequences, one per line. */
  readonly stop: string;
}

/** A model to call. All targets are called at the same time. */
export interface Target {
  readonly id: string;
  readonly endpoint: string;
  readonly model: string;
}

/** The prompt or the run from which the content was loaded. */
export type PlaygroundSource =
  | {
      readonly kind: "prompt";
      readonly owner: string;
      readonly repo: string;
      readonly hash: string;
      readonly manifest: unknown;
    }
  | { readonly kind: "run"; readonly id: string };

/** Everything that the user edits. */
export interface PlaygroundState {
  /** Identifies the prompt or run from which the content was loaded (see `toOrigin`); empty for an empty playground. */
  readonly origin: string;
  readonly source: PlaygroundSource | undefined;
  readonly format: VariableFormat;
  readonly messages: readonly PlaygroundMessage[];
  readonly variables: Readonly<Record<string, string>>;
  readonly toolsText: string;
  readonly schemaText: string;
  readonly settings: EnteredSettings;
  readonly targets: readonly Target[];
  readonly isRecorded: boolean;
  /** Sentences that name the parts of the source that were not loaded. */
  readonly notes: readonly string[];
}

export const createMessage = (
  role: MessageRole,
  text: string,
  fields: Partial<PlaygroundMessage> = {},
): PlaygroundMessage => ({
  id: crypto.randomUUID(),
  role,
  text,
  images: [],
  toolCalls: [],
  toolCallId: "",
  ...fields,
});

const emptySettings: EnteredSettings = {
  temperature: "",
  maxTokens: "",
  topP: "",
  seed: "",
  stop: "",
};

/** Creates the state of a playground with the given members. All others are those of an empty playground. */
export const createState = (changes: Partial<PlaygroundState> = {}): PlaygroundState => ({
  origin: "",
  source: undefined,
  format: "f-string",
  messages: [
    createMessage("system", "You are a helpful assistant."),
    createMessage("user", "{question}"),
  ],
  variables: {},
  toolsText: "",
  schemaText: "",
  targets: [{ id: crypto.randomUUID(), endpoint: "", model: "" }],
  isRecorded: true,
  notes: [],
  ...changes,
  settings: { ...emptySettings, ...changes.settings },
});

/** Lists the variables of the messages, each once. */
export function listVariables({
  messages,
  format,
}: Pick<PlaygroundState, "messages" | "format">): readonly (Variable & {
  readonly isMessageList: boolean;
})[] {
  const variablesByName = new Map<string, Variable & { readonly isMessageList: boolean }>();
  for (const { role, text } of messages) {
    const variables =
      role === "placeholder"
        ? [{ name: text.trim(), isStructured: true, isMessageList: true }]
        : readVariables(text, format);
    for (const variable of variables) {
      if (variable.name !== "" && variablesByName.get(variable.name)?.isStructured !== true) {
        variablesByName.set(variable.name, variable);
      }
    }
  }
  return [...variablesByName.values()];
}

/**
 * The maximum length of a text that is searched for variables. Searching a longer text at each keystroke would slow
 * down typing. Such texts come from recorded runs.
 */
const maxTemplateChars = 200_000;

const readVariables = (text: string, format: VariableFormat) =>
  format === "none" || text.length > maxTemplateChars
    ? []
    : toVariables(text, format).map((variable) => ({ ...variable, isMessageList: false }));

const storageName = "millrace-playground";
/** The maximum number of characters that are stored for a reload. Browsers store about five million for a site. */
const maxStoredChars = 2_000_000;

/** Stores the state for a reload of this tab. Returns whether it could be stored. */
export function storeState(state: PlaygroundState): boolean {
  try {
    const text = JSON.stringify(state);
    if (text.length <= maxStoredChars) {
      sessionStorage.setItem(storageName, text);
      return true;
    }
  } catch {
    // The storage is full. The caller warns that the state will not survive a reload.
  }
  sessionStorage.removeItem(storageName);
  return false;
}

/** Reads the state that was stored before a reload. Returns `undefined` if it was loaded from another prompt or run. */
export function readStoredState(origin: string): PlaygroundState | undefined {
  try {
    const text = sessionStorage.getItem(storageName);
    const state = text === null ? undefined : (JSON.parse(text) as PlaygroundState);
    return state?.origin === origin && Array.isArray(state.messages)
      ? createState(state)
      : undefined;
  } catch {
    return undefined; // An earlier version stored something else.
  }
}
