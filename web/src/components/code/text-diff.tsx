import { Button } from "@mantine/core";
import { useLocalStorage, useMediaQuery } from "@mantine/hooks";
import { lazy, Suspense, useState } from "react";
import { loadChunk } from "../page/load-chunk.ts";
import { toVisibleText } from "../text/visible-text.ts";
import type { CodeLanguage } from "./code-view.ts";
import "./code.css";

export interface TextDiffProps {
  readonly before: string;
  readonly after: string;
  /** The name of the compared texts, shown above the diff and read by screen readers. */
  readonly label: string;
  /** @defaultValue "text" */
  readonly language?: CodeLanguage;
}

const DiffView = lazy(async () =>
  loadChunk(async () => ({ default: (await import("./diff-view.tsx")).DiffView })),
);

/** The number of characters shown of each text if the texts are too long to compare. */
const maxPlainLength = 50_000;

/** The diff of two texts, unified or side by side. Unchanged lines are collapsed. */
export const TextDiff = (props: TextDiffProps) => {
  const { before, after, label } = props;
  const [preferredLayout, setPreferredLayout] = useLocalStorage<"unified" | "split">({
    key: "millrace.diff",
    defaultValue: "unified",
    getInitialValueInEffect: false,
  });
  const [isExpanded, setIsExpanded] = useState(false);
  // On a phone, two columns would be too narrow to read.
  const isNarrow = useMediaQuery("(max-width: 760px)", false, { getInitialValueInEffect: false });
  if (before === after) {
    return <p className="code text-diff-note">{label}: no differences</p>;
  }
  if (!isDiffable(before, after)) {
    return <PlainTexts {...props} />;
  }
  const layout = isNarrow ? "unified" : preferredLayout;
  return (
    <div className="code text-diff">
      <div className="text-diff-bar">
        <span>{label}</span>
        <span>
          <Button size="compact-xs" variant="subtle" onClick={() => setIsExpanded(!isExpanded)}>
            {isExpanded ? "Collapse unchanged lines" : "Show unchanged lines"}
          </Button>
          {!isNarrow && (
            <Button
              size="compact-xs"
              variant="subtle"
              onClick={() => setPreferredLayout(layout === "split" ? "unified" : "split")}
            >
              {layout === "split" ? "Unified" : "Side by side"}
            </Button>
          )}
        </span>
      </div>
      <Suspense fallback={<pre className="code-wait">…</pre>}>
        <DiffView {...props} layout={layout} isCollapsed={!isExpanded} />
      </Suspense>
    </div>
  );
};

const PlainTexts = ({ before, after, label }: TextDiffProps) => (
  <div className="code text-diff">
    <p className="text-diff-note" role="note">
      {label}: too long to compare ({before.length.toLocaleString("en")} and{" "}
      {after.length.toLocaleString("en")} characters). Only the beginnings are shown.
    </p>
    <div className="text-diff-plain">
      {[before, after].map((text, side) => (
        // `tabIndex` makes the text scrollable with the keyboard.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        <pre key={side === 0 ? "before" : "after"} tabIndex={0} aria-label={`${label}, beginning`}>
          {toVisibleText(text.slice(0, maxPlainLength))}
        </pre>
      ))}
    </div>
  </div>
);

/** The maximum number of characters and lines, of both texts together, that are compared without a noticeable pause. */
const diffLimits: { readonly characters: number; readonly lines: number } = {
  characters: 400_000,
  lines: 20_000,
};

/** Whether two texts are short enough to be compared line by line on the UI's thread. */
export function isDiffable(before: string, after: string, limits = diffLimits): boolean {
  return (
    before.length + after.length <= limits.characters &&
    countLines(before) + countLines(after) <= limits.lines
  );
}

function countLines(text: string): number {
  let lines = 1;
  for (
    let position = text.indexOf("\n");
    position >= 0;
    position = text.indexOf("\n", position + 1)
  ) {
    lines += 1;
  }
  return lines;
}
