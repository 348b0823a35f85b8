import type { Answer } from "../connection/answer.ts";
import { judgeAnswer } from "./answer.ts";
import type { Batch, JudgedBatch, Outcome } from "./sink.ts";

/** Longest reason that is repeated, in UTF-16 units. */
const reasonExcerpt = 500;

/**
 * What an answer means for each run of a batch. Our server takes the good runs of a batch and lists
 * the bad ones in its answer; one that has no good runs is a 422 with the same list.
 */
export function judgeBatch(batch: Batch, action: string, answer: Answer): Outcome {
  const outcome = judgeAnswer(action, answer, Date.now());
  const refused =
    outcome.kind === "delivered" || answer.status === 422 ? refusedRuns(answer.body) : none;
  if (refused.size === 0) {
    return outcome;
  }
  const bad = batch.runs.filter(({ id }) => refused.has(id));
  const good = batch.runs.filter(({ id }) => !refused.has(id));
  if (bad.length === 0 || (outcome.kind !== "delivered" && good.length > 0)) {
    return outcome;
  }
  const parts = bad.map((run): JudgedBatch => {
    const message = `Failed to ${action}: ${refused.get(run.id) ?? ""}`;
    const rejection = { code: "HTTP" as const, status: 422, message };
    return { batch: batch.part([run]), outcome: { kind: "rejected", rejection } };
  });
  return {
    kind: "mixed",
    parts: good.length === 0 ? parts : [{ batch: batch.part(good), outcome }, ...parts],
  };
}

const none: ReadonlyMap<string, string> = new Map();

/** The ids and reasons of `{"rejected":[{"id","reason"}]}`; of any other answer none. */
function refusedRuns(body: string): ReadonlyMap<string, string> {
  if (!body.includes('"rejected"')) {
    return none;
  }
  const answer = parseJson(body);
  const list: unknown =
    typeof answer === "object" && answer !== null && "rejected" in answer ? answer.rejected : [];
  const refused = new Map<string, string>();
  for (const item of Array.isArray(list) ? (list as readonly unknown[]) : []) {
    if (typeof item === "object" && item !== null && "id" in item && "reason" in item) {
      refused.set(String(item.id), String(item.reason).slice(0, reasonExcerpt));
    }
  }
  return refused;
}

/** What a text of JSON holds; `undefined` where it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // An answer that says yes and is no JSON is a yes (a proxy's page, an empty body).
    return undefined;
  }
}
