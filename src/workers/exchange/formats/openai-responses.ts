import type { ExchangeFields, RawExchange } from "../../../model/records/exchange.ts";
import { describeBase64, replaceTexts } from "../parsing/binary-text.ts";
import { hideCredentials } from "../parsing/credentials.ts";
import { appendItems, isJsonObject, toList, toObject, toText } from "../parsing/json-object.ts";
import type { JsonObject, MutableJsonObject } from "../parsing/json-object.ts";
import { describeError } from "../parsing/provider-error.ts";
import type { ModelKind } from "../parsing/model-metadata.ts";
import { readRequest } from "../parsing/read-request.ts";
import type { RequestFormat } from "../parsing/read-request.ts";
import { readResponse } from "../parsing/read-response.ts";
import type { JoinedStream, ResponseReader, StreamedValue } from "../parsing/read-response.ts";
import { readOpenAiUsage } from "../parsing/usage.ts";

/** Reads requests and responses of OpenAI's responses API. */
export const readOpenAiResponses = (exchange: RawExchange): ExchangeFields =>
  exchange.part === "request"
    ? readRequest(exchange, requestFormat)
    : readResponse(exchange, responseReader);

const model: ModelKind = { type: "chat", provider: "openai" };

const requestFormat: RequestFormat = {
  name: "ChatOpenAI",
  runType: "llm",
  model,
  readSettings: ({ model: name, temperature, max_output_tokens }) => ({
    model: name,
    temperature,
    maxTokens: max_output_tokens,
  }),
  compact: replaceFiles,
};

const responseReader: ResponseReader = {
  model,
  joinEvents: (events) => new ResponseJoiner().join(events),
  readUsage: readOpenAiUsage,
  compact: (response) => hideCredentials(replaceFiles(response)),
  findError: (response) =>
    response["status"] === "failed"
      ? (describeError(response["error"]) ?? "The response has the status failed")
      : undefined,
};

/** Replaces the data of files in a request, and of images that the model created in a response, by type and size. */
function replaceFiles(body: JsonObject): JsonObject {
  return toObject(
    replaceTexts(body, (text, key, owner) => {
      if (key === "file_data") {
        return describeBase64(text.slice(text.indexOf(",") + 1), "file");
      }
      return key === "result" && owner["type"] === "image_generation_call"
        ? describeBase64(text, "image")
        : undefined;
    }),
  );
}

/** Events that end a stream. Each has the whole response. */
const finalEvents: ReadonlySet<string> = new Set([
  "response.completed",
  "response.failed",
  "response.incomplete",
]);

/** Where the text of a delta is appended: to a member of an item, or of a part in one of the item's lists. */
interface DeltaTarget {
  readonly member: string;
  /**
   * The name of the list in the item, and the member of the event that contains the index in this list. Absent if the
   * text belongs to the item itself.
   */
  readonly list?: readonly [name: string, indexName: string];
}

/** The types of events that contain a piece of a text, without their suffix `.delta`. */
const deltaTargets: Readonly<Record<string, DeltaTarget>> = {
  "response.output_text": { member: "text", list: ["content", "content_index"] },
  "response.refusal": { member: "refusal", list: ["content", "content_index"] },
  "response.reasoning_text": { member: "text", list: ["content", "content_index"] },
  "response.reasoning_summary_text": { member: "text", list: ["summary", "summary_index"] },
  "response.function_call_arguments": { member: "arguments" },
  "response.mcp_call_arguments": { member: "arguments" },
  "response.custom_tool_call_input": { member: "input" },
  "response.code_interpreter_call_code": { member: "code" },
};

/**
 * Joins the events of a stream. The last event has the whole response. If it is missing, the response is built from its
 * items, and an unfinished item is built from its pieces.
 */
class ResponseJoiner {
  #response: JsonObject | undefined;
  readonly #items = new Map<number, MutableJsonObject>();
  #isFinished = false;

  join(events: readonly StreamedValue[]): JoinedStream {
    for (const { value } of events) {
      this.#add(value);
    }
    const items = [...this.#items].toSorted(([left], [right]) => left - right);
    if (this.#response === undefined && items.length === 0) {
      return { response: undefined, isFinished: this.#isFinished };
    }
    const response = this.#response ?? {};
    const output = toList(response["output"]);
    return {
      response:
        output.length === 0 && items.length > 0
          ? { ...response, output: items.map(([, item]) => item) }
          : response,
      isFinished: this.#isFinished,
    };
  }

  #add(event: JsonObject): void {
    const type = toText(event["type"]) ?? "";
    if (isJsonObject(event["response"])) {
      this.#response = event["response"];
      this.#isFinished ||= finalEvents.has(type);
      return;
    }
    const { output_index: index, item, part } = event;
    const position = typeof index === "number" ? index : 0;
    if (type.startsWith("response.output_item.") && isJsonObject(item)) {
      this.#items.set(position, structuredClone(item));
    } else if (type.endsWith("_part.added") && isJsonObject(part)) {
      const [list, listIndex] = type.includes("summary")
        ? this.#openList(position, "summary", event["summary_index"])
        : this.#openList(position, "content", event["content_index"]);
      list[listIndex] = { ...part };
    } else if (type === "response.output_text.annotation.added") {
      const target = this.#openPart(position, "content", event["content_index"]);
      appendItems(target, "annotations", [event["annotation"]]);
    } else if (type.endsWith(".delta")) {
      this.#addDelta(position, type.slice(0, -".delta".length), event);
    }
  }

  #addDelta(position: number, type: string, event: JsonObject): void {
    const textTarget = Object.hasOwn(deltaTargets, type) ? deltaTargets[type] : undefined;
    const { delta } = event;
    if (textTarget === undefined || typeof delta !== "string") {
      return;
    }
    const target =
      textTarget.list === undefined
        ? this.#openItem(position)
        : this.#openPart(position, textTarget.list[0], event[textTarget.list[1]]);
    target[textTarget.member] = `${toText(target[textTarget.member]) ?? ""}${delta}`;
    const logprobs = toList(event["logprobs"]);
    if (logprobs.length > 0) {
      appendItems(target, "logprobs", logprobs);
    }
  }

  #openItem(position: number): MutableJsonObject {
    let item = this.#items.get(position);
    if (item === undefined) {
      item = {};
      this.#items.set(position, item);
    }
    return item;
  }

  #openList(position: number, name: string, index: unknown): [list: unknown[], listIndex: number] {
    const item = this.#openItem(position);
    const list: unknown[] = Array.isArray(item[name]) ? item[name] : [];
    item[name] = list;
    // The index is limited to the end of the list: an assignment far beyond the end would make the list that long.
    const listIndex =
      typeof index === "number" && Number.isSafeInteger(index) && index >= 0
        ? Math.min(index, list.length)
        : 0;
    return [list, listIndex];
  }

  #openPart(position: number, name: string, index: unknown): MutableJsonObject {
    const [list, listIndex] = this.#openList(position, name, index);
    const existingPart = list[listIndex];
    if (isJsonObject(existingPart)) {
      return existingPart;
    }
    const part: MutableJsonObject = {};
    list[listIndex] = part;
    return part;
  }
}
