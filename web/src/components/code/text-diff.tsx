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
  /** What is compared with what, for screen readers. */
  readonly label: string;
  /** @defaultValue "text" */
  readonly language?: CodeLanguage;
}

const DiffView = lazy(async () =>
  loadChunk(async () => ({ default: (await import("./diff-view.tsx")).DiffView })),
);

/** Characters of each side shown where a comparison would take too long. */
const plainLength = 50_000;

/** Two texts and what differs, one under the other or side by side; unchanged lines are folded. */
export const TextDiff = (props: TextDiffProps) => {
  const { before, after, label } = props;
  const [preferred, setPreferred] = useLocalStorage<"unified" | "split">({
    key: "millrace.diff",
    defaultValue: "unified",
    getInitialValueInEffect: false,
  });
  const [isWhole, setIsWhole] = useState(false);
  // Two columns of a phone's width are unreadable.
  const isNarrow = useMediaQuery("(max-width: 760px)", false, { getInitialValueInEffect: false });
  if (before === after) {
    return <p className="code text-diff-note">{label}: no difference.</p>;
  }
  if (!isDiffable(before, after)) {
    return <PlainPair {...props} />;
  }
  const layout = isNarrow ? "unified" : preferred;
  return (
    <div className="code text-diff">
      <div className="text-diff-bar">
        <span>{label}</span>
        <span>
          <Button size="compact-xs" variant="subtle" onClick={() => setIsWhole(!isWhole)}>
            {isWhole ? "Fold unchanged" : "Show unchanged"}
          </Button>
          {!isNarrow && (
            <Button
              size="compact-xs"
              variant="subtle"
              onClick={() => setPreferred(layout === "split" ? "unified" : "split")}
            >
              {layout === "split" ? "Unified" : "Side by side"}
            </Button>
          )}
        </span>
      </div>
      <Suspense fallback={<pre className="code-wait">…</pre>}>
        <DiffView {...props} layout={layout} isFolded={!isWhole} />
      </Suspense>
    </div>
  );
};

const PlainPair = ({ before, after, label }: TextDiffProps) => (
  <div className="code text-diff">
    <p className="text-diff-note" role="note">
      {label}: too long to compare here, {before.length.toLocaleString("en")} and{" "}
      {after.length.toLocaleString("en")} characters. The beginnings, side by side:
    </p>
    <div className="text-diff-plain">
      {[before, after].map((text, side) => (
        // A region that scrolls must be in reach of the keyboard.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        <pre key={side === 0 ? "before" : "after"} tabIndex={0} aria-label={`${label}, beginning`}>
          {toVisibleText(text.slice(0, plainLength))}
        </pre>
      ))}
    </div>
  </div>
);

/** Characters and lines of both texts together that are compared without a pause. */
const diffLimits: { readonly characters: number; readonly lines: number } = {
  characters: 400_000,
  lines: 20_000,
};

/** Whether two texts are short enough to be compared line by line on the page's own thread. */
export function isDiffable(before: string, after: string, limits = diffLimits): boolean {
  return (
    before.length + after.length <= limits.characters &&
    countLines(before) + countLines(after) <= limits.lines
  );
}

function countLines(text: string): number {
  let lines = 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) {
    lines += 1;
  }
  return lines;
}
