import type { RedactionKeySearch, RedactionSearch } from "./redaction-search.ts";

/** A built-in set of rules. */
export type RedactionSet = "secrets" | "emails" | "cards";

/** The rules of a built-in set: patterns for texts and patterns for keys. */
interface RuleSet {
  readonly searches: readonly RedactionSearch[];
  readonly keySearches: readonly RedactionKeySearch[];
}

const createSecretSearch = (requiredTexts: string, pattern: RegExp): RedactionSearch => ({
  name: "secret",
  requiredTexts: requiredTexts.split(" "),
  pattern,
});

/** Matches keys of JSON objects whose values are secrets: keys in lower snake case, with any prefix. */
const secretKeys =
  "pass(?:word|wd|phrase|code)|pwd|secrets?|credentials?|authorization|cookies?|" +
  "(?:api|access|secret|private|signing|encryption)_?key|" +
  "(?:access|refresh|id|auth|bearer|session|csrf|api|security)_?token|" +
  "client_?secret|connection_?string|x_api_key|set_cookie|apikey";

/** Matches the text between a secret's name and its value: a quote that ends the name, and a colon or equals sign. */
const assignment = String.raw`(?:\\{0,7}["'])?\s{0,8}[:=]\s{0,8}`;

/** Names whose values are secrets with and without quotes. */
const assignedNames =
  "password|passwd|passphrase|secret|(?:api|access|private)[-_]?key|(?:access|refresh|auth|session)[-_]?token";

/**
 * Names whose values are secrets only in quotes. Without quotes, such a name is often a word of a sentence or the name
 * of a header whose value begins with a scheme.
 */
const quotedNames =
  "authorization|cookies?|credentials?|pwd|passcode|secrets|connection[-_]?string|" +
  "(?:secret|signing|encryption)[-_]?key|(?:id|bearer|csrf|api|security)[-_]?token";

/**
 * Match the content of a quoted value: in JSON, in JSON inside a JSON string, and one level deeper. The number of
 * backslashes before the opening quote shows the level, and so which quote closes the value. Each pattern matches a
 * character in only one way and requires nothing after the value, so a value without an end also takes linear time.
 */
const quotedValues = [
  String.raw`(?<=(?<!\\)["'])(?:(?!\k<quote>)[^\\]|\\[^]){1,8192}`,
  String.raw`(?<=(?<!\\)\\["'])(?:(?!\k<quote>)[^\\]|\\{2}(?:\\[^]|(?!\k<quote>)[^\\])|\\(?!\k<quote>)[^\\]){1,8192}`,
  String.raw`(?<=(?<!\\)\\{3}["'])(?:(?!\k<quote>)[^\\]|\\{4}(?:\\{3}\k<quote>|\\{4}|(?!\k<quote>)[^\\])|\\{1,3}(?!\k<quote>)[^\\]){1,8192}`,
].join("|");

/** Matches assignments of secrets. A quoted value ends at its closing quote, an unquoted one after its first word. */
const assignedSecret = new RegExp(
  `(?:${assignedNames}|(?:${quotedNames})(?=${assignment}${String.raw`\\{0,7}["']`}))${assignment}` +
    String.raw`(?:\\{0,7}(?<quote>["']))?(?<masked>${quotedValues}|[^\s"'\\,;&{}[\]()<>]{4,})`,
  "dgi",
);

/** The built-in rules. Matching takes linear time, because no part of a pattern can match the same text in two ways. */
export const redactionSets: Readonly<Record<RedactionSet, RuleSet>> = {
  secrets: {
    searches: [
      // API keys of OpenAI, Anthropic, Stripe and other vendors with the same format.
      createSecretSearch("sk", /(?<![A-Za-z0-9])sk[-_][A-Za-z0-9_-]{16,}/g),
      createSecretSearch("rk_", /(?<![A-Za-z0-9])rk_(?:live|test)_[A-Za-z0-9]{16,}/g),
      // API keys of LangSmith, GitHub, GitLab, npm, Hugging Face, Slack, PyPI, Docker, Linear, Notion and Replicate.
      createSecretSearch(
        "lsv2_ gho_ ghp_ ghs_ ghu_ ghr_ github_pat_ npm_ hf_ r8_ ntn_ lin_api_ dckr_pat_",
        /(?<![A-Za-z0-9])(?:lsv2_[a-z]{2}_|gh[opsur]_|github_pat_|npm_|hf_|r8_|ntn_|lin_api_|dckr_pat_)[A-Za-z0-9_]{16,}/g,
      ),
      createSecretSearch(
        "glpat- xox xapp- pypi- gsk-",
        /(?<![A-Za-z0-9])(?:glpat-|xox[abeoprs]-|xapp-|pypi-|gsk-)[A-Za-z0-9_-]{12,}/g,
      ),
      // API keys of AWS and Google.
      createSecretSearch(
        "akia asia aroa aida",
        /(?<![A-Za-z0-9])(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}(?![A-Za-z0-9])/g,
      ),
      createSecretSearch("aiza", /(?<![A-Za-z0-9])AIza[A-Za-z0-9_-]{35}/g),
      createSecretSearch("ya29.", /(?<![A-Za-z0-9])ya29\.[A-Za-z0-9_-]{20,}/g),
      // JSON Web Tokens (RFC 7519, section 3).
      createSecretSearch(
        "eyj",
        /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g,
      ),
      // Private keys in PEM format (RFC 7468, section 10; with headers: RFC 1421, section 4.4) or of PGP (RFC 9580).
      // The pattern also matches a key whose end was truncated.
      createSecretSearch(
        "-----begin",
        /-----BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----[^-]*(?:-(?!----)[^-]*)*(?:-----END [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----)?/g,
      ),
      // Credentials in headers (RFC 9110, section 11.6.2) and in URLs (RFC 3986, section 3.2.1).
      createSecretSearch("bearer", /\bBearer\s+(?<masked>[A-Za-z0-9._~+/=-]{8,})/dgi),
      createSecretSearch("basic", /\bBasic\s+(?<masked>[A-Za-z0-9+/]{8,}={0,2})/dgi),
      createSecretSearch("://", /:\/\/[^\s/?#:@"'\\]{0,256}:(?<masked>[^\s/?#@"'\\]{1,512})@/dg),
      // Values of XML elements, including escaped elements.
      createSecretSearch(
        "passw passphrase secret key token credential authorization cookie",
        /(?:<|&lt;)[\w.:-]{0,64}?(?:passw(?:or)?d|passphrase|secret|(?:api|access|private|secret)[-_]?key|(?:access|refresh|auth|session|bearer)[-_]?token|credentials?|authorization|cookie)(?:\s[^<>&]{0,512})?(?:>|&gt;)\s{0,64}(?:<!\[CDATA\[)?(?<masked>(?:(?!&lt;)[^<]){1,8192})/dgi,
      ),
      // Fields of multipart forms (RFC 7578, section 4.2).
      createSecretSearch(
        "passw passphrase secret key token",
        /name="[\w.-]{0,64}?(?:passw(?:or)?d|passphrase|secret|(?:api|access|private)[-_]?key|(?:access|refresh|auth|session)[-_]?token)"[^\r\n]{0,512}(?:\r?\n[^\r\n]{1,512}){0,8}\r?\n\r?\n(?<masked>[^\r\n]{1,8192})/dgi,
      ),
      // Assignments such as `password=...` and `"api_key": "..."`, also in JSON inside a JSON string.
      createSecretSearch(
        "passw passphrase secret key token authorization cookie credential pwd connection",
        assignedSecret,
      ),
    ],
    keySearches: [{ name: "secret", pattern: new RegExp(`^(?:.*_)?(?:${secretKeys})$`) }],
  },
  emails: {
    searches: [
      {
        name: "email",
        requiredTexts: ["@"],
        pattern:
          /(?<![\p{L}\p{N}._%+'-])[\p{L}\p{N}._%+'-]{1,64}@(?:[\p{L}\p{N}-]{1,63}\.){1,8}[\p{L}]{2,24}/gu,
      },
    ],
    keySearches: [],
  },
  cards: {
    searches: [
      {
        name: "card",
        // Card numbers (ISO/IEC 7812-1): 13 to 19 digits, which single spaces or hyphens may separate.
        pattern: /(?<![\w.-])\d(?:[ -]?\d){12,18}(?![\w-])/g,
        isCard: true,
      },
    ],
    keySearches: [],
  },
};
