import { toRecord } from "../../../api/parse.ts";
import type { JsonMembers } from "../../../api/parse.ts";
import { templateRole, toPromptContent, listVariables } from "./manifest.ts";
import type { PromptContent, PromptMessage } from "./manifest.ts";
import type { TemplateFormat } from "./template.ts";

/** The state of a message in the editor. */
export interface DraftMessage {
  /** Used only in the editor: identifies the message while others are added, moved and removed. */
  readonly id: string;
  /** The role. If it is `placeholder`, `text` is the name of a variable whose value is a list of messages. */
  readonly role: string;
  readonly text: string;
  readonly isOptional?: boolean;
}

/** The state of a prompt in the editor. */
export interface PromptDraft {
  readonly kind: PromptContent["kind"];
  readonly format: TemplateFormat;
  readonly messages: readonly DraftMessage[];
}

export const placeholderRole = "placeholder";
/** Roles that the editor offers. */
export const draftRoles = ["system", "human", "ai", placeholderRole] as const;

/** The initial draft of a new prompt. */
export const firstDraft: PromptDraft = {
  kind: "chat",
  format: "f-string",
  messages: [
    { id: "0", role: "system", text: "You are a helpful assistant." },
    { id: "1", role: "human", text: "{question}" },
  ],
};

/** Converts a manifest to a draft. Returns `undefined` if it has content that the message editor can't show. */
export function toPromptDraft(manifest: unknown): PromptDraft | undefined {
  const content = toPromptContent(manifest);
  if (content === undefined) {
    return undefined;
  }
  const messages = content.messages.map(toDraftMessage);
  return messages.includes(undefined)
    ? undefined
    : {
        kind: content.kind,
        format: content.format,
        messages: messages.flatMap((message) => message ?? []),
      };
}

function toDraftMessage(message: PromptMessage, index: number): DraftMessage | undefined {
  const id = String(index);
  if (message.kind === "placeholder") {
    return { id, role: placeholderRole, text: message.variable, isOptional: message.isOptional };
  }
  const [part, ...otherParts] = message.parts;
  const isEditableRole =
    message.role === templateRole || messageClasses[message.role] !== undefined;
  return isEditableRole && part?.kind === "text" && otherParts.length === 0
    ? { id, role: message.role, text: part.text }
    : undefined;
}

/**
 * Replaces the messages of a manifest with those of a draft. The manifest's other members, such as model and schema,
 * stay unchanged.
 */
export function applyDraft(manifest: unknown, draft: PromptDraft): JsonMembers {
  const node = toRecord(manifest);
  const className: unknown = Array.isArray(node["id"]) ? node["id"].at(-1) : undefined;
  const kwargs = toRecord(node["kwargs"]);
  if (className === "RunnableSequence") {
    return { ...node, kwargs: { ...kwargs, first: applyDraft(kwargs["first"], draft) } };
  }
  const newManifest = toManifest(draft);
  return toPromptContent(manifest)?.kind === draft.kind
    ? { ...node, kwargs: { ...kwargs, ...toRecord(newManifest["kwargs"]) } }
    : newManifest;
}

const promptIds = {
  chat: ["langchain_core", "prompts", "chat", "ChatPromptTemplate"],
  structured: ["langchain_core", "prompts", "structured", "StructuredPrompt"],
} as const;

/** Sets the output schema of a prompt. Without a schema, a structured prompt becomes a chat prompt. */
export function applySchema(prompt: JsonMembers, schema: object | undefined): JsonMembers {
  const { schema_, schema: otherSchema, ...kwargs } = toRecord(prompt["kwargs"]);
  const currentSchema = schema_ ?? otherSchema;
  if (JSON.stringify(currentSchema) === JSON.stringify(schema)) {
    return prompt;
  }
  if (schema === undefined) {
    const { structured_output_kwargs: _kwargs, ...others } = kwargs;
    return { ...prompt, id: promptIds.chat, kwargs: others };
  }
  const name = schema_ === undefined && otherSchema !== undefined ? "schema" : "schema_";
  const id = currentSchema === undefined ? promptIds.structured : prompt["id"];
  return { ...prompt, id, kwargs: { ...kwargs, [name]: schema } };
}

/** Converts a draft to a manifest in LangChain's serialization format. */
export function toManifest(draft: PromptDraft): JsonMembers {
  const { format, kind, messages } = draft;
  const variables = listVariables(toContent(draft)).map(({ name }) => name);
  if (kind === "text") {
    return toPromptNode(messages[0]?.text ?? "", format);
  }
  return {
    lc: 1,
    type: "constructor",
    id: promptIds[kind],
    kwargs: {
      input_variables: variables,
      messages: messages.map((message) => toMessageNode(message, format)),
    },
  };
}

const toContent = ({ kind, format, messages }: PromptDraft): PromptContent => ({
  kind,
  format,
  schema: undefined,
  model: undefined,
  messages: messages.map(({ role, text, isOptional = false }) =>
    role === placeholderRole
      ? { kind: "placeholder", variable: text, isOptional }
      : { kind: "message", role, parts: [{ kind: "text", text }] },
  ),
});

const messageClasses: Readonly<Record<string, string>> = {
  system: "SystemMessagePromptTemplate",
  human: "HumanMessagePromptTemplate",
  ai: "AIMessagePromptTemplate",
};

function toMessageNode(
  { role, text, isOptional }: DraftMessage,
  format: TemplateFormat,
): JsonMembers {
  if (role === placeholderRole) {
    return {
      lc: 1,
      type: "constructor",
      id: ["langchain_core", "prompts", "chat", "MessagesPlaceholder"],
      kwargs: { variable_name: text, ...(isOptional === true ? { optional: true } : {}) },
    };
  }
  return {
    lc: 1,
    type: "constructor",
    id: ["langchain_core", "prompts", "chat", messageClasses[role] ?? "HumanMessagePromptTemplate"],
    kwargs: { prompt: toPromptNode(text, format) },
  };
}

const toPromptNode = (template: string, format: TemplateFormat): JsonMembers => ({
  lc: 1,
  type: "constructor",
  id: ["langchain_core", "prompts", "prompt", "PromptTemplate"],
  kwargs: {
    input_variables: listVariables({
      kind: "text",
      format,
      schema: undefined,
      model: undefined,
      messages: [
        { kind: "message", role: templateRole, parts: [{ kind: "text", text: template }] },
      ],
    }).map(({ name }) => name),
    template,
    template_format: format,
  },
});
