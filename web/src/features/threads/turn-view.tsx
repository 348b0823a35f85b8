import { Button, Loader } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { formatCount } from "../../components/chart/chart-data.ts";
import { Failure } from "../../components/page/states.tsx";
import type { ChatMessage } from "../../components/payload/chat-messages.ts";
import { Chat } from "../../components/payload/chat.tsx";
import { toSource } from "../../components/payload/json-view.tsx";
import type { PayloadSource } from "../../components/payload/payload-source.ts";
import { Payload } from "../../components/payload/payload.tsx";
import { useAsyncValue } from "../../components/payload/use-async-value.ts";
import { LongText } from "../../components/text/long-text.tsx";
import { pluralize } from "../../components/text/quantity.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { Ago } from "../../components/time/ago.tsx";
import { formatDuration } from "../../components/time/time.ts";
import { StatusBadge } from "../runs/run-badges.tsx";
import { createTraceRunQuery } from "../trace/queries.ts";
import type { RunsSearch } from "../trace/project-search.ts";
import type { TraceRunDetails } from "../trace/queries.ts";
import { FeedbackScores } from "./feedback-scores.tsx";
import type { TurnItem } from "./thread-item.ts";
import { divideMessages } from "./turn-messages.ts";

interface TurnViewProps {
  /** The format that the costs of all turns share. */
  readonly formatCost: (cost: number) => string;
  readonly turn: TurnItem;
  readonly number: number;
  readonly threadId: string;
  readonly address: { readonly tenantId: string; readonly projectId: string };
}

/**
 * The search parameters that open the trace of a turn in the list of the thread's runs. The list begins with the oldest
 * run, so that the next trace in the list belongs to the next turn.
 */
const toTurnSearch = ({ runId, traceId }: TurnItem, threadId: string): RunsSearch => ({
  filter: `eq(thread_id, ${JSON.stringify(threadId)})`,
  sort: "start-asc",
  trace: traceId,
  ...(runId === traceId ? {} : { all: true, run: runId }),
});

/** One turn of a thread: its facts, a link to its trace, and its messages. */
export const TurnView = ({ turn, number, threadId, address, formatCost }: TurnViewProps) => {
  const { runId, name, status, startMs, endMs, tokens, cost, feedback } = turn;
  const { data: run, error, refetch } = useQuery(createTraceRunQuery(runId));
  return (
    <article className="thread-turn" aria-label={`Turn ${number}`}>
      <header className="thread-turn-head">
        <h2>Turn {number}</h2>
        <Link
          to="/o/$tenantId/projects/p/$projectId"
          params={address}
          search={toTurnSearch(turn, threadId)}
          data-turn-link
          aria-label={`Open trace of turn ${number}: ${toVisibleText(name)}`}
        >
          <bdi>{toVisibleText(name)}</bdi>
        </Link>
        {status !== "success" && <StatusBadge status={status} />}
        <span className="thread-turn-facts">
          <Ago timeMs={startMs} />
          {endMs !== undefined && <span>{formatDuration(endMs - startMs)}</span>}
          {tokens !== undefined && (
            <span>{`${formatCount(tokens)} ${tokens === 1 ? "token" : "tokens"}`}</span>
          )}
          {cost !== undefined && <span>{formatCost(cost)}</span>}
        </span>
        <FeedbackScores scores={feedback} />
      </header>
      {run !== undefined && <TurnMessages run={run} isFirst={number === 1} />}
      {run === undefined && error === null && <TurnLoading />}
      {run === undefined && error !== null && (
        <Failure resourceName="the turn" error={error} onRetry={refetch} isSingleResource />
      )}
    </article>
  );
};

const TurnLoading = () => (
  <output className="payload-waiting" aria-label="Loading the turn">
    <Loader size="sm" type="dots" />
  </output>
);

const TurnMessages = ({
  run: { inputs, outputs, error, status },
  isFirst,
}: {
  readonly run: TraceRunDetails;
  readonly isFirst: boolean;
}) => {
  const content = useAsyncValue(
    useMemo(() => readTurn(inputs, outputs, isFirst), [inputs, outputs, isFirst]),
  );
  if (content.kind === "failed") {
    return <p className="payload-failure">{content.error.message}</p>;
  }
  if (content.kind === "pending") {
    return <TurnLoading />;
  }
  const { earlier, added, answer, inputValue, outputValue } = content.value;
  return (
    <>
      {earlier.length > 0 && <EarlierMessages messages={earlier} />}
      {added.length > 0 && <Chat messages={added} />}
      {inputValue !== undefined && <Payload label="Inputs" value={inputValue} />}
      {answer.length > 0 && <Chat messages={answer} />}
      {outputValue !== undefined && <Payload label="Outputs" value={outputValue} />}
      {error !== undefined && (
        <div className="thread-error bad">
          <LongText text={error} />
        </div>
      )}
      {status === "pending" && <p className="thread-pending">No answer yet</p>}
    </>
  );
};

/** The conversation so far, which the request of this turn repeats. It is hidden until the user asks for it. */
const EarlierMessages = ({ messages }: { readonly messages: readonly ChatMessage[] }) => {
  const [isShown, setIsShown] = useState(false);
  return (
    <>
      <Button
        className="thread-earlier"
        size="compact-xs"
        variant="subtle"
        aria-expanded={isShown}
        onClick={() => setIsShown(!isShown)}
      >
        {isShown ? "Hide" : "Show"} {pluralize(messages.length, "earlier message")}
      </Button>
      {isShown && <Chat messages={messages} />}
    </>
  );
};

/** The content of a turn. A value without messages is shown as recorded. */
interface TurnContent {
  readonly earlier: readonly ChatMessage[];
  readonly added: readonly ChatMessage[];
  readonly answer: readonly ChatMessage[];
  readonly inputValue: unknown;
  readonly outputValue: unknown;
}

async function readTurn(inputs: unknown, outputs: unknown, isFirst: boolean): Promise<TurnContent> {
  const [inputMessages, outputMessages] = [
    await readMessages(inputs, "user"),
    await readMessages(outputs, "assistant"),
  ];
  return {
    ...divideMessages(inputMessages ?? [], outputMessages ?? [], isFirst),
    inputValue: inputMessages === undefined ? inputs : undefined,
    outputValue: outputMessages === undefined ? outputs : undefined,
  };
}

/**
 * Reads the messages of a value. A text becomes a message of the given role. Returns `undefined` for any other value.
 */
async function readMessages(
  value: unknown,
  role: "user" | "assistant",
): Promise<readonly ChatMessage[] | undefined> {
  if (value === undefined || isEmptyObject(value)) {
    return [];
  }
  const source: PayloadSource = toSource(value);
  const messages = await source.readMessages();
  if (messages.length > 0) {
    return messages;
  }
  const { text } = await source.readProse();
  return text === "" ? undefined : [{ role, name: undefined, parts: [{ kind: "text", text }] }];
}

const isEmptyObject = (value: unknown): boolean =>
  typeof value === "object" &&
  value !== null &&
  Object.getPrototypeOf(value) === Object.prototype &&
  Object.keys(value).length === 0;
