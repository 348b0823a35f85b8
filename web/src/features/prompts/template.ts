/** How a template marks its variables. */
export type TemplateFormat = "f-string" | "mustache" | "jinja2";

/** A piece of a template. */
export type Segment =
  | { readonly kind: "text"; readonly text: string }
  /** Where a value goes. */
  | { readonly kind: "variable"; readonly name: string; readonly source: string }
  /** What is repeated or left out by a value: the head or the end of a section, a comment. */
  | {
      readonly kind: "mark";
      readonly mark: "#" | "^" | "/" | "!" | ">";
      readonly name: string;
      readonly source: string;
    };

/** The pieces of a template, in order. What is no variable is text, braces without a fellow too. */
export function toSegments(template: string, format: TemplateFormat): readonly Segment[] {
  return joinTexts(format === "f-string" ? fromFString(template) : fromMustache(template, format));
}

// A doubled brace stands for itself; a name may have a conversion and a format behind it.
const fPattern = /\{\{|\}\}|\{([^{}!:]+)(?:![rsa])?(?::[^{}]*)?\}/g;

function fromFString(template: string): Segment[] {
  return split(template, fPattern, (source, [name]) => {
    const plain = name?.trim();
    return plain === undefined || plain === ""
      ? { kind: "text", text: name === undefined ? source.slice(1) : source }
      : { kind: "variable", name: plain, source };
  });
}

const mustachePattern = /\{\{\{\s*([^{}]+?)\s*\}\}\}|\{\{\s*([#^/!>&]?)\s*([^{}]*?)\s*\}\}/g;

function fromMustache(template: string, format: "mustache" | "jinja2"): Segment[] {
  return split(template, mustachePattern, (source, [triple, sign, rest]) => {
    const name = (triple ?? rest ?? "").trim();
    if (name === "" && sign !== "!") {
      return { kind: "text", text: source };
    }
    if (format === "mustache" && isMark(sign)) {
      return { kind: "mark", mark: sign, name, source };
    }
    // What Jinja2 has behind a name are filters and calls.
    const own = format === "jinja2" ? (/^[\w.]+/.exec(name)?.[0] ?? name) : name;
    return { kind: "variable", name: own, source };
  });
}

const isMark = (sign: string | undefined): sign is "#" | "^" | "/" | "!" | ">" =>
  sign !== undefined && sign !== "" && "#^/!>".includes(sign);

type Groups = readonly (string | undefined)[];

function split(
  template: string,
  pattern: RegExp,
  toSegment: (source: string, groups: Groups) => Segment,
): Segment[] {
  const segments: Segment[] = [];
  let end = 0;
  for (const match of template.matchAll(pattern)) {
    segments.push({ kind: "text", text: template.slice(end, match.index) });
    segments.push(toSegment(match[0], match.slice(1)));
    end = match.index + match[0].length;
  }
  segments.push({ kind: "text", text: template.slice(end) });
  return segments;
}

function joinTexts(segments: readonly Segment[]): readonly Segment[] {
  const joined: Segment[] = [];
  for (const segment of segments) {
    const last = joined.at(-1);
    if (segment.kind === "text" && last?.kind === "text") {
      joined[joined.length - 1] = { kind: "text", text: last.text + segment.text };
    } else if (segment.kind !== "text" || segment.text !== "") {
      joined.push(segment);
    }
  }
  return joined;
}

/** A value that a template asks for. */
export interface Variable {
  readonly name: string;
  /** Whether it is a list or an object: what a section or a dotted name reads. */
  readonly isStructured: boolean;
}

/** The variables of a template, each once, in order. What a section reads of its own value is none. */
export function toVariables(template: string, format: TemplateFormat): readonly Variable[] {
  const found = new Map<string, boolean>();
  let depth = 0;
  for (const segment of toSegments(template, format)) {
    const isSection = segment.kind === "mark" && (segment.mark === "#" || segment.mark === "^");
    if (segment.kind === "mark" && segment.mark === "/") {
      depth -= 1;
    }
    if ((segment.kind === "variable" || isSection) && depth <= 0) {
      const [head = ""] = segment.name.split(".");
      if (head !== "") {
        const isStructured = format !== "f-string" && (isSection || segment.name.includes("."));
        found.set(head, (found.get(head) ?? false) || isStructured);
      }
    }
    if (isSection) {
      depth += 1;
    }
  }
  return [...found].map(([name, isStructured]) => ({ name, isStructured }));
}

export type TemplateValues = Readonly<Record<string, unknown>>;

/** A template with its values; a variable without one stays as it is written. */
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
      const value = lookUp(segment.name, stack);
      return value === undefined ? segment.source : showValue(value);
    }
  }
}

/** Sections of Mustache: over each item of a list, within an object, or as often as a value is there. */
function fillBlock(segments: readonly Segment[], stack: readonly unknown[]): string {
  let filled = "";
  let index = 0;
  while (index < segments.length) {
    const segment = segments[index] as Segment;
    if (segment.kind === "mark" && (segment.mark === "#" || segment.mark === "^")) {
      const end = endOf(segments, index);
      const inner = segments.slice(index + 1, end);
      filled += contextsOf(segment.mark, lookUp(segment.name, stack))
        .map((context) => fillBlock(inner, [...stack, context]))
        .join("");
      index = end + 1;
    } else {
      filled += fillSegment(segment, stack);
      index += 1;
    }
  }
  return filled;
}

function endOf(segments: readonly Segment[], start: number): number {
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

function contextsOf(mark: "#" | "^", value: unknown): readonly unknown[] {
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

function lookUp(name: string, stack: readonly unknown[]): unknown {
  if (name === ".") {
    return stack.at(-1);
  }
  const [head = "", ...rest] = name.split(".");
  for (let index = stack.length - 1; index >= 0; index -= 1) {
    const found = memberOf(stack[index], head);
    if (found !== undefined) {
      return rest.reduce(memberOf, found);
    }
  }
  return undefined;
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;

const showValue = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? "");
