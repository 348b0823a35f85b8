import type { ReactNode } from "react";
import type { ColumnLayout } from "../../components/table/column-layout.ts";
import { ColumnMenu } from "../../components/table/column-menu.tsx";
import type { Column } from "../../components/table/data-table.tsx";
import type { RunListQuery } from "./queries.ts";
import type { RunItem } from "./run-item.ts";

/** The toolbar above the table. It selects traces or all runs, the time range, quick filters and columns. */
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
  readonly onChange: (changes: { readonly all?: true | undefined }) => void;
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
    {children}
    <span className="run-columns">
      <ColumnMenu columns={columns} layout={layout} onLayout={onLayout} />
    </span>
  </>
);
