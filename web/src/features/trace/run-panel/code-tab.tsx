import { CopyText } from "../../../components/code/copy-text.tsx";
import type { TraceRunDetails } from "../queries.ts";
import { readServerUrl } from "../../../api/base-path.ts";

/** Shows a program that calls the recorded function or model again with the run's inputs. */
export const CodeTab = ({ details }: { readonly details: TraceRunDetails }) => (
  <CopyText
    label="Replay this run (TypeScript)"
    text={toReplayCode(details, readServerUrl())}
    language="ts"
  />
);

/** The fields of a run that its replay program depends on. */
interface ReplayedRun {
  readonly id: string;
  readonly name: string;
  readonly runType: string;
  /** The recorded inputs. For a model call, the provider's request format is detected from their fields. */
  readonly inputs: unknown;
}

type RequestFormat = "openai" | "openai-responses" | "anthropic";

/**
 * Generates a TypeScript program that reads a run's inputs with the SDK and repeats the call. For a model call in the
 * format of a known provider, the program calls that provider. For any other run, it calls a function that the user
 * completes. The name is the only recorded text that the generated code contains, as an escaped string literal.
 */
export function toReplayCode(run: ReplayedRun, endpoint: string): string {
  const requestFormat = run.runType === "llm" ? detectRequestFormat(run.inputs) : undefined;
  return [
    ...(requestFormat === undefined ? [] : [importCode[requestFormat]]),
    `import { Client${requestFormat === undefined ? ", traceable" : ""} } from "millrace";`,
    "",
    `const client = new Client({ endpoint: ${JSON.stringify(endpoint)} });`,
    `const { inputs } = await client.runs.read(${JSON.stringify(run.id)});`,
    "",
    ...(requestFormat === undefined ? toFunctionCall(run.name) : callCode[requestFormat]),
    "await client.close();",
    "",
  ].join("\n");
}

const importCode: { readonly [Name in RequestFormat]: string } = {
  openai: 'import OpenAI from "openai";',
  "openai-responses": 'import OpenAI from "openai";',
  anthropic: 'import Anthropic from "@anthropic-ai/sdk";',
};

/** Code that builds the request from the recorded inputs. It turns streaming off, so that the response is complete. */
const requestCode = [
  "// The recorded request. Set the provider's API key in the environment.",
  "const request = { ...inputs, stream: false };",
];

const callCode: { readonly [Name in RequestFormat]: readonly string[] } = {
  openai: [
    ...requestCode,
    "const response = await new OpenAI().chat.completions.create(request as never);",
    "console.log(response);",
  ],
  "openai-responses": [
    ...requestCode,
    "const response = await new OpenAI().responses.create(request as never);",
    "console.log(response);",
  ],
  anthropic: [
    ...requestCode,
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

/** Formats a name as a string literal. The name is untrusted, so all characters except printable ASCII are escaped. */
const toLiteral = (name: string): string =>
  JSON.stringify(name.slice(0, 200)).replaceAll(
    /[^\u0020-\u007e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

function detectRequestFormat(inputs: unknown): RequestFormat | undefined {
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
