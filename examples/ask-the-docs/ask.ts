import { withRun } from "millrace";
import type { Client, RunTree } from "millrace";
import { stalledModel } from "./answer.ts";
import type { Model } from "./answer.ts";
import type { Ledger } from "./ledger.ts";
import { assemblePrompt } from "./prompt.ts";
import type { Message } from "./prompt.ts";
import type { Question } from "./questions.ts";
import type { Library } from "./search.ts";
import { createStep } from "./step.ts";
import { countWords, parseCitations, readFileLines } from "./tools.ts";
import type { Section } from "./corpus.ts";

/** What the question-answering needs. */
export interface AskOptions {
  readonly client: Client;
  /** Notes every run, where it is to be proved that none is missing. */
  readonly ledger?: Ledger;
  readonly library: Library;
  readonly model: Model;
  /** The folder that the sections' paths are relative to. */
  readonly root: string;
  /** How long an answer may take. */
  readonly patienceMs: number;
}

/** What the caller gets, after the tokens. */
export interface Answer {
  readonly answer: string;
  readonly citations: readonly (Source & { readonly text: string })[];
  /** Absent where the words could not be counted. */
  readonly words?: number;
}

/** Answers a question; `onToken` hears the answer while it is made. */
export type Ask = (question: Question, onToken: (token: string) => void) => Promise<Answer>;

/** One question under way. */
interface Request {
  readonly run: RunTree;
  readonly question: Question;
  readonly onToken: (token: string) => void;
}

type Source = Pick<Section, "path" | "title" | "line">;

/** How many of an answer's sources are opened and quoted. */
const citationLimit = 2;
const stalledPatienceMs = 50;

/** Builds the pipeline: search, prompt, answer, tools, each step a run below the run `ask`. */
export const createAsk = ({
  client,
  ledger,
  library,
  model,
  root,
  patienceMs,
}: AskOptions): Ask => {
  const step = createStep(ledger);

  const search = step(
    "search",
    "retriever",
    ({ question, breadth }: Pick<Question, "question" | "breadth">) => ({
      documents:
        breadth === "files" ? library.findFiles(question) : library.find(question, breadth),
    }),
  );

  const assemble = step(
    "assemble-prompt",
    "prompt",
    (inputs: { question: string; page: string; documents: Section[] }) => ({
      messages: assemblePrompt(inputs.question, inputs.page, inputs.documents),
    }),
  );

  const parseAnswer = step(
    "parse-answer",
    "parser",
    ({ answer, documents }: { answer: string; documents: Section[] }) => ({
      citations: parseCitations(answer).flatMap((number) => toSource(documents[number - 1])),
    }),
  );

  const readLines = step("read-file-lines", "tool", async ({ path, line }: Source) => ({
    text: await readFileLines(root, path, line),
  }));

  const wordCount = step(
    "word-count",
    "tool",
    ({ text, language }: { text: string; language: string }) => ({
      words: countWords(text, language),
    }),
  );

  // The model is called by hand instead: its tokens become events of its run.
  const answer = async (ask: Request, messages: Message[]): Promise<string> => {
    const inputs = { messages };
    const about = { name: "answer", runType: "llm", inputs } as const;
    const run = ask.run.startChild(about);
    const tokens: string[] = [];
    const { stalled = false } = ask.question;
    const signal = AbortSignal.timeout(stalled ? stalledPatienceMs : patienceMs);
    try {
      for await (const token of (stalled ? stalledModel : model)(messages, signal)) {
        run.addEvent({ name: "new_token", token });
        tokens.push(token);
        ask.onToken(token);
      }
      const outputs = { text: tokens.join("") };
      run.end(outputs);
      ledger?.note(run, { ...about, outputs, tokens });
      return outputs.text;
    } catch (error) {
      run.fail(error);
      ledger?.note(run, { ...about, error, tokens });
      throw error;
    }
  };

  const answerQuestion = async (ask: Request): Promise<Answer> => {
    const { question, page, breadth, language } = ask.question;
    const { documents } = await search({ question, breadth });
    const { messages } = await assemble({ question, page, documents });
    const text = await answer(ask, messages);
    const { citations } = await parseAnswer({ answer: text, documents });
    const cited = citations.slice(0, citationLimit);
    const quotes = await Promise.all(
      cited.map(async (source) => ({ ...source, ...(await readLines(source)) })),
    );
    // An answer without its word count is still an answer.
    const counted = await wordCount({ text: `${text}\n${page}`, language }).catch(() => ({}));
    return {
      answer: text,
      citations: quotes,
      ...counted,
    };
  };

  return async (question, onToken) => {
    const about = { name: "ask", runType: "chain", inputs: { ...question } } as const;
    const run = client.startRun({ ...about, tags: ["example"], metadata: { route: "/ask" } });
    try {
      const outputs = await withRun(run, () => answerQuestion({ run, question, onToken }));
      run.end(outputs);
      ledger?.note(run, { ...about, outputs });
      return outputs;
    } catch (error) {
      run.fail(error);
      ledger?.note(run, { ...about, error });
      throw error;
    }
  };
};

const toSource = (section: Section | undefined): Source[] => {
  if (section === undefined) {
    return [];
  }
  const { path, title, line } = section;
  return [{ path, title, line }];
};
