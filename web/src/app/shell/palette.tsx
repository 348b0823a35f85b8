import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useId, useMemo, useState } from "react";
import { flushSync } from "react-dom";
import { useTenantId } from "../../api/tenant.ts";
import { Dialog } from "../../components/dialog/dialog.tsx";
import { findCommands } from "../../components/keyboard/commands.ts";
import type { Command } from "../../components/keyboard/commands.ts";
import { findNextRow } from "../../components/keyboard/next-row.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { createSearchQuery } from "./palette-queries.ts";
import type { SearchResult } from "./palette-queries.ts";
import "./palette.css";

const searchDelayMs = 120;
const scrollIntoView = (row: HTMLElement | null): void => row?.scrollIntoView({ block: "nearest" });

/**
 * The command palette: opens a page, project, dataset, queue or prompt by name, or runs a command of the current page.
 */
export const Palette = ({
  commands,
  onClose,
}: {
  readonly commands: readonly Command[];
  readonly onClose: () => void;
}) => {
  const [text, setText] = useState("");
  const [selectedIndex, setSelectedIndex] = useState(0);
  const searchResults = useSearchResults(text);
  const results = useMemo(
    () => [...findCommands(sortByGroup(commands), text), ...searchResults],
    [commands, text, searchResults],
  );
  const currentIndex = Math.min(selectedIndex, results.length - 1);
  const listId = useId();
  const runCommand = (command: Command | undefined): void => {
    if (command?.run !== undefined) {
      // Close the dialog first. While it is open, everything behind it is inert. Closing it restores the previous
      // focus, which would undo a focus that the command has set.
      flushSync(onClose);
      void command.run();
    }
  };
  return (
    <Dialog title="Command palette" width={560} onClose={onClose}>
      <input
        className="palette-text"
        role="combobox"
        aria-expanded
        aria-controls={listId}
        aria-activedescendant={currentIndex < 0 ? undefined : `${listId}-${currentIndex}`}
        aria-label="Find a page, project, dataset, queue or prompt"
        placeholder="Page, project, dataset, queue or prompt …"
        autoComplete="off"
        spellCheck={false}
        value={text}
        onChange={({ target: { value } }) => {
          setText(value);
          setSelectedIndex(0);
        }}
        onKeyDown={(event) => {
          const isArrowKey = event.key === "ArrowDown" || event.key === "ArrowUp";
          const nextIndex = isArrowKey
            ? findNextRow(event.key, { current: currentIndex, count: results.length, pageSize: 8 })
            : undefined;
          if (event.key === "Enter" || nextIndex !== undefined) {
            event.preventDefault();
          }
          if (event.key === "Enter") {
            runCommand(results[currentIndex]);
          } else if (nextIndex !== undefined) {
            setSelectedIndex(nextIndex);
          }
        }}
      />
      {/* oxlint-disable-next-line jsx-a11y/prefer-tag-over-role -- a datalist can't show groups and keys */}
      <div className="palette-list" id={listId} role="listbox" aria-label="Search results">
        {results.map((command, index) => (
          <div
            key={command.id}
            ref={index === currentIndex ? scrollIntoView : undefined}
            id={`${listId}-${index}`}
            className="palette-row"
            // oxlint-disable-next-line jsx-a11y/prefer-tag-over-role -- an option element can't show groups and keys
            role="option"
            aria-selected={index === currentIndex}
            tabIndex={-1}
            onClick={() => runCommand(command)}
            onKeyDown={() => undefined}
          >
            <span className="palette-name">{toVisibleText(command.label)}</span>
            <span className="palette-group">{command.group}</span>
            {command.keys !== undefined && <kbd>{command.keys}</kbd>}
          </div>
        ))}
        {results.length === 0 && <p className="palette-none">No matches</p>}
      </div>
    </Dialog>
  );
};

/** Pages come first, because most people open the palette to go to a page. */
const groupOrder = ["Pages", "This page"];

const rankGroup = ({ group }: Command): number =>
  groupOrder.includes(group) ? groupOrder.indexOf(group) : groupOrder.length;

const sortByGroup = (commands: readonly Command[]): readonly Command[] =>
  commands.toSorted((left, right) => rankGroup(left) - rankGroup(right));

const kindLabels: { readonly [Kind in SearchResult["kind"]]: string } = {
  project: "Project",
  dataset: "Dataset",
  queue: "Queue",
  prompt: "Prompt",
};

/** Commands that open the projects, datasets, queues and prompts whose name contains the text. */
function useSearchResults(text: string): readonly Command[] {
  const [query] = useDebouncedValue(text.trim(), searchDelayMs);
  const { data } = useQuery({
    ...createSearchQuery(query),
    enabled: query !== "",
    placeholderData: keepPreviousData,
  });
  const navigate = useNavigate();
  const tenantId = useTenantId();
  return useMemo(() => {
    if (query === "" || data === undefined || tenantId === undefined) {
      return [];
    }
    const openResult = ({ kind, id, name }: SearchResult): unknown => {
      switch (kind) {
        case "project":
          return navigate({
            to: "/o/$tenantId/projects/p/$projectId",
            params: { tenantId, projectId: id },
            search: {},
          });
        case "dataset":
          return navigate({
            to: "/o/$tenantId/datasets/$datasetId",
            params: { tenantId, datasetId: id },
          });
        case "queue":
          return navigate({
            to: "/o/$tenantId/annotation-queues/$queueId",
            params: { tenantId, queueId: id },
          });
        case "prompt":
          return navigate({ to: "/prompts/$repo", params: { repo: name } });
      }
    };
    return data.map((result) => ({
      id: `${result.kind} ${result.id}`,
      label: result.name,
      group: kindLabels[result.kind],
      run: () => openResult(result),
    }));
  }, [query, data, navigate, tenantId]);
}
