/** The page RESULTS.md: a section for each question, and a head with the origin of each section. */

const sectionPattern =
  /<!-- (?<name>[\w-]+): written by the command below -->\n(?<text>[^]*?)<!-- end of \k<name> -->\n/g;

/** Returns the page with a section replaced or added, and with an updated head. */
export function replaceSection(page: string, name: string, text: string): string {
  const sections = new Map<string, string>();
  for (const { groups } of page.matchAll(sectionPattern)) {
    sections.set(groups?.["name"] ?? "", groups?.["text"] ?? "");
  }
  sections.set(name, text);
  const sectionTexts = [...sections].map(
    ([key, body]) =>
      `<!-- ${key}: written by the command below -->\n${body}<!-- end of ${key} -->\n`,
  );
  return [createHead([...sections.values()]), ...sectionTexts].join("\n");
}

function createHead(texts: readonly string[]): string {
  const origins = texts.map((text) => parseOrigin(text));
  const commits = new Set(origins.map(({ commit }) => commit));
  const machines = new Set(origins.map(({ machine }) => machine));
  const differences = [
    ...(commits.size > 1 ? [`${commits.size} commits`] : []),
    ...(machines.size > 1 ? [`${machines.size} machines`] : []),
  ];
  const warning =
    differences.length === 0
      ? ""
      : ` These sections come from ${differences.join(" and ")}; each states its origin.`;
  return [
    "# Results\n",
    `The benches write this page (\`npm run bench\`). Compare only figures of the same table, which come from one run.${warning}\n`,
    "| Question | Machine | Commit |\n| --- | --- | --- |",
    ...origins.map(({ question, machine, commit }) => `| ${question} | ${machine} | ${commit} |`),
    "",
  ].join("\n");
}

interface Origin {
  readonly question: string;
  readonly machine: string;
  readonly commit: string;
}

/** Parses the lines that `publish` writes: question, command, machine and commit. */
function parseOrigin(text: string): Origin {
  const {
    question = "",
    machine = "unknown",
    commit = "unknown",
  } = /^## (?<question>.+)\n\n.+\n.*?(?<machine>\d+ cores of [^;,]+).*; commit (?<commit>.+)$/m.exec(
    text,
  )?.groups ?? {};
  return { question, machine, commit };
}
