import { toRecord } from "../../../api/parse.ts";
import type { JsonMembers } from "../../../api/parse.ts";
import { toNode } from "./manifest-node.ts";
import {
  findModelStep,
  listSteps,
  modelNumbers,
  parameterNames,
  readPromptModel,
} from "./prompt-model.ts";
import type { PromptModel } from "./prompt-model.ts";

/** The model that is saved with a prompt. */
export type ModelDraft = Omit<PromptModel, "others">;

/** The classes of models that can be saved. Models of other classes stay as they were committed. */
export type ModelClass = "ChatOpenAI" | "ChatAnthropic";

const classIds: { readonly [Name in ModelClass]: readonly string[] } = {
  ChatOpenAI: ["langchain", "chat_models", "openai", "ChatOpenAI"],
  ChatAnthropic: ["langchain", "chat_models", "anthropic", "ChatAnthropic"],
};

/**
 * Combines a prompt with a model in the format in which LangSmith clients save them: a sequence of the prompt and a
 * model to which tools are bound. Parameters that did not change stay as they are in `base`.
 */
export function combineWithModel(
  prompt: JsonMembers,
  base: unknown,
  draft: (Omit<ModelDraft, "className"> & { readonly className: ModelClass }) | undefined,
): JsonMembers {
  const sequence = toNode(base);
  const steps = sequence?.name === "RunnableSequence" ? listSteps(sequence.kwargs) : [];
  const position = findModelStep(steps);
  const currentModel = readPromptModel(steps);
  if (draft === undefined) {
    const isWithoutModel = sequence?.name === "RunnableSequence" && currentModel === undefined;
    return isWithoutModel
      ? { ...toRecord(base), kwargs: { ...sequence.kwargs, first: prompt } }
      : prompt;
  }
  if (
    currentModel === undefined ||
    (draft.name !== currentModel.name && isOtherClass(draft, currentModel))
  ) {
    return createSequence(prompt, createBinding(draft));
  }
  const changedSteps = steps.with(position, changeModel(steps[position], currentModel, draft));
  const node = toRecord(base);
  const { middle, ...kwargs } = toRecord(node["kwargs"]);
  return {
    ...node,
    kwargs: {
      ...kwargs,
      first: prompt,
      ...(middle === undefined ? {} : { middle: changedSteps.slice(0, -1) }),
      last: changedSteps.at(-1),
    },
  };
}

/** Whether a model needs another class than the saved model has. A saved class that is not in `classIds` is kept. */
const isOtherClass = (draft: ModelDraft, current: ModelDraft): boolean =>
  draft.className !== current.className && Object.hasOwn(classIds, current.className);

const createSequence = (first: JsonMembers, last: JsonMembers): JsonMembers =>
  createNode(["langchain", "schema", "runnable", "RunnableSequence"], { first, last });

function createBinding({
  className,
  name,
  numbers,
  stop,
  tools,
}: Omit<ModelDraft, "className"> & { readonly className: ModelClass }): JsonMembers {
  const settings = modelNumbers.flatMap((number) =>
    numbers[number] === undefined ? [] : [[parameterNames[number][0], numbers[number]]],
  );
  return createNode(["langchain", "schema", "runnable", "RunnableBinding"], {
    bound: createNode(classIds[className], {
      ...(name === "" ? {} : { model: name }),
      ...(Object.fromEntries(settings) as JsonMembers),
    }),
    kwargs: {
      ...(stop.length === 0 ? {} : { stop }),
      ...(tools.length === 0 ? {} : { tools }),
    },
  });
}

const createNode = (id: readonly string[], kwargs: JsonMembers): JsonMembers => ({
  lc: 1,
  type: "constructor",
  id,
  kwargs,
});

/** A parameter with its new value; `undefined` removes it. */
interface Change {
  readonly names: readonly string[];
  readonly value: unknown;
  /** Whether the parameter belongs to a binding around the model, not to the model itself. */
  readonly isBound: boolean;
}

const isSame = (left: unknown, right: unknown): boolean =>
  JSON.stringify(left) === JSON.stringify(right);

function changeModel(step: unknown, current: ModelDraft, draft: ModelDraft): unknown {
  const changes: readonly Change[] = [
    ...(draft.name === current.name
      ? []
      : [{ names: parameterNames.name, value: draft.name, isBound: false }]),
    ...modelNumbers.flatMap((number) =>
      draft.numbers[number] === current.numbers[number]
        ? []
        : [{ names: parameterNames[number], value: draft.numbers[number], isBound: false }],
    ),
    ...(["stop", "tools"] as const).flatMap((name) =>
      isSame(draft[name], current[name])
        ? []
        : [
            {
              names: parameterNames[name],
              value: draft[name].length === 0 ? undefined : draft[name],
              isBound: true,
            },
          ],
    ),
  ];
  return changes.reduce(applyChange, step);
}

/** Changes a parameter wherever it is: in the model, or in a binding around it. */
function applyChange(step: unknown, change: Change): JsonMembers {
  const parameterObjects = [...listParameterObjects(step)];
  const hasParameter = parameterObjects.some((parameters) =>
    change.names.some((name) => Object.hasOwn(parameters, name)),
  );
  const isBinding = toNode(step)?.name === "RunnableBinding";
  if (!hasParameter && change.isBound && !isBinding) {
    return createNode(["langchain", "schema", "runnable", "RunnableBinding"], {
      bound: step,
      kwargs: change.value === undefined ? {} : { [change.names[0] ?? ""]: change.value },
    });
  }
  return changeInStep(step, change, hasParameter);
}

/**
 * Lists the objects that contain parameters: those of the bindings, beginning with the outermost, then the object of
 * the model.
 */
function* listParameterObjects(step: unknown): Generator<JsonMembers> {
  const node = toNode(step);
  if (node?.name === "RunnableBinding") {
    yield toRecord(node.kwargs["kwargs"]);
    yield* listParameterObjects(node.kwargs["bound"]);
  } else if (node !== undefined) {
    yield node.kwargs;
  }
}

function changeInStep(step: unknown, change: Change, isFound: boolean): JsonMembers {
  const node = toRecord(step);
  const kwargs = toRecord(node["kwargs"]);
  if (toNode(step)?.name !== "RunnableBinding") {
    return { ...node, kwargs: setParameter(kwargs, change, !isFound && !change.isBound) };
  }
  return {
    ...node,
    kwargs: {
      ...kwargs,
      bound: changeInStep(kwargs["bound"], change, isFound || change.isBound),
      kwargs: setParameter(toRecord(kwargs["kwargs"]), change, !isFound && change.isBound),
    },
  };
}

/**
 * Sets a parameter under each of its names that the object has. If the object has none of these names, sets the
 * parameter under the first name if `isAdded` is true.
 */
function setParameter(
  parameters: JsonMembers,
  { names, value }: Change,
  isAdded: boolean,
): JsonMembers {
  const existingNames = names.filter((name) => Object.hasOwn(parameters, name));
  const changedNames = existingNames.length === 0 && isAdded ? names.slice(0, 1) : existingNames;
  const { ...members } = parameters;
  for (const name of changedNames) {
    if (value === undefined) {
      Reflect.deleteProperty(members, name);
    } else {
      Reflect.set(members, name, value);
    }
  }
  return members;
}
