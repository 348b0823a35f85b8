import { ValidationError } from "../model/errors.ts";
import type { KeyValues } from "../model/run.ts";
import { parseFString } from "./f-string.ts";
import { parseMustache } from "./mustache.ts";
import type { MustacheNode, TemplateMark } from "./mustache.ts";

/** The syntaxes of templates. */
export const templateFormats = ["f-string", "mustache"] as const;

/** One of {@link templateFormats}: `{name}`, or `{{name}}` with sections. */
export type TemplateFormat = (typeof templateFormats)[number];

/** A template that was parsed, and the names of the variables that it can use. */
export interface Template {
  readonly format: TemplateFormat;
  readonly nodes: readonly MustacheNode[];
  /** The positions of the variables and tags, in the order of the text. */
  readonly marks: readonly TemplateMark[];
  readonly names: ReadonlySet<string>;
}

/** @throws `ValidationError` if the template is malformed; the message states the position. */
export function parseTemplate(text: string, format: TemplateFormat): Template {
  const { nodes, marks } = format === "mustache" ? parseMustache(text) : parseFString(text);
  const names = new Set<string>();
  collectNames(nodes, names);
  return { format, nodes, marks, names };
}

/** The values of the variables of a template. Rendering adds the names of variables without a value to `missing`. */
export interface Scope {
  readonly values: KeyValues;
  readonly missing: Set<string>;
  /** Whether a variable without a value is kept as it appears in the template, for a preview. @defaultValue false */
  readonly keepsMissing?: boolean;
  /** Called for each variable, with the range of its value in the result. */
  readonly onVariable?: (name: string, from: number, to: number) => void;
}

/** Largest text that a template may produce, in UTF-16 code units. */
const maxLength = 67_108_864;
/**
 * Maximum number of section items that are rendered for one template. An item of a nested section counts once for each
 * item around it.
 */
const maxItems = 1_000_000;

/**
 * Replaces the variables of a template. Adds the names of those without a value to `scope.missing`.
 *
 * @throws `ValidationError` if a value can't be converted to a text, or the result is too long.
 */
export function renderTemplate({ nodes, format }: Template, scope: Scope): string {
  const rendering = new Rendering(format, scope);
  rendering.add(nodes, [scope.values]);
  return rendering.text;
}

/** The rendering of one template: its text so far, and its limits. */
class Rendering {
  text = "";
  readonly #format: TemplateFormat;
  readonly #scope: Scope;
  #items = 0;

  constructor(format: TemplateFormat, scope: Scope) {
    this.#format = format;
    this.#scope = scope;
  }

  /** Appends nodes. `contexts` are the objects in which names are looked up, the innermost one last. */
  add(nodes: readonly MustacheNode[], contexts: readonly unknown[]): void {
    for (const node of nodes) {
      switch (node.kind) {
        case "text":
          this.#append(node.text);
          break;
        case "variable": {
          const valueStart = this.text.length;
          this.#append(this.#readText(node, contexts));
          this.#scope.onVariable?.(node.name, valueStart, this.text.length);
          break;
        }
        case "section":
          this.#addSection(node, contexts);
          break;
      }
    }
  }

  #append(text: string): void {
    this.text += text;
    if (this.text.length > maxLength) {
      throw new ValidationError(
        `The compiled template is longer than ${maxLength} characters. Pass shorter values`,
      );
    }
  }

  #addSection(
    { name, nodes, isInverted }: MustacheNode & { readonly kind: "section" },
    contexts: readonly unknown[],
  ): void {
    const value = this.#lookUp(name, contexts);
    assertNoFunction(name, value);
    const isFilled = Array.isArray(value) ? value.length > 0 : Boolean(value);
    if (isInverted || !isFilled) {
      if (isInverted && !isFilled) {
        this.add(nodes, contexts);
      }
      return;
    }
    for (const item of Array.isArray(value) ? (value as readonly unknown[]) : [value]) {
      this.#items += 1;
      if (this.#items > maxItems) {
        throw new ValidationError(
          `The sections of the template have more than ${maxItems} items. Pass shorter lists, or nest fewer sections`,
        );
      }
      this.add(nodes, value === true ? contexts : [...contexts, item]);
    }
  }

  #readText(
    { name, source }: MustacheNode & { readonly kind: "variable" },
    contexts: readonly unknown[],
  ): string {
    const value = this.#lookUp(name, contexts);
    if (value === undefined) {
      // Inside a section a missing member is normal, as in Mustache: an item of a list may lack it. Outside of sections
      // it is probably a mistake.
      if (contexts.length === 1) {
        this.#scope.missing.add(name);
        return this.#scope.keepsMissing === true ? source : "";
      }
      return "";
    }
    return toText(name, value, this.#format);
  }

  /** Finds a name in the innermost context that has it. `a.b` is the member `b` of `a`. */
  #lookUp(name: string, contexts: readonly unknown[]): unknown {
    if (this.#format === "f-string") {
      return readOwn(this.#scope.values, name);
    }
    if (name === ".") {
      return contexts.at(-1);
    }
    const path = name.split(".");
    for (const context of contexts.toReversed()) {
      const value = path.reduce(readOwn, context);
      if (value !== undefined) {
        return value;
      }
    }
    return undefined;
  }
}

/**
 * Returns the value of a member. Inherited members are not visible, so that a template can't reach `constructor` or
 * `__proto__`.
 */
const readOwn = (value: unknown, name: string): unknown =>
  value !== null && value !== undefined && Object.hasOwn(Object(value) as object, name)
    ? (Reflect.get(Object(value) as object, name) as unknown)
    : undefined;

/** @throws `ValidationError` if the value can't be converted to a text. */
function toText(name: string, value: unknown, format: TemplateFormat): string {
  if (typeof value === "string") {
    return value;
  }
  assertNoFunction(name, value);
  if (typeof value === "bigint") {
    return String(value);
  }
  if (value === null && format === "mustache") {
    return "";
  }
  let text: string | undefined;
  try {
    // `JSON.stringify` returns `undefined` for a value whose `toJSON` returns `undefined`, although its declared type
    // is `string`.
    text = JSON.stringify(value) as string | undefined;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message.split("\n")[0] : String(cause);
    throw new ValidationError(
      `The variable ${JSON.stringify(name)} can't be written as JSON: ${reason}. Pass a string`,
      { cause },
    );
  }
  if (text === undefined) {
    throw new ValidationError(
      `The variable ${JSON.stringify(name)} can't be written as JSON. Pass a string`,
    );
  }
  return text;
}

function assertNoFunction(name: string, value: unknown): void {
  if (typeof value === "function" || typeof value === "symbol") {
    throw new ValidationError(
      `The variable ${JSON.stringify(name)} is a ${typeof value}. Pass a string, a number, or a value that can be written as JSON`,
    );
  }
}

/** Adds the names for which a caller can pass values: for `a.b`, the name `a`. */
function collectNames(nodes: readonly MustacheNode[], names: Set<string>): void {
  for (const node of nodes) {
    if (node.kind !== "text" && node.name !== ".") {
      names.add(node.root);
    }
    if (node.kind === "section") {
      collectNames(node.nodes, names);
    }
  }
}
