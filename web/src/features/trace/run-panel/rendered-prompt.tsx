import { Tooltip } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { toRecord } from "../../../api/parse.ts";
import { toSource } from "../../../components/payload/json-view.tsx";
import { LocalPayload } from "../../../components/payload/payload-source.ts";
import { readLatestValue, useAsyncValue } from "../../../components/payload/use-async-value.ts";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { toPromptContent } from "../../prompts/manifest/manifest.ts";
import {
  markVariables,
  readPromptReference,
  readVariableValues,
} from "../../prompts/manifest/marked-prompt.ts";
import type { MarkedMessage, PromptReference } from "../../prompts/manifest/marked-prompt.ts";
import { shortenHash } from "../../prompts/prompt.ts";
import { createCommitQuery } from "../../prompts/queries.ts";
import type { FilledPiece } from "../../prompts/manifest/template.ts";
import { createTraceRunQuery } from "../queries.ts";
import type { TraceRunDetails } from "../queries.ts";
import type { TraceModel } from "../trace-model.ts";
import "./rendered-prompt.css";

/** The maximum number of messages that are shown. */
const maxMessages = 50;
/** The maximum number of characters that are shown of each piece of a message. */
const maxPieceChars = 2_000;
/** The maximum length of inputs whose values are marked. Parsing longer inputs would block the page. */
const maxValueChars = 20_000_000;

/**
 * Shows the prompt that a run used, with the values of its variables marked. Nothing is shown unless the result is
 * certain: the commit is known, and filling it in with the recorded inputs gives exactly the recorded messages.
 */
export const RenderedPrompt = ({
  details,
  model,
  runIndex,
}: {
  readonly details: TraceRunDetails;
  readonly model: TraceModel;
  readonly runIndex: number;
}) => {
  const type = model.types[runIndex];
  const isCall = type === "llm";
  const sources = useMemo(
    () => (isCall ? findSources(model, runIndex) : noSources),
    [isCall, model, runIndex],
  );
  return isCall || type === "prompt" ? (
    <FoundPrompt details={details} isPrompt={!isCall} {...sources} />
  ) : null;
};

/** Ids of the runs whose inputs may contain the values that were filled into the prompt of a model call. */
interface Sources {
  /** Id of the latest run of the type `prompt` before the call, below the same parent. */
  readonly promptId: string | undefined;
  readonly parentId: string | undefined;
}

const noSources: Sources = { promptId: undefined, parentId: undefined };

function findSources({ ids, types, parents, order }: TraceModel, runIndex: number): Sources {
  const parent = parents[runIndex] ?? -1;
  let promptId: string | undefined;
  for (const index of order) {
    if (index === runIndex) {
      break;
    }
    if (parent !== -1 && parents[index] === parent && types[index] === "prompt") {
      promptId = ids[index];
    }
  }
  return { promptId, parentId: ids[parent] };
}

const FoundPrompt = ({
  details,
  isPrompt,
  promptId,
  parentId,
}: Sources & { readonly details: TraceRunDetails; readonly isPrompt: boolean }) => {
  const promptRun = useQuery({
    ...createTraceRunQuery(promptId ?? ""),
    enabled: !isPrompt && promptId !== undefined,
  }).data;
  const parent = useQuery({
    ...createTraceRunQuery(parentId ?? ""),
    enabled: !isPrompt && promptId === undefined && parentId !== undefined,
  }).data;
  const reference = [details, promptRun, parent]
    .map((run) => readPromptReference(toRecord(run?.extra)["metadata"]))
    .find((promptReference) => promptReference !== undefined);
  const valuesRun = isPrompt ? details : (promptRun ?? parent);
  const commit = useQuery({
    ...createCommitQuery(reference?.address ?? { owner: "-", repo: "" }, reference?.commit ?? ""),
    enabled: reference !== undefined && valuesRun !== undefined,
    retry: false,
  }).data;
  const state = useAsyncValue(
    useMemo(
      () =>
        commit === undefined || valuesRun === undefined
          ? undefined
          : readMarkedMessages(commit.manifest, {
              inputs: valuesRun.inputs,
              metadata: toRecord(details.extra)["metadata"],
              recorded: isPrompt ? details.outputs : details.inputs,
            }),
      [commit, valuesRun, details, isPrompt],
    ),
  );
  // While a refreshed run is read, keep showing the previous messages. Otherwise the page would flicker.
  const markedMessages = readLatestValue(state);
  return reference === undefined || markedMessages === undefined ? null : (
    <MarkedPrompt reference={reference} messages={markedMessages} />
  );
};

async function readMarkedMessages(
  manifest: unknown,
  {
    inputs,
    metadata,
    recorded,
  }: { readonly inputs: unknown; readonly metadata: unknown; readonly recorded: unknown },
): Promise<readonly MarkedMessage[] | undefined> {
  const content = toPromptContent(manifest);
  if (content === undefined || recorded === undefined) {
    return undefined;
  }
  const messages = await toSource(recorded).readMessages();
  const values = toRecord(await readValue(inputs));
  // Some wrappers record the arguments of a function as the member `input`.
  const { input, ...others } = values;
  const innerValues = Object.keys(others).length === 0 ? toRecord(input) : {};
  return (
    markVariables(content, readVariableValues(values, metadata), messages) ??
    markVariables(content, innerValues, messages)
  );
}

/** Reads the whole value, even if it is in the memory of a worker. Returns `undefined` if it is too long. */
async function readValue(value: unknown): Promise<unknown> {
  const source = toSource(value);
  if (source instanceof LocalPayload) {
    return source.value;
  }
  const text = await source.readJson();
  return text.length > maxValueChars ? undefined : (JSON.parse(text) as unknown);
}

const MarkedPrompt = ({
  reference: { address, commit },
  messages,
}: {
  readonly reference: PromptReference;
  readonly messages: readonly MarkedMessage[];
}) => {
  const { owner, repo } = address;
  const name = `${owner === "-" ? "" : `${owner}/`}${repo}:${shortenHash(commit)}`;
  const link = { search: {}, children: <bdi>{toVisibleText(name)}</bdi> };
  const hiddenCount = messages.length - maxMessages;
  return (
    <figure className="payload filled-prompt" aria-label="Prompt">
      <figcaption>
        <span>Prompt</span>
        {owner === "-" ? (
          <Link to="/prompts/$repo/$commit" params={{ repo, commit }} {...link} />
        ) : (
          <Link to="/hub/$owner/$repo/$commit" params={{ owner, repo, commit }} {...link} />
        )}
      </figcaption>
      <ol className="filled-messages">
        {messages.slice(0, maxMessages).map(({ role, pieces }, index) => (
          <li key={index}>
            <span className="quiet">{toVisibleText(role)}</span>
            <p>
              {pieces.map((piece, pieceIndex) => (
                <Piece key={pieceIndex} piece={piece} />
              ))}
            </p>
          </li>
        ))}
      </ol>
      {hiddenCount > 0 && <p className="note">{hiddenCount.toLocaleString("en")} more messages</p>}
    </figure>
  );
};

/**
 * A piece of a message: text of the template, or the marked value of a variable. Screen readers read the name of the
 * variable before its value.
 */
const Piece = ({ piece: { text, variable } }: { readonly piece: FilledPiece }) => {
  const shownText = toVisibleText(text.slice(0, maxPieceChars));
  const lengthNote =
    text.length > maxPieceChars ? ` … (${text.length.toLocaleString("en")} characters)` : "";
  if (variable === undefined) {
    return `${shownText}${lengthNote}`;
  }
  const name = toVisibleText(variable);
  return (
    <>
      <span className="unseen">{name}: </span>
      <Tooltip label={`Variable ${name}`}>
        <mark className="filled-variable">
          {shownText}
          {lengthNote}
        </mark>
      </Tooltip>
    </>
  );
};
