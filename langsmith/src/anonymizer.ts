import { toRecordedForm } from "./recorded-form.ts";

/** A string inside a value, and its path: the keys that lead to it. */
export interface StringNode {
  value: string;
  path: string;
}

/** Replaces all strings of a value in one call. */
export interface StringNodeProcessor {
  maskNodes: (nodes: StringNode[]) => StringNode[];
}

/** A pattern, and the text that replaces its matches. */
export interface StringNodeRule {
  type?: "pattern";
  pattern: RegExp | string;
  /** @defaultValue `"[redacted]"` */
  replace?: string;
}

/**
 * What replaces strings: a function that is called with each string and its path, a list of rules, or an object that
 * replaces all strings at once.
 */
export type ReplacerType =
  | ((value: string, path?: string) => string)
  | StringNodeRule[]
  | StringNodeProcessor;

/**
 * Returns a function that copies a value and replaces strings in the copy. It can be passed as the client option
 * `anonymizer`.
 *
 * @param options - `maxDepth`: the number of levels of a value that are searched, 10 by default. A marker replaces
 * deeper values, because they may contain strings that should be replaced.
 */
export function createAnonymizer(
  replacer: ReplacerType,
  options?: { maxDepth?: number },
): <T>(data: T) => T {
  const maxDepth = options?.maxDepth ?? defaultDepth;
  return <T>(data: T): T => {
    const root = { data };
    const texts: CopiedText[] = [];
    copyValue(data, {
      parent: root,
      key: "data",
      path: "",
      remainingDepth: maxDepth,
      seen: new WeakSet(),
      texts,
    });
    replaceTexts(texts, toProcessor(replacer));
    return root.data;
  };
}

const defaultDepth = 10;

/** The text that replaces a secret. */
export const SECRET_PLACEHOLDER = "[SECRET_DETECTED]";

const secret = (pattern: RegExp): StringNodeRule => ({ pattern, replace: SECRET_PLACEHOLDER });

/**
 * Rules that find API keys of common services, tokens, private keys, and values that are assigned to names such as
 * `password`.
 */
export const DEFAULT_SECRET_RULES: StringNodeRule[] = [
  secret(/\b(?:sk|rk)[-_][A-Za-z0-9_-]{16,}/g),
  secret(
    /\b(?:lsv2_[a-z]{2}_|gh[opsur]_|github_pat_|npm_|hf_|r8_|ntn_|lin_api_|dckr_pat_)[A-Za-z0-9_]{16,}/g,
  ),
  secret(/\b(?:glpat-|xox[abeoprs]-|xapp-|pypi-|gsk[-_])[A-Za-z0-9_-]{12,}/g),
  secret(/\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}\b/g),
  secret(/\bAIza[A-Za-z0-9_-]{35}/g),
  secret(/\bya29\.[A-Za-z0-9_-]{20,}/g),
  secret(/\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g),
  secret(
    /-----BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----[^-]*(?:-(?!----)[^-]*)*(?:-----END [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----)?/g,
  ),
  {
    pattern:
      /(\b(?:api[_-]?key|access[_-]?token|auth[_-]?token|client[_-]?secret|secret|token|password|passwd|pwd)\b["']?\s*[:=]\s*["']?)[^\s"',;]{6,}/gi,
    replace: `$1${SECRET_PLACEHOLDER}`,
  },
  { pattern: /\b(Bearer\s+)[A-Za-z0-9._~+/=-]{8,}/gi, replace: `$1${SECRET_PLACEHOLDER}` },
  { pattern: /(:\/\/[^\s:/@]+:)[^\s:/@]+(@)/g, replace: `$1${SECRET_PLACEHOLDER}$2` },
];

/**
 * Returns an anonymizer with {@link DEFAULT_SECRET_RULES}. The client option `redact` of Millrace does the same in a
 * worker thread.
 *
 * @param options - `extraRules` are applied after the default rules. `maxDepth` is 24 by default.
 */
export const createSecretAnonymizer = (options?: {
  extraRules?: StringNodeRule[];
  maxDepth?: number;
}): (<T>(data: T) => T) =>
  createAnonymizer([...DEFAULT_SECRET_RULES, ...(options?.extraRules ?? [])], {
    maxDepth: options?.maxDepth ?? 24,
  });

function toProcessor(replacer: ReplacerType): StringNodeProcessor {
  if (typeof replacer === "function") {
    return {
      maskNodes: (nodes) =>
        nodes.map((node) => ({ ...node, value: replacer(node.value, node.path) })),
    };
  }
  if (!Array.isArray(replacer)) {
    return replacer;
  }
  const rules = replacer.map(({ pattern, replace = "[redacted]" }) => ({
    pattern: typeof pattern === "string" ? new RegExp(pattern, "g") : pattern,
    replace,
  }));
  return {
    maskNodes: (nodes) =>
      nodes.map((node) => ({
        ...node,
        value: rules.reduce(
          (text, { pattern, replace }) => text.replace(pattern, replace),
          node.value,
        ),
      })),
  };
}

/** A string of a copied value, and the member of the copy that holds it. */
interface CopiedText extends StringNode {
  readonly parent: object;
  readonly key: string;
}

/**
 * What a processor gets. Different strings can have the same path, as in `{ "a.b": "x", a: { b: "y" } }`, so each node
 * also has a number. A processor that copies nodes returns the numbers, too.
 */
interface NumberedNode extends StringNode {
  readonly _id: number;
}

/** Passes the strings of a copy to a processor, and writes what it returns into the copy. */
function replaceTexts(texts: readonly CopiedText[], processor: StringNodeProcessor): void {
  const nodes = texts.map(({ value, path }, index): NumberedNode => ({ value, path, _id: index }));
  const unnumbered = new Map<string, string[]>();
  for (const node of processor.maskNodes(nodes)) {
    const text = texts[(node as Partial<NumberedNode>)._id ?? -1];
    if (text === undefined) {
      unnumbered.set(node.path, [...(unnumbered.get(node.path) ?? []), node.value]);
    } else {
      setMember(text, node.value);
    }
  }
  for (const text of texts) {
    const values = unnumbered.get(text.path);
    if (values !== undefined) {
      // A processor may return only what it changed. If it returns fewer values than there are strings with this path,
      // its last value replaces all further strings, because one of them may be the one that it masked.
      setMember(text, (values.length > 1 ? values.shift() : values[0]) ?? "");
    }
  }
}

/** Sets an own member, also if its key is `__proto__`. */
const setMember = ({ parent, key }: Pick<CopiedText, "parent" | "key">, value: unknown): void => {
  const flags = { configurable: true, enumerable: true, writable: true };
  Object.defineProperty(parent, key, { value, ...flags });
};

const isObjectOrList = (value: unknown): value is object =>
  typeof value === "object" &&
  value !== null &&
  (Array.isArray(value) ||
    [Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null));

/** The position of a recursive walk through a value, and the strings that were found so far. */
interface Walk {
  /** The member of the copy into which the value is copied. */
  readonly parent: object;
  readonly key: string;
  readonly path: string;
  readonly remainingDepth: number;
  readonly seen: WeakSet<object>;
  readonly texts: CopiedText[];
}

/** Copies a value in the form in which it is recorded, and collects its strings. */
function copyValue(original: unknown, walk: Walk): void {
  const { parent, key, path, remainingDepth, seen, texts } = walk;
  const isObject = typeof original === "object" && original !== null;
  if (isObject && seen.has(original)) {
    setMember(walk, "[circular]");
    return;
  }
  const value = isObject ? toRecordedForm(original) : original;
  if (typeof value === "string") {
    texts.push({ value, path, parent, key });
  }
  if (!isObject || !isObjectOrList(value)) {
    setMember(walk, value);
    return;
  }
  if (remainingDepth <= 0) {
    setMember(walk, "[too deep to anonymize]");
    return;
  }
  const isList = Array.isArray(value);
  const copy = isList ? [] : {};
  setMember(walk, copy);
  seen.add(original);
  for (const [name, member] of Object.entries(value) as [string, unknown][]) {
    const objectPath = path === "" ? name : `${path}.${name}`;
    copyValue(name === "toJSON" && typeof member === "function" ? undefined : member, {
      ...walk,
      parent: copy,
      key: name,
      path: isList ? `${path}[${name}]` : objectPath,
      remainingDepth: remainingDepth - 1,
    });
  }
  seen.delete(original);
}
