import { Button } from "@mantine/core";
import { useClipboard, useDebouncedValue } from "@mantine/hooks";
import { useEffect, useEffectEvent, useRef, useState } from "react";
import type { KeyboardEvent, RefObject } from "react";
import type { PayloadSource } from "./payload-source.ts";

/** The time between the last keystroke and the search. */
const typingDelayMs = 150;

/** The toolbar of a JSON value: search, expand, collapse and copy. */
export const JsonTools = ({
  source,
  currentIndex,
  searchRef,
  onChange,
  onFound,
  onQuery,
}: {
  readonly source: PayloadSource;
  /** The index of the current line, which the copy buttons copy. */
  readonly currentIndex: number;
  readonly searchRef: RefObject<HTMLInputElement | null>;
  /** Called after lines were expanded or collapsed. */
  readonly onChange: () => void;
  /** Called with the index of the line of the current match. */
  readonly onFound: (index: number) => void;
  readonly onQuery: (query: string) => void;
}) => {
  const { copy, copied } = useClipboard();
  const [matches, setMatches] = useState<{
    query: string;
    count: number;
    currentMatchIndex: number;
  }>();
  const goToMatch = async (matchIndex: number): Promise<void> => {
    const index = await source.reveal(matchIndex);
    onChange();
    onFound(index);
  };
  const onSearch = async (searchText: string): Promise<void> => {
    onQuery(searchText);
    const count = await source.search(searchText);
    setMatches(searchText === "" ? undefined : { query: searchText, count, currentMatchIndex: 0 });
    if (count > 0) {
      await goToMatch(0);
    }
  };
  const moveToMatch = (offset: number): void => {
    if (matches !== undefined && matches.count > 0) {
      const matchIndex = (matches.currentMatchIndex + offset + matches.count) % matches.count;
      setMatches({ ...matches, currentMatchIndex: matchIndex });
      void goToMatch(matchIndex);
    }
  };
  const search = useEffectEvent((query: string) => void onSearch(query));
  const [typedQuery, setTypedQuery] = useState("");
  const [query] = useDebouncedValue(typedQuery, typingDelayMs);
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current) {
      search(query);
    }
    isFirst.current = false;
  }, [query]);
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>): void => {
    event.stopPropagation();
    if (event.key === "Enter" && typedQuery === matches?.query) {
      moveToMatch(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape") {
      setTypedQuery("");
    }
  };
  const expandOrCollapse = async (action: "expandAll" | "collapseAll"): Promise<void> => {
    await source[action]();
    onChange();
  };
  return (
    <div className="json-tools">
      <input
        ref={searchRef}
        type="search"
        className="control"
        placeholder="Search keys and values"
        aria-label="Search this value"
        value={typedQuery}
        onChange={({ target }) => setTypedQuery(target.value)}
        onKeyDown={onKeyDown}
      />
      {matches !== undefined && (
        <output>
          {matches.count === 0
            ? "No matches"
            : `${matches.currentMatchIndex + 1} of ${matches.count.toLocaleString("en")}`}
        </output>
      )}
      <span className="json-buttons">
        <Tool name="Expand all" onClick={() => void expandOrCollapse("expandAll")} />
        <Tool name="Collapse all" onClick={() => void expandOrCollapse("collapseAll")} />
        <Tool
          name="Copy path"
          onClick={() => void Promise.resolve(source.readPath(currentIndex)).then(copy)}
        />
        <Tool
          name={copied ? "Copied" : "Copy value"}
          onClick={() => void Promise.resolve(source.readText(currentIndex)).then(copy)}
        />
      </span>
    </div>
  );
};

const Tool = ({ name, onClick }: { readonly name: string; readonly onClick: () => void }) => (
  <Button size="compact-xs" variant="subtle" onClick={onClick}>
    {name}
  </Button>
);
