import { CopyText } from "../../../components/text/copy-text.tsx";
import type { TraceRunDetails } from "../queries.ts";

/** A program that does again what a run did. */
export const CodeTab = ({ details }: { readonly details: TraceRunDetails }) => (
  <CopyText label="Replay this run (TypeScript)" text={toReplayCode(details, location.origin)} />
);

/** What of a run its code is made of. */
interface ReplayedRun {
  readonly id: string;
  readonly name: string;
  readonly runType: string;
  /** `undefined` where they are too large to look at. */
  readonly inputs: unknown;
}

type Provider = "openai" | "openai-responses" | "anthropic";

/**
 * A TypeScript program that reads a run with the SDK and does again what it did: calls the model for a
 * model call of a known shape, else a function of one's own with the run's inputs. What the run holds
 * is read when the program runs; of it no text gets into the program but its name, as a literal.
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
    ...(provider === undefined ? toCall(run.name) : calls[provider]),
    "await client.close();",
    "",
  ].join("\n");
}

const imports: { readonly [Name in Provider]: string } = {
  openai: 'import OpenAI from "openai";',
  "openai-responses": 'import OpenAI from "openai";',
  anthropic: 'import Anthropic from "@anthropic-ai/sdk";',
};

/** The recorded inputs are the request; an answer in pieces would be no value to look at. */
const request = [
  "// The request as it was recorded; needs the provider's key in the environment.",
  "const request = { ...inputs, stream: false };",
];

const calls: { readonly [Name in Provider]: readonly string[] } = {
  openai: [
    ...request,
    "const answer = await new OpenAI().chat.completions.create(request as never);",
    "console.log(answer);",
  ],
  "openai-responses": [
    ...request,
    "const answer = await new OpenAI().responses.create(request as never);",
    "console.log(answer);",
  ],
  anthropic: [
    ...request,
    "const answer = await new Anthropic().messages.create(request as never);",
    "console.log(answer);",
  ],
};

const toCall = (name: string): readonly string[] => [
  "// Put in what the run did; it is recorded again, under the same name.",
  "const replay = traceable(",
  "  async (given: typeof inputs) => given,",
  `  { client, name: ${toLiteral(name)} },`,
  ");",
  "console.log(await replay(inputs));",
];

/** A name is anybody's: it stays within its quotes, and on its line. */
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
