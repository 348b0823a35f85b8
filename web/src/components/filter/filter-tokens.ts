/** A piece of a filter that is being written: it may end in the middle of a text. */
export interface FilterToken {
  readonly kind: "name" | "text" | "number" | "mark" | "other";
  readonly from: number;
  readonly to: number;
  /** As written; of a text what stands between its quotes. */
  readonly text: string;
  /** Of a text: whether its closing quote is there. */
  readonly isClosed?: boolean;
}

const pattern =
  /\s+|([A-Za-z_][\w-]*(?:\.[\w-]*)*)|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|([()[\],])|("(?:[^"\\]|\\[^])*"?|'(?:[^'\\]|\\[^])*'?)|([^])/g;

/** Cuts a filter into its pieces, whatever state it is in. */
export function toFilterTokens(filter: string): readonly FilterToken[] {
  return [...filter.matchAll(pattern)].flatMap(
    ({ 0: all, 1: name, 2: digits, 3: mark, 4: quoted, index }): readonly FilterToken[] => {
      const span = { from: index, to: index + all.length };
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
      return all.trim() === "" ? [] : [{ kind: "other", text: all, ...span }];
    },
  );
}

/** The closing quote is not one behind a backslash. */
function isClosedText(quoted: string): boolean {
  const backslashes = /\\*$/.exec(quoted.slice(0, -1))?.[0].length ?? 0;
  return quoted.length > 1 && quoted.at(-1) === quoted[0] && backslashes % 2 === 0;
}
