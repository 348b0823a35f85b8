import { describeFailure } from "../checks.ts";
import type { ReadRows, ReportContent } from "./rows.ts";

/** Renders a report as JSON: the reasons why the command failed, and each evaluation with its result and its rows. */
export async function* renderJson(
  { views, failures }: ReportContent,
  readRows: ReadRows,
): AsyncGenerator<string, void> {
  const texts = failures.map(describeFailure);
  yield `{"passed":${failures.length === 0},"failures":${JSON.stringify(texts)},"evaluations":[`;
  for (const [index, view] of views.entries()) {
    const { file, call, name, url, failure, result } = view;
    const fields = JSON.stringify({ file, call, name, url, failure, result });
    yield `${index === 0 ? "" : ","}\n${fields.slice(0, -1)},"rows":[`;
    let isFirst = true;
    for await (const row of readRows(view)) {
      yield `${isFirst ? "" : ","}\n${JSON.stringify(row)}`;
      isFirst = false;
    }
    yield "]}";
  }
  yield "\n]}\n";
}
