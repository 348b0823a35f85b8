import { toRecord, toText } from "../../../api/parse.ts";
import type { JsonMembers } from "../../../api/parse.ts";
import { toNode } from "./manifest-node.ts";
import type { LangChainNode } from "./manifest-node.ts";
import { listSteps, readPromptModel, readTool } from "./prompt-model.ts";
import type { PromptModel } from "./prompt-model.ts";
import { toVariables } from "./template.ts";
import type { TemplateFormat, Variable } from "./template.ts";

export type PromptPart =
  | { readonly kind: "text"; readonly text: string }
  /** `text` is the URL of the image, which may contain variables. */
  | { readonly kind: "image"; readonly text: string }
  | { readonly kind: "other"; readonly value: unknown };

export type PromptMessage =
  | { readonly kind: "message"; readonly role: string; readonly parts: readonly PromptPart[] }
  /** A variable whose value is a list of messages. */
  | { readonly kind: "placeholder"; readonly variable: string; readonly isOptional: boolean };

/** The content of a prompt, parsed from any supported manifest format. */
export interface PromptContent {
  readonly kind: "chat" | "structured" | "text";
  readonly format: TemplateFormat;
  readonly messages: readonly PromptMessage[];
  /** JSON Schema of the response; `undefined` unless the prompt is structured. */
  readonly schema: unknown;
  /** The model that was saved with the prompt. */
  readonly model: PromptModel | undefined;
}

const kindsByClass: Readonly<Record<string, PromptContent["kind"]>> = {
  ChatPromptTemplate: "chat",
  StructuredPrompt: "structured",
  PromptTemplate: "text",
};

/** Parses a manifest. Returns `undefined` if its format is unknown. */
export function toPromptContent(manifest: unknown): PromptContent | undefined {
  const node = toNode(manifest);
  if (node === undefined) {
    return undefined;
  }
  if (node.name === "RunnableSequence") {
    const content = toPromptContent(node.kwargs["first"]);
    return content && { ...content, model: readPromptModel(listSteps(node.kwargs)) };
  }
  const kind = kindsByClass[node.name];
  if (kind === undefined) {
    return undefined;
  }
  const messages = kind === "text" ? [toTextMessage(node)] : toMessages(node.kwargs["messages"]);
  const formats = kind === "text" ? [readFormat(node.kwargs)] : readMessageFormats(node.kwargs);
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

/** The role that is shown for a text template, which has no role of its own. */
export const templateRole = "template";

const toTextMessage = ({ kwargs }: LangChainNode): PromptMessage => ({
  kind: "message",
  role: templateRole,
  parts: [{ kind: "text", text: toText(kwargs["template"]) ?? "" }],
});

function toMessages(value: unknown): readonly PromptMessage[] | undefined {
  return Array.isArray(value) ? value.map(toMessage) : undefined;
}

const rolesByPrefix: Readonly<Record<string, string>> = {
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
  const [, prefix = ""] = /^(.*?)Message(?:Chunk)?(?:PromptTemplate)?$/.exec(name) ?? [];
  const role = toText(kwargs["role"]) ?? rolesByPrefix[prefix] ?? name;
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
  const url = toText(image["url"]);
  return url === undefined ? { kind: "other", value } : { kind: "image", text: url };
}

function readMessageFormats(kwargs: JsonMembers): readonly TemplateFormat[] {
  const messages = Array.isArray(kwargs["messages"]) ? (kwargs["messages"] as unknown[]) : [];
  const promptFormats = messages
    .flatMap((message) => [toNode(message)?.kwargs["prompt"]].flat())
    .flatMap((prompt) => {
      const node = toNode(prompt);
      return node === undefined ? [] : [readFormat(node.kwargs)];
    });
  return promptFormats.length > 0 ? promptFormats : [readFormat(kwargs)];
}

function readFormat(kwargs: JsonMembers): TemplateFormat {
  const format = kwargs["template_format"] ?? kwargs["templateFormat"];
  return format === "mustache" || format === "jinja2" ? format : "f-string";
}

/** Lists the variables of a prompt, each once, in the order of their first use. */
export function listVariables({ messages, format }: PromptContent): readonly PromptVariable[] {
  const variablesByName = new Map<string, PromptVariable>();
  for (const message of messages) {
    const messageVariables: readonly PromptVariable[] =
      message.kind === "placeholder"
        ? [{ name: message.variable, isStructured: true, isMessageList: true }]
        : message.parts.flatMap((part) =>
            part.kind === "other" ? [] : toVariables(part.text, format).map(toPlainVariable),
          );
    for (const variable of messageVariables) {
      const existingVariable = variablesByName.get(variable.name);
      variablesByName.set(
        variable.name,
        existingVariable?.isStructured === true ? existingVariable : variable,
      );
    }
  }
  return [...variablesByName.values()];
}

export interface PromptVariable extends Variable {
  /** Whether its value is a list of messages. */
  readonly isMessageList: boolean;
}

const toPlainVariable = (variable: Variable): PromptVariable => ({
  ...variable,
  isMessageList: false,
});

/** Formats a prompt as text, so that two commits can be compared line by line. */
export function toDiffText(manifest: unknown): string {
  const content = toPromptContent(manifest);
  if (content === undefined) {
    return toManifestText(manifest);
  }
  const blocks = content.messages.map((message) =>
    message.kind === "placeholder"
      ? `— messages from {${message.variable}}${message.isOptional ? " (optional)" : ""}`
      : `— ${message.role}\n${message.parts.map(formatPart).join("\n")}`,
  );
  const settings = [
    ...(content.schema === undefined ? [] : [`— schema\n${toManifestText(content.schema)}`]),
    ...(content.model === undefined ? [] : listModelBlocks(content.model)),
  ];
  return `${[...blocks, ...settings].join("\n\n")}\n`;
}

const listModelBlocks = ({
  className,
  name,
  numbers,
  stop,
  tools,
  others,
}: PromptModel): readonly string[] => [
  [
    `— model\n${className} ${name}`.trimEnd(),
    ...Object.entries(numbers).map(([setting, value]) => `${setting}: ${value}`),
    ...(stop.length === 0 ? [] : [`stop: ${JSON.stringify(stop)}`]),
    ...Object.entries(others).map(([setting, value]) => `${setting}: ${toManifestText(value)}`),
  ].join("\n"),
  ...tools.map((tool) => `— tool ${readTool(tool).name}\n${toManifestText(tool)}`),
];

const formatPart = (part: PromptPart): string =>
  part.kind === "other" ? toManifestText(part.value) : part.text;

/** Formats any manifest as JSON. */
export const toManifestText = (manifest: unknown): string =>
  JSON.stringify(manifest, undefined, 2) ?? "";
