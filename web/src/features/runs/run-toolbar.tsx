import { useState } from "react";
import type { ReactNode } from "react";
import type { ColumnLayout } from "../../components/table/column-layout.ts";
import { ColumnMenu } from "../../components/table/column-menu.tsx";
import type { Column } from "../../components/table/data-table.tsx";
import type { RunListQuery } from "./queries.ts";
import { findSearchText, setSearchText } from "./quick-filters.ts";
import type { RunItem } from "./run-item.ts";

/** The toolbar above the table: traces or all runs, full-text search, time range, quick filters and columns. */
export const RunToolbar = ({
  query,
  columns,
  layout,
  onLayout,
  onChange,
  children,
}: {
  readonly query: RunListQuery;
  readonly columns: readonly Column<RunItem>[];
  readonly layout: ColumnLayout;
  readonly onLayout: (layout: ColumnLayout) => void;
  readonly onChange: (changes: {
    readonly all?: true | undefined;
    readonly filter?: string | undefined;
  }) => void;
  readonly children: ReactNode;
}) => (
  <>
    <fieldset className="segments" aria-label="Traces or all runs">
      {[true, false].map((isRootOnly) => (
        <button
          key={String(isRootOnly)}
          type="button"
          aria-pressed={query.isRoot === isRootOnly}
          onClick={() => onChange({ all: isRootOnly ? undefined : true })}
        >
          {isRootOnly ? "Traces" : "All runs"}
        </button>
      ))}
    </fieldset>
    <SearchBox
      key={findSearchText(query.filter)}
      text={findSearchText(query.filter)}
      onText={(text) => {
        const filter = setSearchText(query.filter, text);
        onChange({ filter: filter === "" ? undefined : filter });
      }}
    />
    {children}
    <span className="run-columns">
      <ColumnMenu columns={columns} layout={layout} onLayout={onLayout} />
    </span>
  </>
);

const SearchBox = ({
  text,
  onText,
}: {
  readonly text: string;
  readonly onText: (text: string) => void;
}) => {
  const [draft, setDraft] = useState(text);
  return (
    <form
      className="search-box"
      onSubmit={(event) => {
        event.preventDefault();
        onText(draft);
      }}
    >
      <input
        type="search"
        className="control"
        aria-label="Search names, inputs, outputs, errors, tags and metadata"
        placeholder="Search all text"
        data-search-input
        value={draft}
        onChange={({ target }) => setDraft(target.value)}
        onBlur={() => {
          if (draft !== text) {
            onText(draft);
          }
        }}
      />
    </form>
  );
};
