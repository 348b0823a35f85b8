import { Button, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { isId } from "../../../api/parse.ts";
import { TextDiff } from "../../../components/code/text-diff.tsx";
import { Failure, Loading } from "../../../components/page/states.tsx";
import { toSource } from "../../../components/payload/json-view.tsx";
import { useAsyncValue } from "../../../components/payload/use-async-value.ts";
import { formatDollars } from "../../../components/text/cost.ts";
import { pluralize } from "../../../components/text/quantity.ts";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { formatDuration, formatTime } from "../../../components/time/time.ts";
import { createPreviousRunQuery, createReferenceQuery, createTraceRunQuery } from "../queries.ts";
import type { TraceRunDetails } from "../queries.ts";
import { referenceName } from "../trace-search.ts";
import type { TraceView } from "../use-trace-view.ts";

interface DiffTabProps {
  readonly details: TraceRunDetails;
  readonly view: TraceView;
  readonly runIndex: number;
  /** The id of the run to compare with. */
  readonly otherId: string | undefined;
  readonly onOtherChange: (id: string | undefined) => void;
}

/**
 * Compares a run with another run: any run by its id, or the previous or next run with the same name. Also compares its
 * outputs with the reference outputs of its example.
 */
export const DiffTab = (props: DiffTabProps) => {
  const { details, otherId } = props;
  return (
    <div className="diff-tab">
      <RunPicker {...props} />
      {otherId === undefined && <p className="absent">Select a run to compare with.</p>}
      {otherId === referenceName && <ReferenceComparison details={details} />}
      {otherId !== undefined && otherId !== referenceName && (
        <Comparison key={otherId} details={details} otherId={otherId} />
      )}
    </div>
  );
};

const RunPicker = ({
  details,
  view: { model },
  runIndex,
  otherId,
  onOtherChange,
}: DiffTabProps) => {
  const [text, setText] = useState(otherId === referenceName ? "" : (otherId ?? ""));
  const sameNameRuns = useMemo(
    () => [...model.order].filter((index) => model.names[index] === model.names[runIndex]),
    [model, runIndex],
  );
  const { data: previousRunId } = useQuery(createPreviousRunQuery(details));
  const position = sameNameRuns.indexOf(runIndex);
  const choices: readonly (readonly [string, string | undefined])[] = [
    ["Reference outputs", details.referenceExampleId === undefined ? undefined : referenceName],
    ["Previous run with this name in the trace", model.ids[sameNameRuns[position - 1] ?? -1]],
    ["Next run with this name in the trace", model.ids[sameNameRuns[position + 1] ?? -1]],
    ["Previous run with this name", previousRunId ?? undefined],
  ];
  const isInvalid = text !== "" && !isId(text);
  return (
    <form
      className="diff-choice"
      onSubmit={(event) => {
        event.preventDefault();
        onOtherChange(isId(text) ? text : undefined);
      }}
    >
      {choices.map(([name, id]) =>
        id === undefined ? null : (
          <Button
            key={name}
            size="compact-xs"
            variant={id === otherId ? "light" : "default"}
            type="button"
            onClick={() => {
              setText(id === referenceName ? "" : id);
              onOtherChange(id);
            }}
          >
            {name}
          </Button>
        ),
      )}
      <TextInput
        size="xs"
        aria-label="ID of the run to compare with"
        placeholder="Run ID"
        value={text}
        error={isInvalid ? "Enter the ID of a run (a UUID)." : undefined}
        onChange={({ currentTarget }) => setText(currentTarget.value.trim())}
      />
      <Button size="compact-xs" type="submit" variant="default" disabled={!isId(text)}>
        Compare
      </Button>
    </form>
  );
};

/** Compares the outputs of a run of an experiment with the reference outputs of its example. */
const ReferenceComparison = ({ details }: { readonly details: TraceRunDetails }) => {
  const {
    data: reference,
    error,
    refetch,
  } = useQuery(createReferenceQuery(details.referenceExampleId ?? ""));
  if (reference === undefined) {
    return error === null ? (
      <Loading resourceName="the example" />
    ) : (
      <Failure resourceName="the example" error={error} onRetry={refetch} isSingleResource />
    );
  }
  return (
    <Difference
      label="Reference outputs compared with actual outputs"
      before={reference ?? undefined}
      after={details.outputs}
    />
  );
};

const Comparison = ({
  details,
  otherId,
}: {
  readonly details: TraceRunDetails;
  readonly otherId: string;
}) => {
  const { data: other, error, refetch } = useQuery(createTraceRunQuery(otherId));
  if (other === undefined) {
    return error === null ? (
      <Loading resourceName="the other run" />
    ) : (
      <Failure resourceName="the other run" error={error} onRetry={refetch} isSingleResource />
    );
  }
  return (
    <>
      <p className="summary">
        <bdi>{toVisibleText(other.name.slice(0, 200))}</bdi>
        <span>{formatTime(other.startMs)}</span>
        <span>{formatRunDuration(other)}</span>
        <span>compared to {formatRunDuration(details)}</span>
        {other.tokens.total + details.tokens.total > 0 && (
          <span>
            {pluralize(other.tokens.total, "token")} compared to{" "}
            {details.tokens.total.toLocaleString("en")}
          </span>
        )}
        {other.cost.total !== undefined && details.cost.total !== undefined && (
          <span>
            {formatDollars(other.cost.total)} compared to {formatDollars(details.cost.total)}
          </span>
        )}
      </p>
      <Difference label="Inputs" before={other.inputs} after={details.inputs} />
      <Difference label="Outputs" before={other.outputs} after={details.outputs} />
      <Difference label="Error" before={other.error} after={details.error} />
    </>
  );
};

/** The maximum number of characters of each side that are compared. */
const maxComparedChars = 500_000;

const Difference = ({
  label,
  before,
  after,
}: {
  readonly label: string;
  readonly before: unknown;
  readonly after: unknown;
}) => {
  const texts = useMemo(() => readTexts(before, after), [before, after]);
  const state = useAsyncValue(texts);
  if (state.kind === "failed") {
    return <p className="absent">{state.error.message}</p>;
  }
  return state.kind === "pending" ? (
    <Loading resourceName={label} />
  ) : (
    <TextDiff
      label={label}
      before={state.value.before}
      after={state.value.after}
      language={label === "Error" ? "text" : "json"}
    />
  );
};

async function readTexts(before: unknown, after: unknown) {
  const [first, second] = await Promise.all([readText(before), readText(after)]);
  return { before: first, after: second };
}

async function readText(value: unknown): Promise<string> {
  const text = value === undefined ? "" : await toSource(value).readJson();
  return (typeof value === "string" ? value : text).slice(0, maxComparedChars);
}

const formatRunDuration = ({ startMs, endMs }: TraceRunDetails): string =>
  endMs === undefined ? "still running" : formatDuration(Math.max(0, endMs - startMs));
