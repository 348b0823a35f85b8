import type { ExchangeFields, RawExchange } from "../../../model/records/exchange.ts";
import { parseJson } from "../parsing/body.ts";
import { DeltaMerger } from "../parsing/deltas.ts";
import { appendItems, isJsonObject, setMember, toObject, toText } from "../parsing/json-object.ts";
import type { JsonObject, MutableJsonObject } from "../parsing/json-object.ts";
import type { ModelKind } from "../parsing/model-metadata.ts";
import { readRequest } from "../parsing/read-request.ts";
import type { RequestFormat } from "../parsing/read-request.ts";
import { readResponse } from "../parsing/read-response.ts";
import type { JoinedStream, ResponseReader, StreamedValue } from "../parsing/read-response.ts";
import { readCount, readUsage } from "../parsing/usage.ts";
import type { UsageMetadata } from "../parsing/usage.ts";
import type { Warnings } from "../parsing/warnings.ts";

/** Reads requests and responses of Anthropic's messages. */
export const readAnthropicMessages = (exchange: RawExchange): ExchangeFields =>
  exchange.part === "request"
    ? readRequest(exchange, requestFormat)
    : readResponse(exchange, responseReader);

const model: ModelKind = { type: "chat", provider: "anthropic" };

const requestFormat: RequestFormat = {
  name: "ChatAnthropic",
  runType: "llm",
  model,
  readSettings: ({ model: name, temperature, max_tokens, stop_sequences }) => ({
    model: name,
    temperature,
    maxTokens: max_tokens,
    stop: stop_sequences,
  }),
};

const responseReader: ResponseReader = {
  model,
  joinEvents: (events, warnings) => new MessageJoiner(warnings).join(events),
  readUsage: readAnthropicUsage,
};

/** Anthropic's input tokens do not include those that were read from a cache or written to it. */
function readAnthropicUsage(response: JsonObject, warnings: Warnings): UsageMetadata | undefined {
  const { usage } = response;
  if (!isJsonObject(usage)) {
    return undefined;
  }
  const count = (owner: unknown, name: string) => readCount([[owner, name]], warnings) ?? 0;
  const input = readCount([[usage, "input_tokens"]], warnings);
  const cacheRead = count(usage, "cache_read_input_tokens");
  const creation = usage["cache_creation"];
  // The total if it is reported, otherwise the sum of the tokens for each lifetime of cache entries.
  const cacheWritten =
    count(usage, "cache_creation_input_tokens") ||
    count(creation, "ephemeral_5m_input_tokens") + count(creation, "ephemeral_1h_input_tokens");
  const counts = {
    input: input === undefined ? undefined : input + cacheRead + cacheWritten,
    cache_read: cacheRead,
    cache_creation: cacheWritten,
  };
  return readUsage(
    {
      input: [[counts, "input"]],
      output: [[usage, "output_tokens"]],
      total: [],
      inputDetails: {
        cache_read: [[counts, "cache_read"]],
        cache_creation: [[counts, "cache_creation"]],
      },
      outputDetails: {},
    },
    warnings,
  );
}

/** A content block that is being assembled from the events of a stream. */
interface OpenBlock {
  readonly block: MutableJsonObject;
  /** The JSON text of a tool's input, as far as it has arrived. */
  input: string;
  isStopped: boolean;
}

/** Members of a delta that are not merged into its block, because the block has them under other names. */
const handledDeltaKeys: ReadonlySet<string> = new Set(["type", "partial_json", "citation"]);

/** Joins the events of a stream into the message that a request without `stream` would have received. */
class MessageJoiner {
  #message: MutableJsonObject | undefined;
  readonly #blocks = new Map<number, OpenBlock>();
  readonly #merger = new DeltaMerger();
  readonly #warnings: Warnings;
  #isFinished = false;

  constructor(warnings: Warnings) {
    this.#warnings = warnings;
  }

  join(events: readonly StreamedValue[]): JoinedStream {
    for (const { value } of events) {
      this.#add(value);
    }
    if (this.#message === undefined && this.#blocks.size === 0) {
      return { response: undefined, isFinished: this.#isFinished };
    }
    const content = [...this.#blocks]
      .toSorted(([left], [right]) => left - right)
      .map(([, openBlock]) => this.#close(openBlock));
    return { response: { ...this.#message, content }, isFinished: this.#isFinished };
  }

  #add(event: JsonObject): void {
    const index = typeof event["index"] === "number" ? event["index"] : 0;
    switch (event["type"]) {
      case "message_start":
        this.#message = { ...toObject(event["message"]) };
        break;
      case "content_block_start":
        this.#blocks.set(index, {
          block: structuredClone(toObject(event["content_block"])),
          input: "",
          isStopped: false,
        });
        break;
      case "content_block_delta":
        this.#addDelta(this.#openBlock(index), toObject(event["delta"]));
        break;
      case "content_block_stop":
        this.#openBlock(index).isStopped = true;
        break;
      case "message_delta":
        this.#addMessageDelta(event);
        break;
      case "message_stop":
        this.#isFinished = true;
        break;
      default:
        // Nothing is read from `ping` and `error` here, nor from unknown types of events.
        break;
    }
  }

  #openBlock(index: number): OpenBlock {
    let openBlock = this.#blocks.get(index);
    if (openBlock === undefined) {
      openBlock = { block: {}, input: "", isStopped: false };
      this.#blocks.set(index, openBlock);
    }
    return openBlock;
  }

  #addDelta(openBlock: OpenBlock, delta: JsonObject): void {
    openBlock.input += toText(delta["partial_json"]) ?? "";
    if (delta["citation"] !== undefined) {
      appendItems(openBlock.block, "citations", [delta["citation"]]);
    }
    const parts = Object.entries(delta).filter(([key]) => !handledDeltaKeys.has(key));
    this.#merger.merge(openBlock.block, Object.fromEntries(parts));
  }

  /** Adds the members of a `message_delta`. Its token counts are totals, so later ones replace earlier ones. */
  #addMessageDelta(event: JsonObject): void {
    const message = (this.#message ??= {});
    for (const [key, value] of Object.entries(event)) {
      if (key === "delta") {
        Object.entries(toObject(value)).forEach(([name, member]) => {
          setMember(message, name, member);
        });
      } else if (key === "usage") {
        const reported = Object.entries(toObject(value)).filter(([, count]) => count !== null);
        message["usage"] = { ...toObject(message["usage"]), ...Object.fromEntries(reported) };
      } else if (key !== "type") {
        setMember(message, key, value);
      }
    }
  }

  #close({ block, input, isStopped }: OpenBlock): JsonObject {
    if (input === "") {
      return block;
    }
    const parsed = parseJson(input);
    if (parsed.fault === undefined) {
      return { ...block, input: parsed.value };
    }
    if (isStopped) {
      const name = toText(block["name"]) ?? "a tool";
      this.#warnings.add(`The input of ${name} is not valid JSON: ${parsed.fault}.`);
    }
    return { ...block, input };
  }
}
