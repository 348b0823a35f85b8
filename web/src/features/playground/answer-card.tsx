import { Button, Loader, Textarea } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useTenantId } from "../../api/tenant.ts";
import { formatDollars } from "../../components/text/cost.ts";
import { formatJson } from "../../components/text/json-text.ts";
import { LongText } from "../../components/text/long-text.tsx";
import { Markdown } from "../../components/markdown/markdown.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { formatDuration } from "../../components/time/time.ts";
import { createMessage } from "./playground-state.ts";
import type { PlaygroundMessage, ToolCall } from "./playground-state.ts";
import { playgroundProjectQuery } from "./queries.ts";
import type { AnswerEnd } from "./queries.ts";
import type { Answer } from "./use-answers.ts";

/** The answer of a model: its text, its tool calls, and what it cost. */
export const AnswerCard = ({
  answer,
  onStop,
  onContinue,
}: {
  readonly answer: Answer;
  readonly onStop: () => void;
  /** Adds messages to the end of the conversation, and calls this model again. */
  readonly onContinue: (messages: readonly PlaygroundMessage[]) => void;
}) => {
  const { label, isRunning, isStopped, text, thinking, toolCalls, end } = answer;
  const createAssistantMessage = (): PlaygroundMessage =>
    createMessage("assistant", text, { toolCalls });
  return (
    <article className="playground-answer" aria-label={`Answer of ${toVisibleText(label)}`}>
      <header className="playground-head">
        <h2>
          <bdi>{toVisibleText(label)}</bdi>
        </h2>
        {isRunning && (
          <Button type="button" size="compact-sm" variant="default" onClick={onStop}>
            Stop
          </Button>
        )}
      </header>
      {thinking !== "" && (
        <details>
          <summary>Reasoning</summary>
          <LongText text={thinking} />
        </details>
      )}
      {/* While the text grows, show it as plain text. Rendering Markdown at each change would take too long. */}
      {isRunning ? <LongText text={text} /> : <Markdown text={text} />}
      {isRunning && <Loader size="xs" type="dots" aria-label="The model is answering" />}
      {!isRunning && toolCalls.length > 0 ? (
        <ToolResults
          toolCalls={toolCalls}
          onSend={(results) =>
            onContinue([
              createAssistantMessage(),
              ...toolCalls.map(({ id }, index) =>
                createMessage("tool", results[index] ?? "", { toolCallId: id }),
              ),
            ])
          }
        />
      ) : (
        toolCalls.map((call, index) => <ToolCallView key={index} call={call} />)
      )}
      {isStopped && <p className="quiet">Stopped.</p>}
      {end.failure !== undefined && (
        <p className="bad" role="alert">
          {toVisibleText(end.failure)}
          {end.retryAfterSeconds !== undefined &&
            ` Try again after ${end.retryAfterSeconds} seconds.`}
        </p>
      )}
      {!isRunning && <AnswerFacts end={end} />}
    </article>
  );
};

const ToolCallView = ({ call }: { readonly call: ToolCall }) => (
  <div className="playground-call">
    <p>
      Tool call <code>{toVisibleText(call.name)}</code> <small>{toVisibleText(call.id)}</small>
    </p>
    <LongText text={formatArguments(call.arguments)} />
  </div>
);

/** The tool calls of an answer, with a field to enter the result of each call. */
const ToolResults = ({
  toolCalls,
  onSend,
}: {
  readonly toolCalls: readonly ToolCall[];
  readonly onSend: (results: readonly string[]) => void;
}) => {
  const [results, setResults] = useState<Readonly<Record<number, string>>>({});
  return (
    <form
      className="playground-results"
      onSubmit={(event) => {
        event.preventDefault();
        onSend(toolCalls.map((_, index) => results[index] ?? ""));
      }}
    >
      {toolCalls.map((call, index) => (
        <div key={index}>
          <ToolCallView call={call} />
          <Textarea
            label={`Result of ${toVisibleText(call.name)}`}
            rows={2}
            value={results[index] ?? ""}
            onChange={({ currentTarget: { value } }) => setResults({ ...results, [index]: value })}
          />
        </div>
      ))}
      <div>
        <Button type="submit" size="xs" variant="default">
          Send results
        </Button>
      </div>
    </form>
  );
};

function formatArguments(text: string): string {
  try {
    return formatJson(JSON.parse(text));
  } catch {
    return text; // A model wrote the text, so it may not be JSON.
  }
}

const finishTexts: Readonly<Record<string, string>> = {
  length: "Cut off at the token limit",
  filtered: "Stopped by the provider's filter",
};

/** Tokens, cost and latency of an answer, and a link to its run. */
const AnswerFacts = ({ end }: { readonly end: AnswerEnd }) => {
  const tenantId = useTenantId();
  const { inputTokens, outputTokens, cost, costReason, durationMs, firstTokenMs } = end;
  const facts = [
    finishTexts[end.finishReason ?? ""],
    inputTokens !== undefined &&
      outputTokens !== undefined &&
      `${inputTokens.toLocaleString("en")} → ${outputTokens.toLocaleString("en")} tokens`,
    durationMs !== undefined && formatDuration(durationMs),
    firstTokenMs !== undefined && `First token ${formatDuration(firstTokenMs)}`,
  ].filter((fact) => typeof fact === "string");
  return (
    <>
      <ul className="chips" aria-label="Answer statistics">
        {facts.map((fact) => (
          <li key={fact} className="chip">
            {fact}
          </li>
        ))}
        {cost !== undefined && <li className="chip">{formatDollars(cost)}</li>}
        {costReason !== undefined && (
          <li className="chip" title={costReason}>
            Cost unknown
          </li>
        )}
        {end.runId !== undefined && (
          <li className="chip">
            <RunLink tenantId={tenantId} runId={end.runId} traceId={end.traceId ?? end.runId} />
          </li>
        )}
      </ul>
      {costReason !== undefined && end.failure === undefined && (
        <p className="note">{toVisibleText(costReason)}</p>
      )}
      {end.recordError !== undefined && (
        <p className="bad">The call was not recorded: {toVisibleText(end.recordError)}</p>
      )}
    </>
  );
};

const RunLink = ({
  tenantId,
  runId,
  traceId,
}: {
  readonly tenantId: string | undefined;
  readonly runId: string;
  readonly traceId: string;
}) => {
  const { data: projectId } = useQuery(playgroundProjectQuery);
  return tenantId === undefined || projectId === undefined ? (
    "Recorded"
  ) : (
    <Link
      to="/o/$tenantId/projects/p/$projectId"
      params={{ tenantId, projectId }}
      search={traceId === runId ? { trace: traceId } : { trace: traceId, run: runId }}
    >
      Open run
    </Link>
  );
};
