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
  /** The name of the text for screen readers. */
  readonly label: string;
  /** Pixels. @defaultValue as high as the text */
  readonly minHeight?: number;
  /** Pixels; a longer text scrolls. @defaultValue 420 */
  readonly maxHeight?: number;
  /** Underlined, with the reason as a hint; say the reasons beside the text too. */
  readonly faults?: readonly CodeFault[];
}

const CodeEditor = lazy(async () =>
  loadChunk(async () => ({ default: (await import("./code-editor.tsx")).CodeEditor })),
);

/** Characters shown until the editor is there. */
const previewLength = 2_000;

/** A text to read or to edit, highlighted, with search and folding. */
export const Code = (props: CodeProps) => (
  <div className="code" style={toSizes(props)}>
    <Suspense fallback={<pre className="code-wait">{preview(props.value)}</pre>}>
      <CodeEditor {...props} />
    </Suspense>
  </div>
);

const preview = (text: string): string => toVisibleText(text.slice(0, previewLength));

/** Read by the editor's theme, through the border of its shadow root. */
const toSizes = ({ minHeight, maxHeight }: CodeProps): CSSProperties =>
  ({
    ...(minHeight === undefined ? {} : { "--code-min": `${minHeight}px` }),
    ...(maxHeight === undefined ? {} : { "--code-max": `${maxHeight}px` }),
  }) as CSSProperties;
