import { Button, Menu, SegmentedControl } from "@mantine/core";
import { useMemo } from "react";
import type { KeyboardEvent, RefObject } from "react";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { RunTypeBadge } from "../runs/run-badges.tsx";
import { joinList, splitList } from "./trace-search.ts";
import type { TraceSearch } from "./trace-search.ts";
import type { TraceChange } from "./use-trace-address.ts";
import type { TraceView } from "./use-trace-view.ts";

interface TraceToolsProps {
  readonly view: TraceView;
  readonly search: TraceSearch;
  readonly selectedRun: number;
  readonly searchRef: RefObject<HTMLInputElement | null>;
  readonly change: (change: TraceChange) => void;
  readonly onStep: (kind: "match" | "error" | "slow", by: 1 | -1) => void;
  readonly onResetZoom: () => void;
}

/** The toolbar of a trace: search, filters, and buttons that select the next error or slow run. */
export const TraceTools = (props: TraceToolsProps) => {
  const { view, search, change, onStep, onResetZoom } = props;
  const errorCount = view.facts?.errors.length ?? 0;
  // With a single run, there is nothing to filter or to step through. If the URL contains a filter, the tools are
  // needed to remove it.
  const isFiltered = [search.errors, search.path, search.close, search.hide].some(
    (filter) => filter !== undefined,
  );
  if (view.model.count === 1 && !isFiltered) {
    return (
      <div className="trace-tools">
        <SearchField {...props} />
        {view.window !== view.fullRange && (
          <Button size="compact-xs" variant="default" onClick={onResetZoom}>
            Reset zoom
          </Button>
        )}
      </div>
    );
  }
  return (
    <div className="trace-tools">
      <SearchField {...props} />
      <TypeMenu view={view} search={search} change={change} />
      <Toggle
        name="Errors only"
        isPressed={search.errors === true}
        onClick={() => change({ errors: search.errors === true ? undefined : true })}
      />
      <Toggle
        name="Critical path"
        isPressed={search.path === true}
        onClick={() => change({ path: search.path === true ? undefined : true })}
      />
      <span className="tool-group">
        {errorCount > 0 && (
          <Button size="compact-xs" variant="default" onClick={() => onStep("error", 1)}>
            Next error
          </Button>
        )}
        <Button size="compact-xs" variant="default" onClick={() => onStep("slow", 1)}>
          Next slowest run
        </Button>
        {view.window !== view.fullRange && (
          <Button size="compact-xs" variant="default" onClick={onResetZoom}>
            Reset zoom
          </Button>
        )}
      </span>
    </div>
  );
};

const SearchField = ({ view, search, selectedRun, searchRef, change, onStep }: TraceToolsProps) => {
  const matchIndex = view.matches.indexOf(selectedRun);
  const countText = view.matches.length.toLocaleString("en");
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>): void => {
    if (event.key === "Enter") {
      onStep("match", event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape") {
      // Prevent the browser from clearing the field, so that the keys n and b can select the next and previous match.
      event.preventDefault();
      event.currentTarget.closest(".trace-body")?.querySelector<HTMLElement>(".tree")?.focus();
    }
  };
  return (
    <span className="tool-group">
      <input
        ref={searchRef}
        type="search"
        className="control trace-search"
        placeholder="Search this trace"
        aria-label="Search this trace"
        value={search.find ?? ""}
        onChange={({ target: { value } }) => change({ find: value === "" ? undefined : value })}
        onKeyDown={onKeyDown}
      />
      {search.find !== undefined && (
        <output>
          {matchIndex < 0 ? countText : `${(matchIndex + 1).toLocaleString("en")} of ${countText}`}
          {view.isSearching ? " …" : ""}
        </output>
      )}
    </span>
  );
};

const Toggle = ({
  name,
  isPressed,
  onClick,
}: {
  readonly name: string;
  readonly isPressed: boolean;
  readonly onClick: () => void;
}) => (
  <Button
    size="compact-xs"
    variant={isPressed ? "light" : "default"}
    aria-pressed={isPressed}
    onClick={onClick}
  >
    {name}
  </Button>
);

const typeStates = [
  { value: "show", label: "Show" },
  { value: "close", label: "Collapse" },
  { value: "hide", label: "Hide" },
];

/** A menu that sets for each run type whether its runs are shown, collapsed or hidden. */
const TypeMenu = ({
  view,
  search,
  change,
}: Pick<TraceToolsProps, "view" | "search" | "change">) => {
  const counts = useMemo(() => countTypes(view.model.types), [view.model]);
  const [collapsed, hidden] = [splitList(search.close), splitList(search.hide)];
  const setTypeState = (type: string, state: string): void => {
    const removeType = (types: ReadonlySet<string>) => [...types].filter((other) => other !== type);
    change({
      close: joinList(new Set([...removeType(collapsed), ...(state === "close" ? [type] : [])])),
      hide: joinList(new Set([...removeType(hidden), ...(state === "hide" ? [type] : [])])),
    });
  };
  const readTypeState = (type: string): string => {
    if (hidden.has(type)) {
      return "hide";
    }
    return collapsed.has(type) ? "close" : "show";
  };
  const changedCount = collapsed.size + hidden.size;
  return (
    <Menu position="bottom-start" withinPortal closeOnItemClick={false}>
      <Menu.Target>
        <Button size="compact-xs" variant={changedCount > 0 ? "light" : "default"}>
          {changedCount > 0 ? `Types (${changedCount})` : "Types"}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {counts.map(([type, count]) => (
          <div key={type} className="type-line">
            <RunTypeBadge type={type} />
            <span>{count.toLocaleString("en")}</span>
            <SegmentedControl
              size="xs"
              aria-label={`Runs of type ${toVisibleText(type)}`}
              data={typeStates}
              value={readTypeState(type)}
              onChange={(state) => setTypeState(type, state)}
            />
          </div>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
};

const maxTypes = 20;

/** The run types of a trace with their counts, the most frequent first, 20 at most. */
function countTypes(types: readonly string[]): readonly (readonly [string, number])[] {
  const counts = new Map<string, number>();
  for (const type of types) {
    counts.set(type, (counts.get(type) ?? 0) + 1);
  }
  return [...counts].toSorted(([, a], [, b]) => b - a).slice(0, maxTypes);
}
