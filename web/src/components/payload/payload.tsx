import { Button, Loader } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";
import { useMemo, useState } from "react";
import type { ReactNode } from "react";
import { ScrollX } from "../page/scroll-x.tsx";
import { LongText } from "../text/long-text.tsx";
import { Markdown } from "../markdown/markdown.tsx";
import { pluralize } from "../text/quantity.ts";
import { toVisibleText } from "../text/visible-text.ts";
import { Chat } from "./chat.tsx";
import { JsonView, toSource } from "./json-view.tsx";
import type { PayloadMode } from "./payload-mode.ts";
import type { PayloadTable } from "./payload-table.ts";
import type { PayloadSource } from "./payload-source.ts";
import { useAsyncValue } from "./use-async-value.ts";
import "./payload.css";

const maxKeyChars = 200;

const modeLabels: { readonly [Mode in PayloadMode]: string } = {
  chat: "Chat",
  markdown: "Markdown",
  table: "Table",
  json: "JSON",
  yaml: "YAML",
  raw: "Raw",
};

interface PayloadProps {
  readonly label: string;
  /** Any JSON value, or a {@link PayloadSource}; `undefined` if nothing was recorded. */
  readonly value: unknown;
  /** The display mode, if the value can be displayed in it. @defaultValue the most suitable mode */
  readonly mode?: PayloadMode | undefined;
  /** Called when the user selects a mode. If it is absent, the component stores the mode in its own state. */
  readonly onMode?: (mode: PayloadMode) => void;
}

/** Displays a value of a run or an example as chat, Markdown, a table, JSON, YAML or raw text. */
export const Payload = (props: PayloadProps) => {
  const { label, value } = props;
  const source = useMemo(() => (value === undefined ? undefined : toSource(value)), [value]);
  return source === undefined ? (
    <p className="absent">
      <span>{label}</span> not recorded
    </p>
  ) : (
    <PayloadFigure {...props} source={source} />
  );
};

const PayloadFigure = ({
  label,
  source,
  mode,
  onMode,
}: PayloadProps & { readonly source: PayloadSource }) => {
  const [localMode, setLocalMode] = useState<PayloadMode>();
  const { copy, copied } = useClipboard();
  const modes = useAsyncValue(useMemo(() => source.listModes(), [source]));
  const availableModes = modes.kind === "ready" ? modes.value : [];
  const preferredMode = onMode === undefined ? (localMode ?? mode) : mode;
  const activeMode =
    preferredMode !== undefined && availableModes.includes(preferredMode)
      ? preferredMode
      : availableModes[0];
  return (
    <figure className="payload" aria-label={label}>
      <figcaption>
        <span>{label}</span>
        <fieldset className="segments small" aria-label={`Show ${label} as`}>
          {availableModes.map((name) => (
            <button
              key={name}
              type="button"
              aria-pressed={name === activeMode}
              onClick={() => (onMode ?? setLocalMode)(name)}
            >
              {modeLabels[name]}
            </button>
          ))}
        </fieldset>
        <Button
          size="compact-xs"
          variant="subtle"
          aria-label={`Copy ${label}`}
          onClick={() => void Promise.resolve(source.readJson()).then(copy)}
        >
          {copied ? "Copied" : "Copy"}
        </Button>
      </figcaption>
      {modes.kind === "failed" && <p className="payload-failure">{modes.error.message}</p>}
      {modes.kind === "pending" && <ReadingIndicator label={label} />}
      {activeMode !== undefined && (
        <PayloadBody key={activeMode} mode={activeMode} source={source} label={label} />
      )}
    </figure>
  );
};

const PayloadBody = ({
  mode,
  source,
  label,
}: {
  readonly mode: PayloadMode;
  readonly source: PayloadSource;
  readonly label: string;
}) => {
  switch (mode) {
    case "chat":
      return (
        <AsyncContent label={label} read={() => source.readMessages()} source={source}>
          {(messages) => <Chat messages={messages} />}
        </AsyncContent>
      );
    case "markdown":
      return (
        <AsyncContent label={label} read={() => source.readProse()} source={source}>
          {({ key, text }) => (
            <div className="payload-text">
              {key !== undefined && (
                <p className="payload-key">
                  <bdi>{toVisibleText(key.slice(0, maxKeyChars))}</bdi>
                </p>
              )}
              <Markdown text={text} />
            </div>
          )}
        </AsyncContent>
      );
    case "json":
      return <JsonView value={source} label={label} />;
    case "table":
      return (
        <AsyncContent label={label} read={() => source.readTable()} source={source}>
          {(table) => <TableView table={table} label={label} />}
        </AsyncContent>
      );
    case "yaml":
    case "raw":
      return (
        <AsyncContent
          label={label}
          read={() => (mode === "yaml" ? source.readYaml() : source.readJson())}
          source={source}
        >
          {(text) => (
            // `tabIndex` makes the text scrollable with the keyboard.
            // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
            <div className="payload-text payload-raw" tabIndex={0}>
              <LongText text={text} />
            </div>
          )}
        </AsyncContent>
      );
  }
};

const TableView = ({ table, label }: { readonly table: PayloadTable; readonly label: string }) => {
  const { key, columns, rows, rowCount } = table;
  return (
    <div className="payload-text">
      {key !== undefined && (
        <p className="payload-key">
          <bdi>{toVisibleText(key.slice(0, maxKeyChars))}</bdi>
        </p>
      )}
      <ScrollX label={`${label} as a table`}>
        <table className="projects payload-table">
          <thead>
            <tr>
              {columns.map((name) => (
                <th key={name} scope="col">
                  <bdi>{toVisibleText(name.slice(0, maxKeyChars))}</bdi>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((cells, index) => (
              // The index is a stable React key, because the order of the rows does not change.
              <tr key={index}>
                {cells.map((cell, column) => (
                  <td key={columns[column]}>
                    {cell === undefined ? (
                      <span className="quiet">–</span>
                    ) : (
                      <bdi>{toVisibleText(cell)}</bdi>
                    )}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollX>
      {rowCount > rows.length && (
        <p className="note">
          The first {rows.length.toLocaleString("en")} of {pluralize(rowCount, "row")}. JSON shows
          all of them.
        </p>
      )}
    </div>
  );
};

/** Renders a part of a payload, or a placeholder while the part is being read. */
function AsyncContent<Value>({
  label,
  read,
  source,
  children,
}: {
  readonly label: string;
  readonly read: () => Value | Promise<Value>;
  readonly source: PayloadSource;
  readonly children: (value: Value) => ReactNode;
}) {
  // oxlint-disable-next-line react/exhaustive-deps -- `read` is a new function at each render; it must run once for each source
  const state = useAsyncValue(useMemo(read, [source]));
  switch (state.kind) {
    case "pending":
      return <ReadingIndicator label={label} />;
    case "failed":
      return <p className="payload-failure">{state.error.message}</p>;
    case "ready":
      return children(state.value);
  }
}

const ReadingIndicator = ({ label }: { readonly label: string }) => (
  <output className="payload-waiting" aria-label={`Reading ${label}`}>
    <Loader size="sm" type="dots" />
  </output>
);
