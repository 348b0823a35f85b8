import { Button, Loader } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";
import { useMemo, useState } from "react";
import type { ReactNode } from "react";
import { LongText } from "../text/long-text.tsx";
import { Markdown } from "../text/markdown.tsx";
import { Chat } from "./chat.tsx";
import { JsonView, toSource } from "./json-view.tsx";
import type { PayloadMode, PayloadSource } from "./payload-source.ts";
import { useAsyncValue } from "./use-async-value.ts";
import "./payload.css";

const names: { readonly [Mode in PayloadMode]: string } = {
  chat: "Chat",
  markdown: "Markdown",
  json: "JSON",
  raw: "Raw",
};

interface PayloadProps {
  readonly label: string;
  /** Any JSON, or a {@link PayloadSource}; `undefined` where nothing was recorded. */
  readonly value: unknown;
  /** How it is shown; where the value can't be shown so, the best way. */
  readonly mode?: PayloadMode | undefined;
  /** Without it the choice is kept here. */
  readonly onMode?: (mode: PayloadMode) => void;
}

/** A value of a run or an example as chat, Markdown, JSON or raw. */
export const Payload = (props: PayloadProps) => {
  const { label, value } = props;
  const source = useMemo(() => (value === undefined ? undefined : toSource(value)), [value]);
  return source === undefined ? (
    <p className="absent">
      <span>{label}</span> none recorded
    </p>
  ) : (
    <Shown {...props} source={source} />
  );
};

const Shown = ({
  label,
  source,
  mode,
  onMode,
}: PayloadProps & { readonly source: PayloadSource }) => {
  const [own, setOwn] = useState<PayloadMode>();
  const { copy, copied } = useClipboard();
  const modes = useAsyncValue(useMemo(() => source.modes(), [source]));
  const known = modes.kind === "here" ? modes.value : [];
  const wanted = onMode === undefined ? (own ?? mode) : mode;
  const shown = wanted !== undefined && known.includes(wanted) ? wanted : known[0];
  return (
    <figure className="payload" aria-label={label}>
      <figcaption>
        <span>{label}</span>
        <fieldset className="segments small" aria-label={`Show ${label} as`}>
          {known.map((name) => (
            <button
              key={name}
              type="button"
              aria-pressed={name === shown}
              onClick={() => (onMode ?? setOwn)(name)}
            >
              {names[name]}
            </button>
          ))}
        </fieldset>
        <Button
          size="compact-xs"
          variant="subtle"
          aria-label={`Copy ${label}`}
          onClick={() => void Promise.resolve(source.json()).then(copy)}
        >
          {copied ? "Copied" : "Copy"}
        </Button>
      </figcaption>
      {modes.kind === "failed" && <p className="payload-failure">{modes.error.message}</p>}
      {modes.kind === "pending" && <Waiting label={label} />}
      {shown !== undefined && <Body key={shown} mode={shown} source={source} label={label} />}
    </figure>
  );
};

const Body = ({
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
        <Later label={label} read={() => source.messages()} source={source}>
          {(messages) => <Chat messages={messages} />}
        </Later>
      );
    case "markdown":
      return (
        <Later label={label} read={() => source.prose()} source={source}>
          {(text) => (
            <div className="payload-text">
              <Markdown text={text} />
            </div>
          )}
        </Later>
      );
    case "json":
      return <JsonView value={source} label={label} />;
    case "raw":
      return (
        <Later label={label} read={() => source.json()} source={source}>
          {(text) => (
            // A list that scrolls must be reachable by the keyboard.
            // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
            <div className="payload-text payload-raw" tabIndex={0}>
              <LongText text={text} />
            </div>
          )}
        </Later>
      );
  }
};

function Later<Value>({
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
  // oxlint-disable-next-line react/exhaustive-deps -- read once for each value
  const state = useAsyncValue(useMemo(read, [source]));
  switch (state.kind) {
    case "pending":
      return <Waiting label={label} />;
    case "failed":
      return <p className="payload-failure">{state.error.message}</p>;
    case "here":
      return children(state.value);
  }
}

const Waiting = ({ label }: { readonly label: string }) => (
  <output className="payload-waiting" aria-label={`Reading ${label}`}>
    <Loader size="sm" type="dots" />
  </output>
);
