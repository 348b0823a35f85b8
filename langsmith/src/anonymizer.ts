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
    const nodes: StringNode[] = [];
    collectTexts(data, { path: "", remainingDepth: maxDepth, seen: new WeakSet(), nodes });
    const masked = new Map(
      toProcessor(replacer)
        .maskNodes(nodes.map((node) => ({ ...node })))
        .map(({ path, value }) => [path, value]),
    );
    const texts = new Map(nodes.map(({ path, value }) => [path, masked.get(path) ?? value]));
    return rebuild(data, { path: "", remainingDepth: maxDepth, seen: new WeakSet(), texts }) as T;
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
        nodes.map(({ value, path }) => ({ value: replacer(value, path), path })),
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
      nodes.map(({ value, path }) => ({
        value: rules.reduce((text, { pattern, replace }) => text.replace(pattern, replace), value),
        path,
      })),
  };
}

/** The position of a recursive walk through a value. */
interface Walk {
  readonly path: string;
  readonly remainingDepth: number;
  readonly seen: WeakSet<object>;
}

const isObjectOrList = (value: unknown): value is object =>
  typeof value === "object" &&
  value !== null &&
  (Array.isArray(value) ||
    [Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null));

const enterMember = (
  walk: Walk,
  key: string,
  parent: object,
): Pick<Walk, "path" | "remainingDepth"> => ({
  path: Array.isArray(parent)
    ? `${walk.path}[${key}]`
    : [walk.path, key].filter((part) => part !== "").join("."),
  remainingDepth: walk.remainingDepth - 1,
});

function collectTexts(value: unknown, walk: Walk & { readonly nodes: StringNode[] }): void {
  if (typeof value === "string") {
    walk.nodes.push({ value, path: walk.path });
    return;
  }
  if (!isObjectOrList(value) || walk.remainingDepth <= 0 || walk.seen.has(value)) {
    return;
  }
  walk.seen.add(value);
  for (const [key, member] of Object.entries(value) as [string, unknown][]) {
    collectTexts(member, { ...walk, ...enterMember(walk, key, value) });
  }
  walk.seen.delete(value);
}

function rebuild(
  value: unknown,
  walk: Walk & { readonly texts: ReadonlyMap<string, string> },
): unknown {
  if (typeof value === "string") {
    return walk.texts.get(walk.path) ?? value;
  }
  if (!isObjectOrList(value)) {
    return value;
  }
  if (walk.remainingDepth <= 0) {
    return "[too deep to anonymize]";
  }
  if (walk.seen.has(value)) {
    return "[circular]";
  }
  walk.seen.add(value);
  const entries = (Object.entries(value) as [string, unknown][]).map(
    ([key, member]): [string, unknown] => [
      key,
      rebuild(member, { ...walk, ...enterMember(walk, key, value) }),
    ],
  );
  walk.seen.delete(value);
  return Array.isArray(value) ? entries.map(([, member]) => member) : Object.fromEntries(entries);
}
