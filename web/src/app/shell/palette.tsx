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

/** Goes to a screen, project, dataset, queue or prompt by its name, or does what the page offers. */
export const Palette = ({
  commands,
  onClose,
}: {
  readonly commands: readonly Command[];
  readonly onClose: () => void;
}) => {
  const [text, setText] = useState("");
  const [selected, setSelected] = useState(0);
  const named = useNamed(text);
  const shown = useMemo(() => [...findCommands(commands, text), ...named], [commands, text, named]);
  const current = Math.min(selected, shown.length - 1);
  const id = useId();
  const run = (command: Command | undefined): void => {
    if (command?.run !== undefined) {
      // While the dialog is open all behind it is inert, and closing it gives the focus back: only then may the command move it.
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
            ? toNextRow(event.key, { current, count: shown.length, page: 8 })
            : undefined;
          if (event.key === "Enter" || next !== undefined) {
            event.preventDefault();
          }
          if (event.key === "Enter") {
            run(shown[current]);
          } else if (next !== undefined) {
            setSelected(next);
          }
        }}
      />
      {/* oxlint-disable-next-line jsx-a11y/prefer-tag-over-role -- a datalist can't show groups and keys */}
      <div className="palette-list" id={id} role="listbox" aria-label="Found">
        {shown.map((command, index) => (
          <div
            key={command.id}
            ref={index === current ? scrollTo : undefined}
            id={`${id}-${index}`}
            className="palette-row"
            // oxlint-disable-next-line jsx-a11y/prefer-tag-over-role -- as the list around it
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
        {shown.length === 0 && <p className="palette-none">Nothing has that in its name.</p>}
      </div>
    </Dialog>
  );
};

const groups: { readonly [Kind in SearchResult["kind"]]: string } = {
  project: "Project",
  dataset: "Dataset",
  queue: "Queue",
  prompt: "Prompt",
};

/** What the server has by that name. */
function useNamed(text: string): readonly Command[] {
  const [asked] = useDebouncedValue(text.trim(), searchDelayMs);
  const { data } = useQuery({
    ...searchQuery(asked),
    enabled: asked !== "",
    placeholderData: keepPreviousData,
  });
  const navigate = useNavigate();
  const tenantId = useTenantId();
  return useMemo(() => {
    if (asked === "" || data === undefined || tenantId === undefined) {
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
    return data.map((found) => ({
      id: `${found.kind} ${found.id}`,
      label: found.name,
      group: groups[found.kind],
      run: () => open(found),
    }));
  }, [asked, data, navigate, tenantId]);
}
