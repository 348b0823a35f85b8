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

/** Options of the question-answering pipeline. */
export interface AskOptions {
  readonly client: Client;
  /** Receives a note of every run, so that a later comparison can prove that none is missing. */
  readonly ledger?: Ledger;
  readonly library: Library;
  readonly model: Model;
  /** The folder that the sections' paths are relative to. */
  readonly root: string;
  /** Time limit for an answer, milliseconds. */
  readonly answerTimeoutMs: number;
}

/** The result of a question, which is returned after its tokens. */
export interface Answer {
  readonly answer: string;
  readonly citations: readonly (Source & { readonly text: string })[];
  /** Number of different words; absent if they could not be counted. */
  readonly words?: number;
}

/** Answers a question. `onToken` is called with each token of the answer as it is generated. */
export type Ask = (question: Question, onToken: (token: string) => void) => Promise<Answer>;

/** A question that is being answered. */
interface AskRequest {
  readonly run: RunTree;
  readonly question: Question;
  readonly onToken: (token: string) => void;
}

type Source = Pick<Section, "path" | "title" | "line">;

/** Maximum number of an answer's sources that are opened and quoted. */
const citationLimit = 2;
const stalledTimeoutMs = 50;

/** Builds the pipeline: search, prompt, answer, tools. Each step is recorded as a child run of the run `ask`. */
export const createAsk = ({
  client,
  ledger,
  library,
  model,
  root,
  answerTimeoutMs,
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
    (inputs: { answer: string; documents: Section[] }) => ({
      citations: parseCitations(inputs.answer).flatMap((number) =>
        toSource(inputs.documents[number - 1]),
      ),
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

  // The run of the model is recorded without `createStep`, because its tokens become events of the run.
  const streamAnswer = async (request: AskRequest, messages: Message[]): Promise<string> => {
    const inputs = { messages };
    const runFields = { name: "answer", runType: "llm", inputs } as const;
    const run = request.run.startChild(runFields);
    const tokens: string[] = [];
    const { stalled = false } = request.question;
    const signal = AbortSignal.timeout(stalled ? stalledTimeoutMs : answerTimeoutMs);
    try {
      for await (const token of (stalled ? stalledModel : model)(messages, signal)) {
        run.addEvent({ name: "new_token", token });
        tokens.push(token);
        request.onToken(token);
      }
      const outputs = { text: tokens.join("") };
      run.end(outputs);
      ledger?.note(run, { ...runFields, outputs, tokens });
      return outputs.text;
    } catch (error) {
      run.fail(error);
      ledger?.note(run, { ...runFields, error, tokens });
      throw error;
    }
  };

  const answerQuestion = async (request: AskRequest): Promise<Answer> => {
    const { question, page, breadth, language } = request.question;
    const { documents } = await search({ question, breadth });
    const { messages } = await assemble({ question, page, documents });
    const text = await streamAnswer(request, messages);
    const { citations } = await parseAnswer({ answer: text, documents });
    const cited = citations.slice(0, citationLimit);
    const quotes = await Promise.all(
      cited.map(async (source) => ({ ...source, ...(await readLines(source)) })),
    );
    // If the word count fails, the answer is returned without it.
    const wordCountResult = await wordCount({ text: `${text}\n${page}`, language }).catch(
      () => ({}),
    );
    return {
      answer: text,
      citations: quotes,
      ...wordCountResult,
    };
  };

  return async (question, onToken) => {
    const runFields = { name: "ask", runType: "chain", inputs: { ...question } } as const;
    const run = client.startRun({ ...runFields, tags: ["example"], metadata: { route: "/ask" } });
    try {
      const outputs = await withRun(run, () => answerQuestion({ run, question, onToken }));
      run.end(outputs);
      ledger?.note(run, { ...runFields, outputs });
      return outputs;
    } catch (error) {
      run.fail(error);
      ledger?.note(run, { ...runFields, error });
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
