import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useId, useMemo, useState } from "react";
import { flushSync } from "react-dom";
import { useTenantId } from "../../api/tenant.ts";
import { Dialog } from "../../components/dialog/dialog.tsx";
import { findCommands } from "../../components/keyboard/commands.ts";
import type { Command } from "../../components/keyboard/commands.ts";
import { toNextRow } from "../../components/keyboard/next-row.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { searchQuery } from "./palette-queries.ts";
import type { SearchResult } from "./palette-queries.ts";
import "./palette.css";

const searchDelayMs = 120;
const scrollTo = (row: HTMLElement | null): void => row?.scrollIntoView({ block: "nearest" });

/** The command palette: goes to a screen, project, dataset, queue or prompt by name, or runs a command of the view. */
export const Palette = ({
  commands,
  onClose,
}: {
  readonly commands: readonly Command[];
  readonly onClose: () => void;
}) => {
  const [text, setText] = useState("");
  const [selected, setSelected] = useState(0);
  const searchResults = useSearchResults(text);
  const results = useMemo(
    () => [...findCommands(commands, text), ...searchResults],
    [commands, text, searchResults],
  );
  const current = Math.min(selected, results.length - 1);
  const id = useId();
  const run = (command: Command | undefined): void => {
    if (command?.run !== undefined) {
      // Close the dialog first. While it is open, everything behind it is inert; and closing it restores the
      // previous focus, which would undo a focus that the command has set.
      flushSync(onClose);
      void command.run();
    }
  };
  return (
    <Dialog title="Go to" width={560} onClose={onClose}>
      <input
        className="palette-text"
        role="combobox"
        aria-expanded
        aria-controls={id}
        aria-activedescendant={current < 0 ? undefined : `${id}-${current}`}
        aria-label="A screen, project, dataset, queue or prompt"
        placeholder="Screen, project, dataset, queue, prompt …"
        autoComplete="off"
        spellCheck={false}
        value={text}
        onChange={({ target: { value } }) => {
          setText(value);
          setSelected(0);
        }}
        onKeyDown={(event) => {
          const isMove = event.key === "ArrowDown" || event.key === "ArrowUp";
          const next = isMove
            ? toNextRow(event.key, { current, count: results.length, page: 8 })
            : undefined;
          if (event.key === "Enter" || next !== undefined) {
            event.preventDefault();
          }
          if (event.key === "Enter") {
            run(results[current]);
          } else if (next !== undefined) {
            setSelected(next);
          }
        }}
      />
      {/* oxlint-disable-next-line jsx-a11y/prefer-tag-over-role -- a datalist can't show groups and keys */}
      <div className="palette-list" id={id} role="listbox" aria-label="Results">
        {results.map((command, index) => (
          <div
            key={command.id}
            ref={index === current ? scrollTo : undefined}
            id={`${id}-${index}`}
            className="palette-row"
            // oxlint-disable-next-line jsx-a11y/prefer-tag-over-role -- as for the list around it
            role="option"
            aria-selected={index === current}
            tabIndex={-1}
            onClick={() => run(command)}
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
    ...searchQuery(query),
    enabled: query !== "",
    placeholderData: keepPreviousData,
  });
  const navigate = useNavigate();
  const tenantId = useTenantId();
  return useMemo(() => {
    if (query === "" || data === undefined || tenantId === undefined) {
      return [];
    }
    const open = ({ kind, id, name }: SearchResult): unknown => {
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
      run: () => open(result),
    }));
  }, [query, data, navigate, tenantId]);
}
