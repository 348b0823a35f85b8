import { useEffect, useRef } from "react";
import { ChunkLoadError, loadChunk } from "../page/load-chunk.ts";
import type { CodeToken } from "./code-tokens.ts";
import "./code.css";

/**
 * Read-only code, colored if its language is known. The document contains the plain text: the browser paints
 * the colors (CSS Custom Highlight API). If each token were an element, a search would not find a text across tokens.
 */
export const ColoredCode = ({
  code,
  language,
}: {
  readonly code: string;
  /** A name as in Markdown, such as `ts`. */
  readonly language: string;
}) => {
  const ref = useRef<HTMLElement>(null);
  useEffect(() => {
    let remove: (() => void) | undefined;
    let isCurrent = true;
    const color = async (): Promise<void> => {
      const { findTokens } = await loadChunk(async () => import("./code-tokens.ts"));
      const text = ref.current?.firstChild;
      if (isCurrent && text instanceof Text) {
        remove = paint(text, findTokens(code, language));
      }
    };
    color().catch((cause: unknown) => {
      // If the parsers do not load, the code stays complete, but without colors.
      if (!(cause instanceof ChunkLoadError)) {
        throw cause;
      }
    });
    return () => {
      isCurrent = false;
      remove?.();
    };
  }, [code, language]);
  return <code ref={ref}>{code}</code>;
};

/** Colors the tokens of a text. Returns a function that removes the colors. */
function paint(text: Text, tokens: readonly CodeToken[]): () => void {
  const { highlights } = globalThis.CSS as Partial<typeof CSS>;
  if (highlights === undefined) {
    return () => undefined; // The browser has no highlights.
  }
  const painted = tokens.map(({ kind, start, end }) => {
    const range = new StaticRange({
      startContainer: text,
      startOffset: start,
      endContainer: text,
      endOffset: end,
    });
    const highlight = highlights.get(kind) ?? new Highlight();
    highlights.set(kind, highlight.add(range));
    return { highlight, range };
  });
  return () => painted.forEach(({ highlight, range }) => highlight.delete(range));
}
