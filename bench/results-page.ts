/** RESULTS.md: a section for each question, and a head that says where each comes from. */

const sectionPattern =
  /<!-- (?<name>[\w-]+): written by the command below -->\n(?<text>[^]*?)<!-- end of \k<name> -->\n/g;

/** The page with a section replaced, or added, and its head made anew. */
export function withSection(page: string, name: string, text: string): string {
  const sections = new Map<string, string>();
  for (const { groups } of page.matchAll(sectionPattern)) {
    sections.set(groups?.["name"] ?? "", groups?.["text"] ?? "");
  }
  sections.set(name, text);
  const written = [...sections].map(
    ([key, body]) =>
      `<!-- ${key}: written by the command below -->\n${body}<!-- end of ${key} -->\n`,
  );
  return [headOf([...sections.values()]), ...written].join("\n");
}

function headOf(texts: readonly string[]): string {
  const origins = texts.map((text) => originOf(text));
  const commits = new Set(origins.map(({ commit }) => commit));
  const machines = new Set(origins.map(({ machine }) => machine));
  const apart = [
    ...(commits.size > 1 ? [`${commits.size} commits`] : []),
    ...(machines.size > 1 ? [`${machines.size} machines`] : []),
  ];
  const warning =
    apart.length === 0 ? "" : ` These sections are of ${apart.join(" and ")}: as each says.`;
  return [
    "# Results\n",
    `Written by the benches themselves (\`npm run bench\`). Compare figures of one table only: they come from one run.${warning}\n`,
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

/** From the lines that `publish` writes: the question, the command, the provenance. */
function originOf(text: string): Origin {
  const {
    question = "",
    machine = "unknown",
    commit = "unknown",
  } = /^## (?<question>.+)\n\n.+\n.*?(?<machine>\d+ cores of [^;,]+).*; commit (?<commit>.+)$/m.exec(
    text,
  )?.groups ?? {};
  return { question, machine, commit };
}
