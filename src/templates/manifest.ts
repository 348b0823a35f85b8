import { ValidationError } from "../model/errors.ts";
import type { KeyValues } from "../model/run.ts";
import { isObject, omitUndefined } from "./compiled-prompt.ts";
import type { PromptMessage, PromptRole, PromptSchema } from "./compiled-prompt.ts";
import { describe, parseMessage, parseRole } from "./message-values.ts";
import { parseTemplate, templateFormats } from "./template.ts";
import type { Template, TemplateFormat } from "./template.ts";

/** Maximum nesting depth of a manifest. A manifest that contains itself exceeds it. */
const maxDepth = 64;

/** A JSON value in which each text is a template. */
export type JsonTemplate =
  | { readonly kind: "text"; readonly template: Template }
  | { readonly kind: "list"; readonly items: readonly JsonTemplate[] }
  | { readonly kind: "object"; readonly members: readonly (readonly [string, JsonTemplate])[] }
  | { readonly kind: "value"; readonly value: unknown };

/** A part of a message in which the variables are not replaced yet. */
export type PartTemplate =
  | { readonly kind: "text"; readonly template: Template; readonly extra: KeyValues | undefined }
  | { readonly kind: "image"; readonly url: Template; readonly detail: Template | undefined }
  | { readonly kind: "other"; readonly json: JsonTemplate };

/** A message of a prompt. */
export type MessageTemplate =
  | { readonly kind: "message"; readonly message: PromptMessage }
  | {
      readonly kind: "template";
      readonly role: PromptRole;
      /** A single template is the message's text. A list contains the parts of the message. */
      readonly content: Template | readonly PartTemplate[];
    }
  | {
      readonly kind: "placeholder";
      readonly variable: string;
      readonly isOptional: boolean;
      /** Only this many messages at the end of the list are used. */
      readonly limit: number | undefined;
    };

/** A manifest that was parsed. */
export interface PromptTemplate {
  readonly messages: readonly MessageTemplate[];
  /** Values that the manifest has for some of its variables. */
  readonly partials: KeyValues;
  readonly schema: PromptSchema | undefined;
  readonly model: KeyValues | undefined;
}

/** The classes of the prompts that can be compiled, for error messages. */
const supportedClasses =
  "ChatPromptTemplate, StructuredPrompt, PromptTemplate and RunnableSequence";

/** A node of LangChain's serialization format. */
interface SerializedNode {
  /** The name of the class: the last item of the node's `id`. */
  readonly className: string;
  readonly kwargs: KeyValues;
}

/**
 * Parses a manifest in LangChain's serialization format, as langsmith's clients write it. The manifest is treated only
 * as data: no class is created, and no address or secret in it is used.
 *
 * @throws `ValidationError` if the manifest is not a prompt, or is malformed; the message states what was found.
 */
export function parseManifest(manifest: unknown, depth = 0): PromptTemplate {
  assertDepth(depth);
  const node = readNode(manifest);
  if (node === undefined) {
    throw new ValidationError(
      `The manifest is not a prompt in LangChain's format: expected { lc: 1, type: "constructor", id, kwargs } of ${supportedClasses}, not ${describe(manifest)}. Write manifests with chatPrompt of millrace/prompts, or with a client of LangSmith`,
    );
  }
  const { className, kwargs } = node;
  switch (className) {
    case "ChatPromptTemplate":
      return parseChat(kwargs, depth);
    case "StructuredPrompt":
      return { ...parseChat(kwargs, depth), schema: parseSchema(kwargs) };
    case "PromptTemplate":
      return {
        messages: [{ kind: "template", role: "user", content: parseText(kwargs) }],
        partials: readPartials(kwargs),
        schema: undefined,
        model: undefined,
      };
    case "RunnableSequence":
      return {
        ...parseManifest(kwargs["first"], depth + 1),
        model: parseModel(readList(kwargs["middle"]).concat(kwargs["last"])),
      };
    default:
      throw new ValidationError(
        `The manifest is a ${describe(className)}, which can't be compiled. Supported are ${supportedClasses}`,
      );
  }
}

function parseChat(kwargs: KeyValues, depth: number): PromptTemplate {
  const { messages } = kwargs;
  if (!Array.isArray(messages)) {
    throw new ValidationError("The manifest's chat prompt has no list of messages");
  }
  const partials = { ...readPartials(kwargs) };
  const parsedMessages = (messages as readonly unknown[]).flatMap((message, index) => {
    const node = readNode(message);
    if (node?.className === "ChatPromptTemplate" || node?.className === "StructuredPrompt") {
      const nested = parseManifest(message, depth + 1);
      Object.assign(partials, nested.partials);
      return nested.messages;
    }
    try {
      return [parseChatMessage(message, node)];
    } catch (cause) {
      throw cause instanceof ValidationError
        ? new ValidationError(`Message ${index + 1} of the prompt: ${cause.message}`, { cause })
        : cause;
    }
  });
  return { messages: parsedMessages, partials, schema: undefined, model: undefined };
}

function parseChatMessage(message: unknown, node: SerializedNode | undefined): MessageTemplate {
  if (node === undefined) {
    return { kind: "message", message: parseMessage(message) };
  }
  const { className, kwargs } = node;
  if (className === "MessagesPlaceholder") {
    const variable = kwargs["variable_name"] ?? kwargs["variableName"];
    const limit = kwargs["n_messages"];
    if (typeof variable !== "string") {
      throw new ValidationError("the placeholder names no variable (variable_name)");
    }
    return {
      kind: "placeholder",
      variable,
      isOptional: kwargs["optional"] === true,
      limit: typeof limit === "number" ? limit : undefined,
    };
  }
  const prefix = /^(.*?)MessagePromptTemplate$/.exec(className)?.[1];
  if (prefix === undefined) {
    return { kind: "message", message: parseMessage(message) };
  }
  const role = parseRole(prefix === "Chat" ? kwargs["role"] : prefix);
  const { prompt } = kwargs;
  if (Array.isArray(prompt)) {
    return { kind: "template", role, content: (prompt as readonly unknown[]).map(parsePart) };
  }
  const promptNode = readNode(prompt);
  if (promptNode?.className !== "PromptTemplate") {
    throw new ValidationError(`expected a PromptTemplate, not ${describeNode(prompt)}`);
  }
  return { kind: "template", role, content: parseText(promptNode.kwargs) };
}

function parsePart(value: unknown): PartTemplate {
  const { className, kwargs } = readNode(value) ?? { className: "", kwargs: {} };
  const { template } = kwargs;
  const format = readFormat(kwargs);
  switch (className) {
    case "PromptTemplate":
      return {
        kind: "text",
        template: parseText(kwargs),
        extra: readExtra(kwargs),
      };
    case "ImagePromptTemplate": {
      const { url, detail } = isObject(template) ? template : { url: template };
      if (typeof url !== "string") {
        throw new ValidationError("the template of an image has no address (url)");
      }
      return {
        kind: "image",
        url: parseTemplate(url, format),
        detail: typeof detail === "string" ? parseTemplate(detail, format) : undefined,
      };
    }
    case "DictPromptTemplate":
      return { kind: "other", json: parseJsonTemplate(template, format, 0) };
    default:
      throw new ValidationError(
        `expected a PromptTemplate, an ImagePromptTemplate or a DictPromptTemplate, not ${describeNode(value)}`,
      );
  }
}

/** Members of a part in addition to its text. */
function readExtra(kwargs: KeyValues): KeyValues | undefined {
  const fields = kwargs["additional_content_fields"] ?? kwargs["additionalContentFields"];
  if (!isObject(fields)) {
    return undefined;
  }
  const { type: _type, text: _text, ...extra } = fields;
  return Object.keys(extra).length === 0 ? undefined : extra;
}

function parseJsonTemplate(value: unknown, format: TemplateFormat, depth: number): JsonTemplate {
  assertDepth(depth);
  if (typeof value === "string") {
    return { kind: "text", template: parseTemplate(value, format) };
  }
  if (Array.isArray(value)) {
    const items = (value as readonly unknown[]).map((item) =>
      parseJsonTemplate(item, format, depth + 1),
    );
    return { kind: "list", items };
  }
  if (!isObject(value)) {
    return { kind: "value", value };
  }
  const members = Object.entries(value).map(
    ([name, member]) => [name, parseJsonTemplate(member, format, depth + 1)] as const,
  );
  return { kind: "object", members };
}

function parseText(kwargs: KeyValues): Template {
  const { template } = kwargs;
  if (typeof template !== "string") {
    throw new ValidationError(`expected a template, not ${describe(template)}`);
  }
  return parseTemplate(template, readFormat(kwargs));
}

function readFormat(kwargs: KeyValues): TemplateFormat {
  const format = kwargs["template_format"] ?? kwargs["templateFormat"] ?? "f-string";
  const knownFormat = templateFormats.find((candidate) => candidate === format);
  if (knownFormat === undefined) {
    throw new ValidationError(
      `the template format ${describe(format)} is not supported. Use ${templateFormats.join(" or ")}`,
    );
  }
  return knownFormat;
}

/**
 * Returns the values that the manifest has for variables. Leaves out the values that LangChain could not serialize,
 * such as functions: the caller has to pass these.
 */
function readPartials(kwargs: KeyValues): KeyValues {
  const partials = kwargs["partial_variables"] ?? kwargs["partialVariables"];
  return isObject(partials)
    ? Object.fromEntries(
        Object.entries(partials).filter(
          ([, value]) => !(isObject(value) && value["type"] === "not_implemented"),
        ),
      )
    : {};
}

function parseSchema(kwargs: KeyValues): PromptSchema | undefined {
  const schema = kwargs["schema_"] ?? kwargs["schema"];
  if (!isObject(schema)) {
    throw new ValidationError("The manifest's structured prompt has no schema");
  }
  const { title, name, description, strict } = schema;
  const settings = kwargs["structured_output_kwargs"];
  const isStrict = strict ?? (isObject(settings) ? settings["strict"] : undefined);
  const [givenName = "response"] = [name, title].filter(
    (text): text is string => typeof text === "string" && text !== "",
  );
  // OpenAI and Anthropic allow only these characters in the name of a schema. They also allow at most 64 characters.
  const schemaName = givenName.replace(/[^A-Za-z0-9_-]/g, "_");
  // LangChain also accepts a function in OpenAI's form, which contains the schema as `parameters`.
  const parameters = isObject(schema["parameters"]) ? schema["parameters"] : schema;
  const { strict: _strict, ...jsonSchema } = parameters;
  return omitUndefined({
    name: schemaName.slice(0, 64),
    description: typeof description === "string" ? description : undefined,
    schema: jsonSchema,
    strict: typeof isStrict === "boolean" ? isStrict : undefined,
  });
}

/** Returns the parameters of the model, which is the first serialized node after the prompt. Secrets are left out. */
function parseModel(nodes: readonly unknown[]): KeyValues | undefined {
  for (const value of nodes) {
    let node = readNode(value);
    const settings: KeyValues[] = [];
    for (let depth = 0; node?.className === "RunnableBinding" && depth < maxDepth; depth += 1) {
      const { kwargs: bound } = node.kwargs;
      settings.unshift(isObject(bound) ? bound : {});
      node = readNode(node.kwargs["bound"]);
    }
    if (node !== undefined) {
      const parameters = [node.kwargs, ...settings].flatMap((values) => Object.entries(values));
      return Object.fromEntries(
        parameters.filter(([, parameter]) => !isObject(parameter) || parameter["lc"] === undefined),
      );
    }
  }
  return undefined;
}

function readNode(value: unknown): SerializedNode | undefined {
  const { lc, id, kwargs } = isObject(value) ? value : {};
  const className: unknown = Array.isArray(id) ? id.at(-1) : undefined;
  return lc === undefined || typeof className !== "string"
    ? undefined
    : { className, kwargs: isObject(kwargs) ? kwargs : {} };
}

const describeNode = (value: unknown): string => describe(readNode(value)?.className ?? value);

const readList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function assertDepth(depth: number): void {
  if (depth > maxDepth) {
    throw new ValidationError(
      `The manifest is nested more than ${maxDepth} times, or contains itself`,
    );
  }
}
