import { CopyText } from "../../../components/text/copy-text.tsx";
import type { TraceRunDetails } from "../queries.ts";

/** Shows a program that repeats the run. */
export const CodeTab = ({ details }: { readonly details: TraceRunDetails }) => (
  <CopyText label="Replay this run (TypeScript)" text={toReplayCode(details, location.origin)} />
);

/** The fields of a run that its replay program depends on. */
interface ReplayedRun {
  readonly id: string;
  readonly name: string;
  readonly runType: string;
  /** Only the fields of a plain object are inspected, to recognize a provider's request. */
  readonly inputs: unknown;
}

type Provider = "openai" | "openai-responses" | "anthropic";

/**
 * Generates a TypeScript program that reads a run with the SDK and repeats it. For a model call in the
 * format of a known provider, the program calls that provider; for any other run it calls a function that
 * the user completes, with the run's inputs. The program reads the run's payload when it is executed: of the
 * run's texts, only the name is part of the generated code, as an escaped string literal.
 */
export function toReplayCode(run: ReplayedRun, endpoint: string): string {
  const provider = run.runType === "llm" ? findProvider(run.inputs) : undefined;
  return [
    ...(provider === undefined ? [] : [imports[provider]]),
    `import { Client${provider === undefined ? ", traceable" : ""} } from "millrace";`,
    "",
    `const client = new Client({ endpoint: ${JSON.stringify(endpoint)} });`,
    `const { inputs } = await client.runs.read(${JSON.stringify(run.id)});`,
    "",
    ...(provider === undefined ? toFunctionCall(run.name) : calls[provider]),
    "await client.close();",
    "",
  ].join("\n");
}

const imports: { readonly [Name in Provider]: string } = {
  openai: 'import OpenAI from "openai";',
  "openai-responses": 'import OpenAI from "openai";',
  anthropic: 'import Anthropic from "@anthropic-ai/sdk";',
};

/** The recorded inputs are the request. Streaming is turned off, so that the program can print one complete response. */
const request = [
  "// The recorded request. Set the provider's API key in the environment.",
  "const request = { ...inputs, stream: false };",
];

const calls: { readonly [Name in Provider]: readonly string[] } = {
  openai: [
    ...request,
    "const response = await new OpenAI().chat.completions.create(request as never);",
    "console.log(response);",
  ],
  "openai-responses": [
    ...request,
    "const response = await new OpenAI().responses.create(request as never);",
    "console.log(response);",
  ],
  anthropic: [
    ...request,
    "const response = await new Anthropic().messages.create(request as never);",
    "console.log(response);",
  ],
};

const toFunctionCall = (name: string): readonly string[] => [
  "// Replace the function's body with the code to run. The call is recorded under the same name.",
  "const replay = traceable(",
  "  async (input: typeof inputs) => input,",
  `  { client, name: ${toLiteral(name)} },`,
  ");",
  "console.log(await replay(inputs));",
];

/** Names are untrusted: everything but printable ASCII is escaped, so that a name can't end its literal or its line. */
const toLiteral = (name: string): string =>
  JSON.stringify(name.slice(0, 200)).replaceAll(
    /[^\u0020-\u007e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

function findProvider(inputs: unknown): Provider | undefined {
  if (typeof inputs !== "object" || inputs === null) {
    return undefined;
  }
  const {
    model,
    messages,
    input,
    system,
    max_tokens: limit,
  } = inputs as Readonly<Record<string, unknown>>;
  if (typeof model !== "string") {
    return undefined;
  }
  if (Array.isArray(messages)) {
    const isAnthropic = system !== undefined || (model.startsWith("claude") && limit !== undefined);
    return isAnthropic ? "anthropic" : "openai";
  }
  return typeof input === "string" || Array.isArray(input) ? "openai-responses" : undefined;
}
