import { toRecord } from "../../api/parse.ts";
import type { Members } from "../../api/parse.ts";
import { templateRole, toPromptContent, variablesOf } from "./manifest.ts";
import type { PromptContent, PromptMessage } from "./manifest.ts";
import type { TemplateFormat } from "./template.ts";

/** A message as the editor has it. */
export interface DraftMessage {
  /** Of this page: keeps a message's field while others come and go. */
  readonly id: string;
  /** `placeholder`: its text is the name of the variable. */
  readonly role: string;
  readonly text: string;
  readonly isOptional?: boolean;
}

export interface PromptDraft {
  readonly kind: PromptContent["kind"];
  readonly format: TemplateFormat;
  readonly messages: readonly DraftMessage[];
}

export const placeholderRole = "placeholder";
/** Roles that the editor offers. */
export const draftRoles = ["system", "human", "ai", placeholderRole] as const;

export const firstDraft: PromptDraft = {
  kind: "chat",
  format: "f-string",
  messages: [
    { id: "0", role: "system", text: "You are a helpful assistant." },
    { id: "1", role: "human", text: "{question}" },
  ],
};

/** The messages of a manifest to edit; `undefined`: it holds what only its JSON can say. */
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
  const [part, ...more] = message.parts;
  const isKnown = message.role === templateRole || classes[message.role] !== undefined;
  return isKnown && part?.kind === "text" && more.length === 0
    ? { id, role: message.role, text: part.text }
    : undefined;
}

/** A manifest with a draft's messages; what else it holds, its model and schema among it, stays. */
export function withDraft(manifest: unknown, draft: PromptDraft): Members {
  const node = toRecord(manifest);
  const name: unknown = Array.isArray(node["id"]) ? node["id"].at(-1) : undefined;
  const kwargs = toRecord(node["kwargs"]);
  if (name === "RunnableSequence") {
    return { ...node, kwargs: { ...kwargs, first: withDraft(kwargs["first"], draft) } };
  }
  const made = toManifest(draft);
  return toPromptContent(manifest)?.kind === draft.kind
    ? { ...node, kwargs: { ...kwargs, ...toRecord(made["kwargs"]) } }
    : made;
}

/** The manifest of a draft, as LangChain serialises it. */
export function toManifest(draft: PromptDraft): Members {
  const { format, kind, messages } = draft;
  const variables = variablesOf(toContent(draft)).map(({ name }) => name);
  if (kind === "text") {
    return promptNode(messages[0]?.text ?? "", format);
  }
  return {
    lc: 1,
    type: "constructor",
    id:
      kind === "structured"
        ? ["langchain_core", "prompts", "structured", "StructuredPrompt"]
        : ["langchain_core", "prompts", "chat", "ChatPromptTemplate"],
    kwargs: {
      input_variables: variables,
      messages: messages.map((one) => messageNode(one, format)),
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

const classes: Readonly<Record<string, string>> = {
  system: "SystemMessagePromptTemplate",
  human: "HumanMessagePromptTemplate",
  ai: "AIMessagePromptTemplate",
};

function messageNode({ role, text, isOptional }: DraftMessage, format: TemplateFormat): Members {
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
    id: ["langchain_core", "prompts", "chat", classes[role] ?? "HumanMessagePromptTemplate"],
    kwargs: { prompt: promptNode(text, format) },
  };
}

const promptNode = (template: string, format: TemplateFormat): Members => ({
  lc: 1,
  type: "constructor",
  id: ["langchain_core", "prompts", "prompt", "PromptTemplate"],
  kwargs: {
    input_variables: variablesOf({
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
