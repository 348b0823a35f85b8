import { MergeView, unifiedMergeView } from "@codemirror/merge";
import type { MergeConfig } from "@codemirror/merge";
import { EditorView } from "@codemirror/view";
import { useEffect, useRef } from "react";
import { readExtensions, shadowOf, viewExtensions } from "./code-view.ts";
import type { TextDiffProps } from "./text-diff.tsx";

interface DiffViewProps extends TextDiffProps {
  readonly layout: "unified" | "split";
  readonly isFolded: boolean;
}

// Words that differ are looked for within this; beyond it lines are marked whole.
const diffConfig = { scanLimit: 1_000, timeout: 300 } as const;

const diffTheme = EditorView.theme({
  "&": { maxHeight: "none" },
  ".cm-changedLine, &.cm-merge-b .cm-changedLine": {
    backgroundColor: "color-mix(in srgb, var(--good) 12%, transparent)",
  },
  "&.cm-merge-a .cm-changedLine, .cm-deletedChunk": {
    backgroundColor: "color-mix(in srgb, var(--bad) 12%, transparent)",
  },
  ".cm-changedText, &.cm-merge-b .cm-changedText": {
    background: "color-mix(in srgb, var(--good) 30%, transparent)",
  },
  "&.cm-merge-a .cm-changedText, .cm-deletedChunk .cm-deletedText, .cm-deletedText": {
    background: "color-mix(in srgb, var(--bad) 30%, transparent)",
  },
  // Without colours too: the marks of a text diff stand in the gutter.
  ".cm-changedLineGutter, &.cm-merge-b .cm-changedLineGutter": { backgroundColor: "var(--good)" },
  ".cm-deletedLineGutter, &.cm-merge-a .cm-changedLineGutter": { backgroundColor: "var(--bad)" },
  ".cm-insertedLine": { textDecoration: "none" },
  ".cm-deletedLine, .cm-deletedLine del": { textDecoration: "none" },
});

/** CodeMirror's merge view in a shadow root; a chunk of its own, which `text-diff.tsx` loads. */
export const DiffView = ({
  before,
  after,
  label,
  language = "text",
  layout,
  isFolded,
}: DiffViewProps) => {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (host.current === null) {
      return undefined;
    }
    const root = shadowOf(host.current);
    const config: MergeConfig = {
      gutter: true,
      diffConfig,
      ...(isFolded ? { collapseUnchanged: { margin: 3, minSize: 6 } } : {}),
    };
    const extensions = (side: string) => [
      viewExtensions(language, side === "" ? label : `${label}, ${side}`),
      readExtensions(),
      diffTheme,
    ];
    const view =
      layout === "split"
        ? new MergeView({
            ...config,
            root,
            parent: root,
            a: { doc: before, extensions: extensions("before") },
            b: { doc: after, extensions: extensions("after") },
          })
        : new EditorView({
            root,
            parent: root,
            doc: after,
            extensions: [
              extensions(""),
              unifiedMergeView({ ...config, original: before, mergeControls: false }),
            ],
          });
    return () => view.destroy();
  }, [before, after, label, language, layout, isFolded]);
  return <div ref={host} className="diff-host" />;
};
