/** Ids of the runs in the body of a request, whether JSON or multipart. */
export interface RunsInBody {
  /** Runs whose start is in the body. */
  readonly started: readonly string[];
  /** Runs whose outputs are in the body. */
  readonly ended: readonly string[];
}

export function runsIn(body: Buffer): RunsInBody {
  const text = body.toString("latin1");
  if (text.startsWith("{")) {
    return runsOf(JSON.parse(body.toString()) as JsonBody);
  }
  return {
    started: idsBy(text, /name="post\.([^."]+)"/g),
    ended: idsBy(text, /name="(?:post|patch)\.([^."]+)\.outputs"/g),
  };
}

interface JsonRun {
  readonly id: string;
  readonly outputs?: unknown;
}

interface JsonBody {
  readonly post?: readonly JsonRun[];
  readonly patch?: readonly JsonRun[];
}

function runsOf({ post = [], patch = [] }: JsonBody): RunsInBody {
  const ended = [...post, ...patch].filter(({ outputs }) => outputs !== undefined);
  return { started: post.map(({ id }) => id), ended: ended.map(({ id }) => id) };
}

const idsBy = (text: string, name: RegExp): readonly string[] =>
  [...text.matchAll(name)].map(([, id = ""]) => id);
