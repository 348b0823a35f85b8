import { parseTemplate, renderTemplate } from "millrace/templates";
import type { Template, TemplateMark } from "millrace/templates";

/** The syntax of the variables in a template. */
export type TemplateFormat = "f-string" | "mustache" | "jinja2";

/** A part of a template. */
export type Segment =
  | { readonly kind: "text"; readonly text: string }
  /** A variable. `source` is its text in the template, such as `{name}`. */
  | { readonly kind: "variable"; readonly name: string; readonly source: string }
  /** A Mustache tag without a value, such as the start of a section. */
  | { readonly kind: "mark"; readonly name: string; readonly source: string };

/** A variable that a template reads. */
export interface Variable {
  readonly name: string;
  /** Whether the value must be a list or an object, because a section or a dotted name reads it. */
  readonly isStructured: boolean;
}

export type TemplateValues = Readonly<Record<string, unknown>>;

/** A template, parsed as in the SDK and the server, or an error message if it is malformed. */
type ParseResult =
  | { readonly kind: "template"; readonly template: Template }
  | { readonly kind: "fault"; readonly fault: string };

function parse(text: string, format: Exclude<TemplateFormat, "jinja2">): ParseResult {
  try {
    return { kind: "template", template: parseTemplate(text, format) };
  } catch (cause) {
    return { kind: "fault", fault: cause instanceof Error ? cause.message : String(cause) };
  }
}

/**
 * Returns why a template can't be filled in; `undefined` if it can be filled in. Jinja2 templates are not parsed, so
 * `undefined` is also returned for them.
 */
export function findTemplateFault(text: string, format: TemplateFormat): string | undefined {
  const parsed = format === "jinja2" ? undefined : parse(text, format);
  return parsed?.kind === "fault" ? parsed.fault : undefined;
}

/**
 * Splits a template into text, variables and tags. The joined segments are equal to the template. A malformed template
 * becomes a single text segment.
 */
export function toSegments(text: string, format: TemplateFormat): readonly Segment[] {
  const segments: Segment[] = [];
  let position = 0;
  const addText = (to: number): void => {
    if (to > position) {
      segments.push({ kind: "text", text: text.slice(position, to) });
    }
  };
  for (const { from, to, kind, name } of listMarks(text, format)) {
    addText(from);
    const source = text.slice(from, to);
    segments.push({ kind: kind === "variable" ? "variable" : "mark", name, source });
    position = to;
  }
  addText(text.length);
  return segments;
}

function listMarks(
  text: string,
  format: TemplateFormat,
): readonly Pick<TemplateMark, "from" | "to" | "kind" | "name">[] {
  if (format === "jinja2") {
    return [...text.matchAll(jinjaVariable)].map((match) => ({
      from: match.index,
      to: match.index + match[0].length,
      kind: "variable",
      name: match[1] ?? "",
    }));
  }
  const parsed = parse(text, format);
  return parsed.kind === "fault" ? [] : parsed.template.marks;
}

/** A variable of Jinja2. Filters and calls may follow its name. */
const jinjaVariable = /\{\{-?\s*([\w.]+)[^{}]*\}\}/g;

/**
 * Lists the variables of a template, each once. Omits names inside a section, because they refer to members of the
 * section's value.
 */
export function toVariables(text: string, format: TemplateFormat): readonly Variable[] {
  const isStructuredByName = new Map<string, boolean>();
  const add = (name: string, isStructured: boolean): unknown =>
    isStructuredByName.set(name, isStructured || isStructuredByName.get(name) === true);
  if (format === "jinja2") {
    for (const { name } of listMarks(text, format)) {
      add(name.split(".")[0] ?? name, name.includes("."));
    }
  } else {
    const parsed = parse(text, format);
    for (const node of parsed.kind === "fault" ? [] : parsed.template.nodes) {
      if (node.kind !== "text" && node.root !== "") {
        add(node.root, node.kind === "section" || node.name !== node.root);
      }
    }
  }
  return [...isStructuredByName].map(([name, isStructured]) => ({ name, isStructured }));
}

/**
 * Replaces the variables of a template with values, as the SDK and the server do. A variable without a value stays as
 * written. In a Jinja2 template, only variables are replaced.
 *
 * @throws Error the template is malformed, or a value can't be a text
 */
export function fillTemplate(text: string, format: TemplateFormat, values: TemplateValues): string {
  if (format === "jinja2") {
    return text.replaceAll(jinjaVariable, (source, name: string) => {
      const value = name.split(".").reduce(readMember, values);
      return value === undefined ? source : toText(value);
    });
  }
  return renderTemplate(parseTemplate(text, format), {
    values,
    missing: new Set(),
    keepsMissing: true,
  });
}

/** A part of the text that results from filling in a template. */
export interface FilledPiece {
  readonly text: string;
  /** The variable whose value is this text; absent for text of the template itself. */
  readonly variable?: string;
}

/**
 * Replaces the variables of a template with values. Returns the text in pieces that show which text is the value of a
 * variable. Returns `undefined` if the template can't be filled in because it is malformed, because it is a Jinja2
 * template, or because a variable has no value.
 */
export function fillPieces(
  template: string,
  format: TemplateFormat,
  values: TemplateValues,
): readonly FilledPiece[] | undefined {
  const parsed = format === "jinja2" ? undefined : parse(template, format);
  if (parsed?.kind !== "template") {
    return undefined;
  }
  const ranges: { readonly variable: string; readonly from: number; readonly to: number }[] = [];
  const missing = new Set<string>();
  let text: string;
  try {
    text = renderTemplate(parsed.template, {
      values,
      missing,
      onVariable: (variable, from, to) => ranges.push({ variable, from, to }),
    });
  } catch {
    return undefined; // A value can't be converted to text, so the prompt that was sent did not contain it.
  }
  if (missing.size > 0) {
    return undefined;
  }
  let position = 0;
  const pieces = ranges.flatMap(({ variable, from, to }): readonly FilledPiece[] => {
    const before = text.slice(position, from);
    position = to;
    return [{ text: before }, { text: text.slice(from, to), variable }];
  });
  return [...pieces, { text: text.slice(position) }].filter((piece) => piece.text !== "");
}

const readMember = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as TemplateValues)[name]
    : undefined;

const toText = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? "");
