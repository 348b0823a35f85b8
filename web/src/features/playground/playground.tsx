import { Button, Switch } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState } from "react";
import { AbsentView } from "../../components/page/absent-view.tsx";
import { Empty, Failure, Loading } from "../../components/page/states.tsx";
import { formatDollars } from "../../components/text/cost.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { modelEndpointsQuery } from "../models/model-endpoints.ts";
import type { ModelEndpoints } from "../models/model-endpoints.ts";
import { TokenForm } from "../models/token-form.tsx";
import { toExperimentPrompt } from "../prompts/prompt.ts";
import { AnswerCard } from "./answer-card.tsx";
import { CommitDialog } from "./commit-dialog.tsx";
import type { CommitPurpose } from "./commit-dialog.tsx";
import { hasSavedPrompt } from "./from-prompt.ts";
import type { PromptSource } from "./from-prompt.ts";
import { KeyDialog } from "./key-dialog.tsx";
import { MessageFields } from "./message-fields.tsx";
import { ModelFields } from "./model-fields.tsx";
import { OptionFields } from "./option-fields.tsx";
import { createRequest, toCallSource } from "./playground-request.ts";
import { createState, readStoredState, storeState } from "./playground-state.ts";
import type { PlaygroundMessage, PlaygroundState, Target } from "./playground-state.ts";
import { createSourceQuery, toOrigin } from "./source-queries.ts";
import { useAnswers } from "./use-answers.ts";
import type { Answer } from "./use-answers.ts";
import { VariableFields } from "./variable-fields.tsx";
import "./playground.css";

const routeApi = getRouteApi("/playground");

/** The page `/playground`, which sends messages to models. */
export const Playground = () => {
  const search = routeApi.useSearch();
  const origin = toOrigin(search);
  const models = useQuery(modelEndpointsQuery);
  const storedState = useMemo(() => readStoredState(origin), [origin]);
  const source = useQuery({
    ...createSourceQuery(search),
    enabled: storedState === undefined && origin !== "",
  });
  const initialState =
    storedState ?? (origin === "" ? createState() : source.data && { ...source.data, origin });
  if (initialState === undefined) {
    return (
      <AbsentView
        title="Playground"
        resourceName={search.run === undefined ? "the prompt" : "the run"}
        error={source.error}
        onRetry={source.refetch}
      />
    );
  }
  return (
    <div className="playground">
      <title>Playground · Millrace</title>
      <header className="heading">
        <h1>Playground</h1>
        {models.data?.budget !== undefined && (
          <p className="summary">
            {formatDollars(models.data.spentToday)} of {formatDollars(models.data.budget)} spent
            today
          </p>
        )}
      </header>
      {models.data === undefined && models.error === null && (
        <Loading resourceName="the model endpoints" />
      )}
      {models.data === undefined && models.error !== null && (
        <Failure resourceName="the model endpoints" error={models.error} onRetry={models.refetch} />
      )}
      {models.data !== undefined && (
        <Editor key={origin} initialState={initialState} models={models.data} />
      )}
    </div>
  );
};

const Editor = ({
  initialState,
  models,
}: {
  readonly initialState: PlaygroundState;
  readonly models: ModelEndpoints;
}) => {
  const [state, setState] = useState(() => chooseEndpoints(initialState, models));
  const [isStored, setIsStored] = useState(true);
  const [problem, setProblem] = useState<string>();
  const [keyEndpointName, setKeyEndpointName] = useState<string>();
  const [commitPurpose, setCommitPurpose] = useState<CommitPurpose>();
  const navigate = routeApi.useNavigate();
  const { answers, run, stop } = useAnswers();
  const unstoredState = useRef<PlaygroundState>(undefined);
  // Store the state only when the user pauses, so that storing it does not slow down typing.
  useEffect(() => {
    unstoredState.current = state;
    const timer = setTimeout(() => {
      unstoredState.current = undefined;
      setIsStored(storeState(state));
    }, storeDelayMs);
    return () => clearTimeout(timer);
  }, [state]);
  // If the user leaves the page before such a pause, store the state at once.
  useEffect(() => {
    const storeNow = (): void => {
      if (unstoredState.current !== undefined) {
        storeState(unstoredState.current);
        unstoredState.current = undefined;
      }
    };
    addEventListener("pagehide", storeNow);
    return () => {
      removeEventListener("pagehide", storeNow);
      storeNow();
    };
  }, []);
  const change = (changes: Partial<PlaygroundState>): void =>
    setState((current) => ({ ...current, ...changes }));
  const keyEndpoint = models.endpoints.find(({ name }) => name === keyEndpointName);
  const isRunning = Object.values(answers).some((answer) => answer.isRunning);
  const canCall = models.endpoints.length > 0 && !models.needsToken;
  const call = (stateToSend: PlaygroundState, targets: readonly Target[]): void => {
    const request = createRequest(stateToSend);
    const incompleteTarget = targets.find(
      ({ endpoint, model }) => endpoint === "" || model.trim() === "",
    );
    if (typeof request === "string" || incompleteTarget !== undefined) {
      setProblem(typeof request === "string" ? request : "Choose an endpoint and enter a model.");
      return;
    }
    setProblem(undefined);
    for (const { id, endpoint, model } of targets) {
      void run(id, `${model} (${endpoint})`, {
        endpoint,
        request: { ...request, model: model.trim() },
        record: stateToSend.isRecorded,
        source: toCallSource(stateToSend),
      });
    }
  };
  /** Opens a new experiment with a saved prompt and the chosen models. */
  const openExperiment = async (source: PromptSource): Promise<void> => {
    unstoredState.current = { ...state, source };
    await navigate({
      to: "/experiments/new",
      search: {
        prompt: toExperimentPrompt(source, source.hash),
        models: state.targets
          .filter(({ model }) => model.trim() !== "")
          .map(({ endpoint, model }) => ({ endpoint, model: model.trim() })),
      },
    });
  };
  const continueWith = (target: Target, messages: readonly PlaygroundMessage[]): void => {
    const continuedState = { ...state, messages: [...state.messages, ...messages] };
    setState(continuedState);
    call(continuedState, [target]);
  };
  return (
    <>
      <Setup models={models} />
      <div className="playground-columns">
        {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- Ctrl+Enter in any of the fields submits the form */}
        <form
          className="playground-editor"
          aria-label="Request"
          onSubmit={(event) => {
            event.preventDefault();
            if (!isRunning && canCall) {
              call(state, state.targets);
            }
          }}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
              event.preventDefault();
              event.currentTarget.requestSubmit();
            }
          }}
        >
          {state.notes.map((note) => (
            <p key={note} className="note">
              {toVisibleText(note)}
            </p>
          ))}
          {!isStored && (
            <p className="note">
              This conversation is too large for the browser to store. Reloading the page would lose
              it.
            </p>
          )}
          <ModelFields
            state={state}
            models={models}
            onChange={change}
            onKey={({ name }) => setKeyEndpointName(name)}
          />
          <MessageFields state={state} onChange={change} />
          <VariableFields state={state} onChange={change} />
          <OptionFields state={state} onChange={change} />
          <div className="playground-actions">
            {isRunning ? (
              // Both buttons need a key. Otherwise React would turn the Stop button into the submit button while its
              // click is handled, and the click would submit the form.
              <Button key="stop" type="button" color="red" onClick={() => stop()}>
                Stop
              </Button>
            ) : (
              <Button
                key="run"
                type="submit"
                disabled={!canCall}
                aria-describedby={canCall ? undefined : "run-reason"}
              >
                Run
              </Button>
            )}
            {!canCall && (
              <span id="run-reason" className="quiet">
                {models.endpoints.length === 0
                  ? "No model endpoint"
                  : "Enter the token above to run"}
              </span>
            )}
            <Switch
              label="Record runs"
              checked={state.isRecorded}
              onChange={({ currentTarget }) => change({ isRecorded: currentTarget.checked })}
            />
            <span className="playground-end">
              <Button
                type="button"
                variant="subtle"
                onClick={() => setState(chooseEndpoints(createState(), models))}
              >
                Clear
              </Button>
              <Button
                type="button"
                variant="default"
                onClick={() =>
                  state.source?.kind === "prompt" && hasSavedPrompt(state)
                    ? void openExperiment(state.source)
                    : setCommitPurpose("experiment")
                }
              >
                Run over a dataset
              </Button>
              <Button type="button" variant="default" onClick={() => setCommitPurpose("save")}>
                Save as prompt
              </Button>
            </span>
          </div>
          {problem !== undefined && (
            <p className="bad" role="alert">
              {toVisibleText(problem)}
            </p>
          )}
        </form>
        <section className="playground-answers" aria-label="Answers">
          {Object.keys(answers).length === 0 && (
            <Empty title="No answers yet">
              <p>Run the prompt to compare the answers of the models side by side.</p>
            </Empty>
          )}
          {selectAnswers(state.targets, answers).map(({ target, answer }) => (
            <AnswerCard
              key={target.id}
              answer={answer}
              onStop={() => stop(target.id)}
              onContinue={(messages) => continueWith(target, messages)}
            />
          ))}
        </section>
      </div>
      {keyEndpoint !== undefined && (
        <KeyDialog endpoint={keyEndpoint} onClose={() => setKeyEndpointName(undefined)} />
      )}
      {commitPurpose !== undefined && (
        <CommitDialog
          state={state}
          purpose={commitPurpose}
          protocol={
            models.endpoints.find(({ name }) => name === state.targets[0]?.endpoint)?.protocol
          }
          onClose={() => setCommitPurpose(undefined)}
          onCommit={(source) => {
            change({ source });
            if (commitPurpose === "experiment") {
              void openExperiment(source);
            }
          }}
        />
      )}
    </>
  );
};

const storeDelayMs = 300;

/** Shows what must be set up before models can be called. */
const Setup = ({ models }: { readonly models: ModelEndpoints }) => {
  if (models.endpoints.length === 0) {
    return (
      <div className="playground-setup">
        <Empty title="No model endpoints">
          <p>The operator of this server must name the endpoints that it may call, for example:</p>
          <pre>
            millrace serve --model-endpoint openai=https://api.openai.com/v1{"\n"}
            millrace serve --model-endpoint local=http://localhost:11434/v1
          </pre>
        </Empty>
      </div>
    );
  }
  return models.needsToken ? <TokenForm className="playground-setup" /> : null;
};

/** Replaces each endpoint that the server does not have with the server's first endpoint. */
function chooseEndpoints(state: PlaygroundState, { endpoints }: ModelEndpoints): PlaygroundState {
  const names = endpoints.map(({ name }) => name);
  return {
    ...state,
    targets: state.targets.map((target) =>
      names.includes(target.endpoint) ? target : { ...target, endpoint: names[0] ?? "" },
    ),
  };
}

const selectAnswers = (
  targets: readonly Target[],
  answers: Readonly<Record<string, Answer>>,
): readonly { readonly target: Target; readonly answer: Answer }[] =>
  targets.flatMap((target) => {
    const answer = answers[target.id];
    return answer === undefined ? [] : [{ target, answer }];
  });
