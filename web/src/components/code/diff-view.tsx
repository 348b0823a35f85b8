import { MergeView, unifiedMergeView } from "@codemirror/merge";
import type { MergeConfig } from "@codemirror/merge";
import { EditorView } from "@codemirror/view";
import { useEffect, useRef } from "react";
import { createReadOnlyExtensions, getShadowRoot, createViewExtensions } from "./code-view.ts";
import type { TextDiffProps } from "./text-diff.tsx";

interface DiffViewProps extends TextDiffProps {
  readonly layout: "unified" | "split";
  readonly isCollapsed: boolean;
}

// Limits of the search for differing words within changed lines. Beyond them, whole lines are marked.
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
  // The colors of the syntax would have too little contrast on the colors of changed lines.
  ".cm-changedLine *, .cm-insertedLine *, .cm-deletedLine *, .cm-deletedChunk *": {
    color: "var(--ink) !important",
  },
  // The marks in the gutter show changed lines to users who can't distinguish the colors.
  ".cm-changedLineGutter, &.cm-merge-b .cm-changedLineGutter": { backgroundColor: "var(--good)" },
  ".cm-deletedLineGutter, &.cm-merge-a .cm-changedLineGutter": { backgroundColor: "var(--bad)" },
  // The fonts of the UI lack the character that the library puts around the number of unchanged lines.
  ".cm-collapsedLines:before, .cm-collapsedLines:after": { content: '"⋯" !important' },
  ".cm-insertedLine": { textDecoration: "none" },
  ".cm-deletedLine, .cm-deletedLine del": { textDecoration: "none" },
});

/** CodeMirror's merge view in a shadow root. This file is a separate chunk, which `text-diff.tsx` loads on demand. */
export const DiffView = ({
  before,
  after,
  label,
  language = "text",
  layout,
  isCollapsed,
}: DiffViewProps) => {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (host.current === null) {
      return undefined;
    }
    const root = getShadowRoot(host.current);
    const config: MergeConfig = {
      gutter: true,
      diffConfig,
      ...(isCollapsed ? { collapseUnchanged: { margin: 3, minSize: 6 } } : {}),
    };
    const createExtensions = (side: string) => [
      createViewExtensions(language, side === "" ? label : `${label}, ${side}`),
      createReadOnlyExtensions(),
      diffTheme,
    ];
    const view =
      layout === "split"
        ? new MergeView({
            ...config,
            root,
            parent: root,
            a: { doc: before, extensions: createExtensions("before") },
            b: { doc: after, extensions: createExtensions("after") },
          })
        : new EditorView({
            root,
            parent: root,
            doc: after,
            extensions: [
              createExtensions(""),
              unifiedMergeView({ ...config, original: before, mergeControls: false }),
            ],
          });
    return () => view.destroy();
  }, [before, after, label, language, layout, isCollapsed]);
  return <div ref={host} className="diff-host" />;
};
