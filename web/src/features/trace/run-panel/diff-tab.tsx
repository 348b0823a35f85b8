import { Button, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { isId } from "../../../api/parse.ts";
import { TextDiff } from "../../../components/code/text-diff.tsx";
import { Failure, Loading } from "../../../components/page/states.tsx";
import { toSource } from "../../../components/payload/json-view.tsx";
import { useAsyncValue } from "../../../components/payload/use-async-value.ts";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { formatDuration, formatTime } from "../../../components/time/time.ts";
import { previousRunQuery, traceRunQuery } from "../queries.ts";
import type { TraceRunDetails } from "../queries.ts";
import type { TraceView } from "../use-trace-view.ts";

interface DiffTabProps {
  readonly details: TraceRunDetails;
  readonly view: TraceView;
  readonly run: number;
  /** The id of the run that it is compared with. */
  readonly other: string | undefined;
  readonly onOther: (id: string | undefined) => void;
}

/** A run beside another one: any, or the one before or behind it with the same name. */
export const DiffTab = (props: DiffTabProps) => {
  const { details, other } = props;
  return (
    <div className="diff-tab">
      <Choice {...props} />
      {other === undefined ? (
        <p className="absent">Choose the run to compare with.</p>
      ) : (
        <Compared key={other} details={details} otherId={other} />
      )}
    </div>
  );
};

const Choice = ({ details, view: { model }, run, other, onOther }: DiffTabProps) => {
  const [text, setText] = useState(other ?? "");
  const namesakes = useMemo(
    () => [...model.order].filter((address) => model.names[address] === model.names[run]),
    [model, run],
  );
  const { data: previous } = useQuery(previousRunQuery(details));
  const at = namesakes.indexOf(run);
  const choices: readonly (readonly [string, string | undefined])[] = [
    ["The one before in this trace", model.ids[namesakes[at - 1] ?? -1]],
    ["The next in this trace", model.ids[namesakes[at + 1] ?? -1]],
    ["The one before in this project", previous ?? undefined],
  ];
  const isRefused = text !== "" && !isId(text);
  return (
    <form
      className="diff-choice"
      onSubmit={(event) => {
        event.preventDefault();
        onOther(isId(text) ? text : undefined);
      }}
    >
      {choices.map(([name, id]) =>
        id === undefined ? null : (
          <Button
            key={name}
            size="compact-xs"
            variant={id === other ? "light" : "default"}
            type="button"
            onClick={() => {
              setText(id);
              onOther(id);
            }}
          >
            {name}
          </Button>
        ),
      )}
      <TextInput
        size="xs"
        aria-label="Id of the run to compare with"
        placeholder="Id of any run"
        value={text}
        error={isRefused ? "That is no id of a run." : undefined}
        onChange={({ currentTarget }) => setText(currentTarget.value.trim())}
      />
      <Button size="compact-xs" type="submit" variant="default" disabled={!isId(text)}>
        Compare
      </Button>
    </form>
  );
};

const Compared = ({
  details,
  otherId,
}: {
  readonly details: TraceRunDetails;
  readonly otherId: string;
}) => {
  const { data: other, error, refetch } = useQuery(traceRunQuery(otherId));
  if (other === undefined) {
    return error === null ? (
      <Loading what="the other run" />
    ) : (
      <Failure what="the other run" error={error} onRetry={refetch} isOne />
    );
  }
  return (
    <>
      <p className="summary">
        <bdi>{toVisibleText(other.name.slice(0, 200))}</bdi>
        <span>{formatTime(other.startMs)}</span>
        <span>{durationOf(other)}</span>
        <span>against {durationOf(details)}</span>
      </p>
      <Difference label="Inputs" before={other.inputs} after={details.inputs} />
      <Difference label="Outputs" before={other.outputs} after={details.outputs} />
      <Difference label="Error" before={other.error} after={details.error} />
    </>
  );
};

/** Characters of each side that are compared. */
const comparedChars = 500_000;

const Difference = ({
  label,
  before,
  after,
}: {
  readonly label: string;
  readonly before: unknown;
  readonly after: unknown;
}) => {
  const texts = useMemo(() => bothTexts(before, after), [before, after]);
  const state = useAsyncValue(texts);
  if (state.kind === "failed") {
    return <p className="absent">{state.error.message}</p>;
  }
  return state.kind === "pending" ? (
    <Loading what={label} />
  ) : (
    <TextDiff
      label={label}
      before={state.value.before}
      after={state.value.after}
      language={label === "Error" ? "text" : "json"}
    />
  );
};

async function bothTexts(before: unknown, after: unknown) {
  const [first, second] = await Promise.all([textOf(before), textOf(after)]);
  return { before: first, after: second };
}

async function textOf(value: unknown): Promise<string> {
  const text = value === undefined ? "" : await toSource(value).json();
  return (typeof value === "string" ? value : text).slice(0, comparedChars);
}

const durationOf = ({ startMs, endMs }: TraceRunDetails): string =>
  endMs === undefined ? "still running" : formatDuration(Math.max(0, endMs - startMs));
