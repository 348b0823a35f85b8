import { CopyText } from "../../components/text/copy-text.tsx";

const install = "npm install millrace";

const program = (endpoint: string): string => `import { Client, traceable } from "millrace";

const client = new Client({ endpoint: "${endpoint}", projectName: "first-steps" });

const greet = traceable(async (name) => ({ greeting: \`Hello, \${name}!\` }), {
  name: "greet",
  client,
});
console.log(await greet("world"));
await client.close();
`;

/** Shown while nothing was recorded: the shortest way to a first trace. */
export const FirstRun = () => (
  <section className="first-run">
    <h1>Nothing recorded yet</h1>
    <p>Record a first run; it shows here as soon as it arrives.</p>
    <CopyText label="Install" text={install} />
    <CopyText label="first.mjs" text={program(location.origin)} />
    <CopyText label="Run" text="node first.mjs" />
  </section>
);
