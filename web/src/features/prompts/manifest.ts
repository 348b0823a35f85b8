import { toRecord, toText } from "../../api/parse.ts";
import type { Members } from "../../api/parse.ts";
import { toVariables } from "./template.ts";
import type { TemplateFormat, Variable } from "./template.ts";

/** A piece of a message. */
export type PromptPart =
  | { readonly kind: "text"; readonly text: string }
  /** Its address, which may have variables. */
  | { readonly kind: "image"; readonly text: string }
  | { readonly kind: "other"; readonly value: unknown };

export type PromptMessage =
  | { readonly kind: "message"; readonly role: string; readonly parts: readonly PromptPart[] }
  /** Where a list of messages goes. */
  | { readonly kind: "placeholder"; readonly variable: string; readonly isOptional: boolean };

/** The content of a prompt, from any of the committed formats. */
export interface PromptContent {
  readonly kind: "chat" | "structured" | "text";
  readonly format: TemplateFormat;
  readonly messages: readonly PromptMessage[];
  /** What the answer must be like, as JSON Schema; of structured prompts. */
  readonly schema: unknown;
  /** The model that it was saved with. */
  readonly model: Members | undefined;
}

/** A node of LangChain's serialised form. */
interface Node {
  /** The last of its `id`. */
  readonly name: string;
  readonly kwargs: Members;
}

const chatNames: Readonly<Record<string, PromptContent["kind"]>> = {
  ChatPromptTemplate: "chat",
  StructuredPrompt: "structured",
  PromptTemplate: "text",
};

/** The prompt of a manifest; `undefined`: it is of no known kind. */
export function toPromptContent(manifest: unknown): PromptContent | undefined {
  const node = toNode(manifest);
  if (node === undefined) {
    return undefined;
  }
  if (node.name === "RunnableSequence") {
    const content = toPromptContent(node.kwargs["first"]);
    return content && { ...content, model: toRecord(node.kwargs["last"]) };
  }
  const kind = chatNames[node.name];
  if (kind === undefined) {
    return undefined;
  }
  const messages = kind === "text" ? [textMessage(node)] : toMessages(node.kwargs["messages"]);
  const formats = kind === "text" ? [formatOf(node.kwargs)] : formatsOf(node.kwargs);
  return messages === undefined
    ? undefined
    : {
        kind,
        messages,
        format: formats[0] ?? "f-string",
        schema: node.kwargs["schema_"] ?? node.kwargs["schema"],
        model: undefined,
      };
}

/** The role under which a template without one is shown. */
export const templateRole = "template";

const textMessage = ({ kwargs }: Node): PromptMessage => ({
  kind: "message",
  role: templateRole,
  parts: [{ kind: "text", text: toText(kwargs["template"]) ?? "" }],
});

function toMessages(value: unknown): readonly PromptMessage[] | undefined {
  return Array.isArray(value) ? value.map(toMessage) : undefined;
}

const roles: Readonly<Record<string, string>> = {
  System: "system",
  Human: "human",
  AI: "ai",
  Tool: "tool",
  Function: "function",
};

function toMessage(value: unknown): PromptMessage {
  const node = toNode(value);
  if (node === undefined) {
    return { kind: "message", role: "unknown", parts: [{ kind: "other", value }] };
  }
  const { name, kwargs } = node;
  if (name === "MessagesPlaceholder") {
    return {
      kind: "placeholder",
      variable: toText(kwargs["variable_name"] ?? kwargs["variableName"]) ?? "",
      isOptional: kwargs["optional"] === true,
    };
  }
  const [, known = ""] = /^(.*?)Message(?:Chunk)?(?:PromptTemplate)?$/.exec(name) ?? [];
  const role = toText(kwargs["role"]) ?? roles[known] ?? name;
  const content = kwargs["prompt"] ?? kwargs["content"];
  return { kind: "message", role, parts: [content].flat().map(toPart) };
}

function toPart(value: unknown): PromptPart {
  if (typeof value === "string") {
    return { kind: "text", text: value };
  }
  const { name, kwargs } = toNode(value) ?? { name: "", kwargs: toRecord(value) };
  const text = toText(kwargs["template"] ?? kwargs["text"]);
  if (text !== undefined && name !== "ImagePromptTemplate") {
    return { kind: "text", text };
  }
  const image = toRecord(kwargs["template"] ?? kwargs["image_url"]);
  const address = toText(image["url"]);
  return address === undefined ? { kind: "other", value } : { kind: "image", text: address };
}

function formatsOf(kwargs: Members): readonly TemplateFormat[] {
  const messages = Array.isArray(kwargs["messages"]) ? (kwargs["messages"] as unknown[]) : [];
  const inner = messages
    .flatMap((message) => [toNode(message)?.kwargs["prompt"]].flat())
    .flatMap((prompt) => {
      const node = toNode(prompt);
      return node === undefined ? [] : [formatOf(node.kwargs)];
    });
  return inner.length > 0 ? inner : [formatOf(kwargs)];
}

function formatOf(kwargs: Members): TemplateFormat {
  const format = kwargs["template_format"] ?? kwargs["templateFormat"];
  return format === "mustache" || format === "jinja2" ? format : "f-string";
}

function toNode(value: unknown): Node | undefined {
  const { lc, id, kwargs } = toRecord(value);
  const name: unknown = Array.isArray(id) ? id.at(-1) : undefined;
  return lc === undefined || typeof name !== "string"
    ? undefined
    : { name, kwargs: toRecord(kwargs) };
}

/** What a prompt asks for: its variables, each once, in order. */
export function variablesOf({ messages, format }: PromptContent): readonly PromptVariable[] {
  const found = new Map<string, PromptVariable>();
  for (const message of messages) {
    const own: readonly PromptVariable[] =
      message.kind === "placeholder"
        ? [{ name: message.variable, isStructured: true, isMessages: true }]
        : message.parts.flatMap((part) =>
            part.kind === "other" ? [] : toVariables(part.text, format).map(plain),
          );
    for (const variable of own) {
      const known = found.get(variable.name);
      found.set(variable.name, known?.isStructured === true ? known : variable);
    }
  }
  return [...found.values()];
}

export interface PromptVariable extends Variable {
  /** Whether it is a list of messages. */
  readonly isMessages: boolean;
}

const plain = (variable: Variable): PromptVariable => ({ ...variable, isMessages: false });

/** A prompt as a text, to compare one commit with another. */
export function toDiffText(manifest: unknown): string {
  const content = toPromptContent(manifest);
  if (content === undefined) {
    return toManifestText(manifest);
  }
  const blocks = content.messages.map((message) =>
    message.kind === "placeholder"
      ? `— messages of {${message.variable}}${message.isOptional ? ", if there are any" : ""}`
      : `— ${message.role}\n${message.parts.map(partText).join("\n")}`,
  );
  const rest = [
    ...(content.schema === undefined ? [] : [`— schema\n${toManifestText(content.schema)}`]),
    ...(content.model === undefined ? [] : [`— model\n${toManifestText(content.model)}`]),
  ];
  return `${[...blocks, ...rest].join("\n\n")}\n`;
}

const partText = (part: PromptPart): string =>
  part.kind === "other" ? toManifestText(part.value) : part.text;

/** Any manifest, as JSON. */
export const toManifestText = (manifest: unknown): string =>
  JSON.stringify(manifest, undefined, 2) ?? "";
