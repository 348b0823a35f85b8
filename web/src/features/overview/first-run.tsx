import { Tabs } from "@mantine/core";
import { CopyText } from "../../components/code/copy-text.tsx";
import { readServerUrl } from "../../api/base-path.ts";

const installCommand = "npm install millrace";

const createExampleProgram = (
  endpoint: string,
): string => `import { Client, traceable } from "millrace";

const client = new Client({ endpoint: "${endpoint}", projectName: "first-steps" });
const greet = traceable(async (name) => ({ greeting: \`Hello, \${name}!\` }), {
  name: "greet",
  client,
});

console.log(await greet("world"));
await client.close();
`;

/** Environment variables that make a program with another SDK send its runs to this server. */
const createVariables = {
  langsmith: (origin: string) => `export LANGSMITH_TRACING=true
export LANGSMITH_ENDPOINT=${origin}
export LANGSMITH_API_KEY=any    # or a key of this server
export LANGSMITH_PROJECT=first-steps`,
  opentelemetry: (
    origin: string,
  ) => `export OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=${origin}/otel/v1/traces
export OTEL_EXPORTER_OTLP_HEADERS="Langsmith-Project=first-steps"    # with an API key, append ",x-api-key=<key>"`,
  langchain: (origin: string) => `export LANGCHAIN_TRACING_V2=true
export LANGCHAIN_ENDPOINT=${origin}
export LANGCHAIN_API_KEY=any    # or a key of this server
export LANGCHAIN_PROJECT=first-steps`,
} as const;

const tabs = [
  ["node", "Millrace for Node.js"],
  ["langsmith", "LangSmith SDK"],
  ["opentelemetry", "OpenTelemetry"],
  ["langchain", "LangChain"],
] as const;

/**
 * Shown while there are no projects. It explains, for each supported SDK, how a program records its first trace.
 */
export const FirstRun = () => (
  <section className="first-run">
    <h1>No runs yet</h1>
    <p>Record a run. It appears here as soon as it arrives.</p>
    <Tabs defaultValue="node">
      <Tabs.List>
        {tabs.map(([value, label]) => (
          <Tabs.Tab key={value} value={value}>
            {label}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      <Tabs.Panel value="node">
        <CopyText label="Install the SDK" text={installCommand} />
        <CopyText
          label="Save as first.mjs"
          text={createExampleProgram(readServerUrl())}
          language="js"
        />
        <CopyText label="Run the program" text="node first.mjs" />
      </Tabs.Panel>
      <Tabs.Panel value="langsmith">
        <p>
          The LangSmith SDKs for Python and JavaScript can send their runs to this server. Set these
          variables, and start the program:
        </p>
        <CopyText label="Environment variables" text={createVariables.langsmith(readServerUrl())} />
      </Tabs.Panel>
      <Tabs.Panel value="opentelemetry">
        <p>
          OpenTelemetry exporters that use HTTP, with protobuf or JSON, can send their spans to this
          server. Set these variables, and start the program:
        </p>
        <CopyText
          label="Environment variables"
          text={createVariables.opentelemetry(readServerUrl())}
        />
      </Tabs.Panel>
      <Tabs.Panel value="langchain">
        <p>The built-in tracer of LangChain and LangGraph sends its runs to this server:</p>
        <CopyText label="Environment variables" text={createVariables.langchain(readServerUrl())} />
      </Tabs.Panel>
    </Tabs>
  </section>
);
