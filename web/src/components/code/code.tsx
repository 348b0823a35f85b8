import { lazy, Suspense } from "react";
import type { CSSProperties } from "react";
import { loadChunk } from "../page/load-chunk.ts";
import { toVisibleText } from "../text/visible-text.ts";
import type { CodeFault } from "./code-faults.ts";
import type { CodeLanguage } from "./code-view.ts";
import "./code.css";

export interface CodeProps {
  readonly value: string;
  /** @defaultValue "text" */
  readonly language?: CodeLanguage;
  /** @defaultValue false */
  readonly readOnly?: boolean;
  /** Called with the whole text after each change that the user makes. */
  readonly onChange?: (value: string) => void;
  /** The text's name for screen readers. */
  readonly label: string;
  /** In pixels. @defaultValue the height of the text */
  readonly minHeight?: number;
  /** In pixels; a longer text scrolls. @defaultValue 420 */
  readonly maxHeight?: number;
  /**
   * The faults to underline, each with its message as a tooltip. Show the messages next to the text as well, because a
   * tooltip is easily missed.
   */
  readonly faults?: readonly CodeFault[];
  /** A number of requests to focus the editor: each increase focuses it, as soon as it is loaded. @defaultValue 0 */
  readonly focusRequests?: number;
}

const CodeEditor = lazy(async () =>
  loadChunk(async () => ({ default: (await import("./code-editor.tsx")).CodeEditor })),
);

/** The number of characters shown until the editor is loaded. */
const previewLength = 2_000;

/** A text, read-only or editable, with highlighting, search and folding. */
export const Code = (props: CodeProps) => (
  <div className="code" style={toHeightProperties(props)}>
    <Suspense fallback={<pre className="code-wait">{toPreview(props.value)}</pre>}>
      <CodeEditor {...props} />
    </Suspense>
  </div>
);

const toPreview = (text: string): string => toVisibleText(text.slice(0, previewLength));

/** Converts the heights to CSS custom properties, which the editor's theme uses. */
const toHeightProperties = ({ minHeight, maxHeight }: CodeProps): CSSProperties =>
  ({
    ...(minHeight === undefined ? {} : { "--code-min": `${minHeight}px` }),
    ...(maxHeight === undefined ? {} : { "--code-max": `${maxHeight}px` }),
  }) as CSSProperties;
