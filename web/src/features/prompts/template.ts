/** The syntax of the variables in a template. */
export type TemplateFormat = "f-string" | "mustache" | "jinja2";

/** A part of a template. */
export type Segment =
  | { readonly kind: "text"; readonly text: string }
  /** A variable. `source` is its text in the template, such as `{name}`. */
  | { readonly kind: "variable"; readonly name: string; readonly source: string }
  /** A Mustache tag without a value: start (`#`, `^`) or end (`/`) of a section, comment (`!`), partial (`>`). */
  | {
      readonly kind: "mark";
      readonly mark: "#" | "^" | "/" | "!" | ">";
      readonly name: string;
      readonly source: string;
    };

/** Splits a template into text, variables and tags. Malformed syntax, such as an unpaired brace, is text. */
export function toSegments(template: string, format: TemplateFormat): readonly Segment[] {
  return mergeAdjacentTexts(
    format === "f-string" ? parseFString(template) : parseMustache(template, format),
  );
}

// `{{` and `}}` are literal braces. A conversion and a format may follow a name: `{price!s:>10}`.
const fStringPattern = /\{\{|\}\}|\{([^{}!:]+)(?:![rsa])?(?::[^{}]*)?\}/g;

function parseFString(template: string): Segment[] {
  return splitByPattern(template, fStringPattern, (source, [name]) => {
    const trimmedName = name?.trim();
    return trimmedName === undefined || trimmedName === ""
      ? { kind: "text", text: name === undefined ? source.slice(1) : source }
      : { kind: "variable", name: trimmedName, source };
  });
}

const mustachePattern = /\{\{\{\s*([^{}]+?)\s*\}\}\}|\{\{\s*([#^/!>&]?)\s*([^{}]*?)\s*\}\}/g;

function parseMustache(template: string, format: "mustache" | "jinja2"): Segment[] {
  return splitByPattern(
    template,
    mustachePattern,
    (source, [tripleBraceName, sign, doubleBraceName]) => {
      const name = (tripleBraceName ?? doubleBraceName ?? "").trim();
      if (name === "" && sign !== "!") {
        return { kind: "text", text: source };
      }
      if (format === "mustache" && isTagSign(sign)) {
        return { kind: "mark", mark: sign, name, source };
      }
      // In Jinja2, filters and calls may follow the name.
      const variableName = format === "jinja2" ? (/^[\w.]+/.exec(name)?.[0] ?? name) : name;
      return { kind: "variable", name: variableName, source };
    },
  );
}

const isTagSign = (sign: string | undefined): sign is "#" | "^" | "/" | "!" | ">" =>
  sign !== undefined && sign !== "" && "#^/!>".includes(sign);

type MatchGroups = readonly (string | undefined)[];

function splitByPattern(
  template: string,
  pattern: RegExp,
  toSegment: (source: string, groups: MatchGroups) => Segment,
): Segment[] {
  const segments: Segment[] = [];
  let lastMatchEnd = 0;
  for (const match of template.matchAll(pattern)) {
    segments.push({ kind: "text", text: template.slice(lastMatchEnd, match.index) });
    segments.push(toSegment(match[0], match.slice(1)));
    lastMatchEnd = match.index + match[0].length;
  }
  segments.push({ kind: "text", text: template.slice(lastMatchEnd) });
  return segments;
}

function mergeAdjacentTexts(segments: readonly Segment[]): readonly Segment[] {
  const merged: Segment[] = [];
  for (const segment of segments) {
    const last = merged.at(-1);
    if (segment.kind === "text" && last?.kind === "text") {
      merged[merged.length - 1] = { kind: "text", text: last.text + segment.text };
    } else if (segment.kind !== "text" || segment.text !== "") {
      merged.push(segment);
    }
  }
  return merged;
}

/** A variable that a template reads. */
export interface Variable {
  readonly name: string;
  /** Whether its value must be a list or an object, because a section or a dotted name reads it. */
  readonly isStructured: boolean;
}

/** Lists the variables of a template, each once. Omits names inside a section: they refer to members of its value. */
export function toVariables(template: string, format: TemplateFormat): readonly Variable[] {
  const isStructuredByName = new Map<string, boolean>();
  let depth = 0;
  for (const segment of toSegments(template, format)) {
    const isSection = segment.kind === "mark" && (segment.mark === "#" || segment.mark === "^");
    if (segment.kind === "mark" && segment.mark === "/") {
      depth -= 1;
    }
    if ((segment.kind === "variable" || isSection) && depth <= 0) {
      const [variableName = ""] = segment.name.split(".");
      if (variableName !== "") {
        const isStructured = format !== "f-string" && (isSection || segment.name.includes("."));
        isStructuredByName.set(
          variableName,
          (isStructuredByName.get(variableName) ?? false) || isStructured,
        );
      }
    }
    if (isSection) {
      depth += 1;
    }
  }
  return [...isStructuredByName].map(([name, isStructured]) => ({ name, isStructured }));
}

export type TemplateValues = Readonly<Record<string, unknown>>;

/** Replaces the variables of a template with values. A variable without a value stays as written. */
export function fillTemplate(
  template: string,
  format: TemplateFormat,
  values: TemplateValues,
): string {
  const segments = toSegments(template, format);
  return format === "mustache"
    ? fillBlock(segments, [values])
    : segments.map((segment) => fillSegment(segment, [values])).join("");
}

function fillSegment(segment: Segment, stack: readonly unknown[]): string {
  switch (segment.kind) {
    case "text":
      return segment.text;
    case "mark":
      return "";
    case "variable": {
      const value = findValue(segment.name, stack);
      return value === undefined ? segment.source : formatValue(value);
    }
  }
}

/**
 * Replaces variables and sections in the segments of a Mustache template. `stack` contains the contexts in which names
 * are looked up, the innermost last. A section renders once for each item of a list, with the item as the innermost
 * context, and once for any other value that is not empty, with that value as the innermost context. An inverted
 * section renders once if its value is empty.
 */
function fillBlock(segments: readonly Segment[], stack: readonly unknown[]): string {
  let filledText = "";
  let index = 0;
  while (index < segments.length) {
    const segment = segments[index] as Segment;
    if (segment.kind === "mark" && (segment.mark === "#" || segment.mark === "^")) {
      const end = findSectionEnd(segments, index);
      const innerSegments = segments.slice(index + 1, end);
      filledText += toSectionContexts(segment.mark, findValue(segment.name, stack))
        .map((context) => fillBlock(innerSegments, [...stack, context]))
        .join("");
      index = end + 1;
    } else {
      filledText += fillSegment(segment, stack);
      index += 1;
    }
  }
  return filledText;
}

function findSectionEnd(segments: readonly Segment[], start: number): number {
  let depth = 0;
  for (let index = start; index < segments.length; index += 1) {
    const segment = segments[index];
    if (segment?.kind === "mark") {
      depth += segment.mark === "/" ? -1 : Number(segment.mark === "#" || segment.mark === "^");
      if (depth === 0) {
        return index;
      }
    }
  }
  return segments.length;
}

function toSectionContexts(mark: "#" | "^", value: unknown): readonly unknown[] {
  const isEmpty =
    value === undefined ||
    value === null ||
    value === false ||
    value === "" ||
    value === 0 ||
    (Array.isArray(value) && value.length === 0);
  if (mark === "^") {
    return isEmpty ? [{}] : [];
  }
  if (isEmpty) {
    return [];
  }
  return Array.isArray(value) ? (value as readonly unknown[]) : [value];
}

/**
 * Finds the value of a dotted name. The first segment is looked up in the contexts from the innermost section outwards,
 * each following segment in the value found before.
 */
function findValue(name: string, stack: readonly unknown[]): unknown {
  if (name === ".") {
    return stack.at(-1);
  }
  const [firstName = "", ...innerNames] = name.split(".");
  for (let index = stack.length - 1; index >= 0; index -= 1) {
    const firstValue = getMember(stack[index], firstName);
    if (firstValue !== undefined) {
      return innerNames.reduce(getMember, firstValue);
    }
  }
  return undefined;
}

const getMember = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;

const formatValue = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? "");
