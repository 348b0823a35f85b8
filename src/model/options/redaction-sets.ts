import type { RedactionKeySearch, RedactionSearch } from "./redaction-search.ts";

/** A set of rules that is built in. */
export type RedactionSet = "secrets" | "emails" | "cards";

interface Rules {
  readonly searches: readonly RedactionSearch[];
  readonly keys: readonly RedactionKeySearch[];
}

const secret = (needs: string, pattern: RegExp): RedactionSearch => ({
  name: "secret",
  needs: needs.split(" "),
  pattern,
});

/** Keys under which a secret stands: in snake case and lower case, behind any prefix. */
const secretKeys =
  "pass(?:word|wd|phrase|code)|pwd|secrets?|credentials?|authorization|cookies?|" +
  "(?:api|access|secret|private|signing|encryption)_?key|" +
  "(?:access|refresh|id|auth|bearer|session|csrf|api|security)_?token|" +
  "client_?secret|connection_?string|x_api_key|set_cookie|apikey";

/** What the built-in rules find. Each pattern is linear: no part of it can be matched in two ways. */
export const redactionSets: Readonly<Record<RedactionSet, Rules>> = {
  secrets: {
    searches: [
      // OpenAI, Anthropic, Stripe and those who took after them
      secret("sk", /(?<![A-Za-z0-9])sk[-_][A-Za-z0-9_-]{16,}/g),
      secret("rk_", /(?<![A-Za-z0-9])rk_(?:live|test)_[A-Za-z0-9]{16,}/g),
      // LangSmith, GitHub, GitLab, npm, Hugging Face, Slack, PyPI, Docker, Linear, Notion, Replicate
      secret(
        "lsv2_ gho_ ghp_ ghs_ ghu_ ghr_ github_pat_ npm_ hf_ r8_ ntn_ lin_api_ dckr_pat_",
        /(?<![A-Za-z0-9])(?:lsv2_[a-z]{2}_|gh[opsur]_|github_pat_|npm_|hf_|r8_|ntn_|lin_api_|dckr_pat_)[A-Za-z0-9_]{16,}/g,
      ),
      secret(
        "glpat- xox xapp- pypi- gsk-",
        /(?<![A-Za-z0-9])(?:glpat-|xox[abeoprs]-|xapp-|pypi-|gsk-)[A-Za-z0-9_-]{12,}/g,
      ),
      // AWS, Google
      secret(
        "akia asia aroa aida",
        /(?<![A-Za-z0-9])(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}(?![A-Za-z0-9])/g,
      ),
      secret("aiza", /(?<![A-Za-z0-9])AIza[A-Za-z0-9_-]{35}/g),
      secret("ya29.", /(?<![A-Za-z0-9])ya29\.[A-Za-z0-9_-]{20,}/g),
      // JSON Web Tokens: RFC 7519, section 3
      secret("eyj", /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g),
      // PEM: RFC 7468, section 10; with headers: RFC 1421, section 4.4; PGP: RFC 9580, section 6.2. Also
      // one of which the end was cut off.
      secret(
        "-----begin",
        /-----BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----[^-]*(?:-(?!----)[^-]*)*(?:-----END [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----)?/g,
      ),
      // RFC 9110, section 11.6.2, and RFC 3986, section 3.2.1
      secret("bearer", /\bBearer\s+(?<masked>[A-Za-z0-9._~+/=-]{8,})/dgi),
      secret("basic", /\bBasic\s+(?<masked>[A-Za-z0-9+/]{8,}={0,2})/dgi),
      secret("://", /:\/\/[^\s/?#:@"'\\]{0,256}:(?<masked>[^\s/?#@"'\\]{1,512})@/dg),
      // XML elements, escaped ones included
      secret(
        "passw passphrase secret key token credential authorization cookie",
        /(?:<|&lt;)[\w.:-]{0,64}?(?:passw(?:or)?d|passphrase|secret|(?:api|access|private|secret)[-_]?key|(?:access|refresh|auth|session|bearer)[-_]?token|credentials?|authorization|cookie)(?:\s[^<>&]{0,512})?(?:>|&gt;)\s{0,64}(?:<!\[CDATA\[)?(?<masked>(?:(?!&lt;)[^<]){1,8192})/dgi,
      ),
      // A field of a form: RFC 7578, section 4.2
      secret(
        "passw passphrase secret key token",
        /name="[\w.-]{0,64}?(?:passw(?:or)?d|passphrase|secret|(?:api|access|private)[-_]?key|(?:access|refresh|auth|session)[-_]?token)"[^\r\n]{0,512}(?:\r?\n[^\r\n]{1,512}){0,8}\r?\n\r?\n(?<masked>[^\r\n]{1,8192})/dgi,
      ),
      // `password=...` and `"api_key": "..."` within texts, JSON in JSON included
      secret(
        "passw passphrase secret key token",
        /(?:password|passwd|passphrase|secret|(?:api|access|private)[-_]?key|(?:access|refresh|auth|session)[-_]?token)(?:\\*["'])?\s{0,8}[:=]\s{0,8}(?:\\*["'])?(?<masked>[^\s"'\\,;&{}[\]()<>]{4,})/dgi,
      ),
    ],
    keys: [{ name: "secret", pattern: new RegExp(`^(?:.*_)?(?:${secretKeys})$`) }],
  },
  emails: {
    searches: [
      {
        name: "email",
        needs: ["@"],
        pattern:
          /(?<![\p{L}\p{N}._%+'-])[\p{L}\p{N}._%+'-]{1,64}@(?:[\p{L}\p{N}-]{1,63}\.){1,8}[\p{L}]{2,24}/gu,
      },
    ],
    keys: [],
  },
  cards: {
    searches: [
      {
        name: "card",
        // 13 to 19 digits, alone or in groups: ISO/IEC 7812-1
        pattern: /(?<![\w.-])\d(?:[ -]?\d){12,18}(?![\w-])/g,
        isCard: true,
      },
    ],
    keys: [],
  },
};
