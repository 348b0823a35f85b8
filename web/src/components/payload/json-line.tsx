import { memo } from "react";
import { splitMatches } from "../text/split-matches.ts";
import { toVisibleText } from "../text/visible-text.ts";
import type { JsonRow } from "./json-tree.ts";

const indentPixels = 14;
const maxIndentLevels = 24;
/** The maximum number of characters of a key that are shown. */
const maxKeyChars = 200;

/** One line of a JSON value. Until its content has been read, `row` is `undefined` and the line is a placeholder. */
export const JsonLine = memo(
  ({
    id,
    index,
    row,
    query,
    isCurrent,
    offsetTop,
    measure,
  }: {
    readonly id: string;
    readonly index: number;
    readonly row: JsonRow | undefined;
    readonly query: string;
    readonly isCurrent: boolean;
    readonly offsetTop: number;
    readonly measure: (element: HTMLElement | null) => void;
  }) => (
    <div
      id={id}
      ref={measure}
      data-index={index}
      className="json-line"
      role="treeitem"
      aria-level={(row?.depth ?? 0) + 1}
      aria-selected={isCurrent}
      aria-expanded={row?.isOpen}
      style={{
        transform: `translateY(${offsetTop}px)`,
        paddingLeft: 16 + Math.min(row?.depth ?? 0, maxIndentLevels) * indentPixels,
      }}
    >
      {row === undefined ? "…" : <LineContent row={row} query={query} />}
    </div>
  ),
);

const LineContent = ({ row, query }: { readonly row: JsonRow; readonly query: string }) => {
  const { key, kind, isOpen } = row;
  return (
    <>
      {isOpen !== undefined && (
        <span className="json-fold" data-toggle aria-hidden="true" data-open={isOpen} />
      )}
      {key !== undefined && (
        <span className="json-key" data-toggle={isOpen === undefined ? undefined : true}>
          <HighlightedText
            text={String(key).slice(0, maxKeyChars)}
            query={typeof key === "string" ? query : ""}
          />
          {": "}
        </span>
      )}
      <span className="json-value" data-kind={kind}>
        <ValueText row={row} query={query} />
      </span>
    </>
  );
};

const ValueText = ({ row, query }: { readonly row: JsonRow; readonly query: string }) => {
  const { kind, text, size, isOpen } = row;
  switch (kind) {
    case "array":
      return <span data-toggle>{size === 0 ? "[]" : `[${size.toLocaleString("en")}]`}</span>;
    case "object":
      return <span data-toggle>{size === 0 ? "{}" : `{${toVisibleText(text)}}`}</span>;
    case "string":
      return (
        <>
          {isOpen !== true && (
            <q>
              <HighlightedText text={text} query={query} />
            </q>
          )}
          {isOpen !== undefined && (
            <span className="json-more" data-toggle>
              {isOpen ? "Show less" : `Show all ${size.toLocaleString("en")} characters`}
            </span>
          )}
        </>
      );
    case "text":
    case "number":
    case "boolean":
    case "null":
      return <HighlightedText text={text} query={query} />;
  }
};

/** A text with the matches of the search highlighted. */
const HighlightedText = ({ text, query }: { readonly text: string; readonly query: string }) => {
  const visible = toVisibleText(text);
  return query === ""
    ? visible
    : splitMatches(visible, query).map(({ text: segment, isMatch }, index) =>
        isMatch ? <mark key={index}>{segment}</mark> : segment,
      );
};
