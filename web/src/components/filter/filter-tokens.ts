/** A token of a filter that the user is typing. The last text token may lack its closing quote. */
export interface FilterToken {
  /** `mark` is a parenthesis, a bracket or a comma; `other` is any other character. */
  readonly kind: "name" | "text" | "number" | "mark" | "other";
  /** Offsets in the filter: the first character, and the one after the last. */
  readonly from: number;
  readonly to: number;
  /** The token as written; for a text token, the characters between the quotes. */
  readonly text: string;
  /** For a text token, whether it has its closing quote. */
  readonly isClosed?: boolean;
}

const tokenPattern =
  /\s+|([A-Za-z_][\w-]*(?:\.[\w-]*)*)|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|([()[\],])|("(?:[^"\\]|\\[^])*"?|'(?:[^'\\]|\\[^])*'?)|([^])/g;

/** Splits a filter into tokens. Incomplete and invalid filters are accepted. */
export function toFilterTokens(filter: string): readonly FilterToken[] {
  return [...filter.matchAll(tokenPattern)].flatMap(
    ({ 0: match, 1: name, 2: digits, 3: mark, 4: quoted, index }): readonly FilterToken[] => {
      const span = { from: index, to: index + match.length };
      if (name !== undefined) {
        return [{ kind: "name", text: name, ...span }];
      }
      if (digits !== undefined) {
        return [{ kind: "number", text: digits, ...span }];
      }
      if (mark !== undefined) {
        return [{ kind: "mark", text: mark, ...span }];
      }
      if (quoted !== undefined) {
        const isClosed = isClosedText(quoted);
        const text = quoted.slice(1, isClosed ? -1 : undefined);
        return [{ kind: "text", text, isClosed, ...span }];
      }
      return match.trim() === "" ? [] : [{ kind: "other", text: match, ...span }];
    },
  );
}

/** Whether a text ends with a closing quote, one that is not escaped by a backslash. */
function isClosedText(quoted: string): boolean {
  const backslashes = /\\*$/.exec(quoted.slice(0, -1))?.[0].length ?? 0;
  return quoted.length > 1 && quoted.at(-1) === quoted[0] && backslashes % 2 === 0;
}
