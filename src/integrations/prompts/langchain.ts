import { ValidationError } from "../../main/index.ts";
import type { KeyValues, PulledPrompt, RuntimePrompt } from "../../main/index.ts";
import { isObject } from "../../templates/compiled-prompt.ts";
import type { PromptPart, PromptRole } from "../../templates/compiled-prompt.ts";
import { readIdentity, readManifest } from "./compile.ts";
import { describe, parsePart, parseRole } from "../../templates/message-values.ts";
import { toPromptMetadata } from "./prompt-metadata.ts";
import { parseTemplate, templateFormats } from "../../templates/template.ts";
import type { TemplateFormat } from "../../templates/template.ts";

/** Roles of a message in {@link chatPrompt}. */
export type TemplateRole = Exclude<PromptRole, "tool"> | "human" | "ai";

/** A message of {@link chatPrompt}, whose texts are templates. */
export type ChatPromptMessage =
  | readonly [role: TemplateRole, text: string]
  | { readonly role: TemplateRole; readonly content: string | readonly PromptPart[] }
  /** A variable whose value is a list of messages. */
  | { readonly placeholder: string; readonly isOptional?: boolean | undefined };

/** Options of {@link chatPrompt}. */
export interface ChatPromptOptions {
  /** @defaultValue "f-string" */
  readonly format?: TemplateFormat | undefined;
  /** JSON Schema of the response. It should have a `title`. */
  readonly schema?: KeyValues | undefined;
}

/**
 * Creates a manifest in LangChain's format, for `prompts.push` or as a fallback. LangSmith's clients can read it.
 *
 * @throws `ValidationError` if a role does not exist, or a template is malformed.
 */
export function chatPrompt(
  messages: readonly ChatPromptMessage[],
  { format = "f-string", schema, ...others }: ChatPromptOptions = {},
): KeyValues {
  const [unknownOption] = Object.keys(others);
  if (unknownOption !== undefined) {
    throw new ValidationError(
      `chatPrompt has no option ${describe(unknownOption)}. Its options are format and schema`,
    );
  }
  if (!templateFormats.includes(format)) {
    throw new ValidationError(
      `The format of chatPrompt must be ${templateFormats.join(" or ")}, not ${describe(format)}`,
    );
  }
  if (!Array.isArray(messages)) {
    throw new ValidationError(`chatPrompt takes a list of messages, not ${describe(messages)}`);
  }
  const names = new Set<string>();
  const nodes = (messages as readonly ChatPromptMessage[]).map((message) =>
    toMessageNode(message, { format, names }),
  );
  const kwargs = {
    input_variables: [...names],
    messages: nodes,
    ...(format === "f-string" ? {} : { template_format: format }),
  };
  return schema === undefined
    ? toNode("chat", "ChatPromptTemplate", kwargs)
    : toNode("structured", "StructuredPrompt", { ...kwargs, schema_: schema });
}

/**
 * Returns the manifest of a prompt with its name and commit as metadata, as LangChain's hub does. LangChain's
 * `load(JSON.stringify(manifest))` creates the prompt, whose runs then have this metadata.
 */
export function toLangChain(prompt: RuntimePrompt | PulledPrompt): KeyValues {
  const [manifest, identity] = [readManifest(prompt), readIdentity(prompt)];
  if (!isObject(manifest) || manifest["lc"] === undefined || identity === undefined) {
    throw new ValidationError(
      "toLangChain takes a prompt that prompts.get or prompts.pull returned, with a manifest in LangChain's format",
    );
  }
  return addMetadata(manifest, toPromptMetadata(identity));
}

function addMetadata(manifest: KeyValues, metadata: KeyValues): KeyValues {
  const kwargs = isObject(manifest["kwargs"]) ? manifest["kwargs"] : {};
  const { first, metadata: existing } = kwargs;
  return isObject(first)
    ? { ...manifest, kwargs: { ...kwargs, first: addMetadata(first, metadata) } }
    : {
        ...manifest,
        kwargs: {
          ...kwargs,
          metadata: { ...(isObject(existing) ? existing : {}), ...metadata },
        },
      };
}

/** State that is shared by the templates of one prompt. */
interface WritingContext {
  readonly format: TemplateFormat;
  /** The names of all variables that were found so far. */
  readonly names: Set<string>;
}

const messageClasses: Readonly<Partial<Record<PromptRole, string>>> = {
  system: "SystemMessagePromptTemplate",
  user: "HumanMessagePromptTemplate",
  assistant: "AIMessagePromptTemplate",
};

function toMessageNode(message: ChatPromptMessage, context: WritingContext): KeyValues {
  if ("placeholder" in message) {
    const { placeholder, isOptional = false } = message;
    if (typeof placeholder !== "string" || placeholder === "") {
      throw new ValidationError(
        `A placeholder needs the name of a variable, not ${describe(placeholder)}`,
      );
    }
    context.names.add(placeholder);
    const kwargs = { variable_name: placeholder, ...(isOptional ? { optional: true } : {}) };
    return toNode("chat", "MessagesPlaceholder", kwargs);
  }
  const [givenRole, content] = readTuple(message);
  const role = parseRole(givenRole);
  if (role === "tool") {
    throw new ValidationError(
      "A prompt can't contain messages with the role tool. Use a placeholder, and pass these messages to compile",
    );
  }
  const prompt =
    typeof content === "string"
      ? toTextNode(content, context)
      : content.map((part) => toPartNode(parsePart(part), context));
  const className = messageClasses[role];
  return className === undefined
    ? toNode("chat", "ChatMessagePromptTemplate", { prompt, role })
    : toNode("chat", className, { prompt });
}

function readTuple(
  message: Exclude<ChatPromptMessage, { readonly placeholder: string }>,
): readonly [unknown, string | readonly PromptPart[]] {
  const [role, content] = "role" in message ? [message.role, message.content] : message;
  if (typeof content !== "string" && !Array.isArray(content)) {
    throw new ValidationError(
      `The content of a message is ${describe(content)}. Use a text, or a list of parts`,
    );
  }
  return [role, content];
}

function toPartNode(part: PromptPart, context: WritingContext): KeyValues {
  switch (part.type) {
    case "text":
      return part.extra === undefined
        ? toTextNode(part.text, context)
        : toDictNode({ type: "text", text: part.text, ...part.extra }, context);
    case "image": {
      const { url, detail } = part;
      return toNode("image", "ImagePromptTemplate", {
        template: { url, ...(detail === undefined ? {} : { detail }) },
        input_variables: listNames([url, detail ?? ""], context),
        template_format: context.format,
      });
    }
    case "other":
      return toDictNode(part.value, context);
  }
}

const toTextNode = (template: string, context: WritingContext): KeyValues =>
  toNode("prompt", "PromptTemplate", {
    template,
    input_variables: listNames([template], context),
    template_format: context.format,
  });

const toDictNode = (template: KeyValues, context: WritingContext): KeyValues =>
  toNode("dict", "DictPromptTemplate", {
    template,
    input_variables: listNames(listTexts(template), context),
    template_format: context.format,
  });

/** Returns the names of the variables in templates, and adds them to those of the prompt. */
function listNames(templates: readonly string[], { format, names }: WritingContext): string[] {
  const templateNames = new Set(
    templates.flatMap((template) => [...parseTemplate(template, format).names]),
  );
  for (const name of templateNames) {
    names.add(name);
  }
  return [...templateNames];
}

function listTexts(value: unknown): readonly string[] {
  if (typeof value === "string") {
    return [value];
  }
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(listTexts) : [];
}

const toNode = (module: string, className: string, kwargs: KeyValues): KeyValues => ({
  lc: 1,
  type: "constructor",
  id: ["langchain_core", "prompts", module, className],
  kwargs,
});
