import { RequestError } from "../model/errors.ts";
import type { ModelEndpoint } from "../model/model-endpoint.ts";
import type { CallPrice, PriceReads } from "../prices/price.ts";
import type { RequestScoped } from "../http/request-scope.ts";
import { callModel } from "./call-model.ts";
import type { CallRate } from "./call-rate.ts";
import { estimateTextTokens, estimateTokens } from "./estimate-tokens.ts";
import type { ModelAnswer, ModelDelta } from "./model-answer.ts";
import type { ModelKeys } from "./model-keys.ts";
import type { ModelRequest } from "./model-request.ts";
import type { ModelTransport } from "./model-transport.ts";
import type { DailySpending, SpendingReads, SpendingWrites } from "./spending-repository.ts";

/** The part of the store that model calls use. */
export interface ModelStore extends RequestScoped<ModelStore> {
  readonly read: { readonly prices: PriceReads; readonly modelSpending: SpendingReads };
  readonly write: { readonly modelSpending: SpendingWrites };
}

/** What {@link ModelCaller} depends on. */
export interface ModelCallerDependencies {
  readonly endpoints: readonly ModelEndpoint[];
  /** Maximum cost of the calls of a tenant in a day, in US dollars; `undefined` without a limit. */
  readonly budget: number | undefined;
  readonly store: Pick<ModelStore, "read" | "write">;
  readonly transport: ModelTransport;
  readonly keys: ModelKeys;
  readonly rate: CallRate;
  /** Returns the current time in milliseconds since the epoch. */
  readonly now?: () => number;
}

export interface TenantCall {
  readonly tenantId: string;
  readonly endpointName: string;
  /** The session whose key is sent, if it has one for the endpoint. */
  readonly session?: string | undefined;
  readonly request: ModelRequest;
  readonly onDelta?: (delta: ModelDelta) => void;
  readonly signal?: AbortSignal;
}

/** The cost of an answer in US dollars, or why it is unknown. */
export type AnswerCost = CallPrice;

/** The answer of a model, and what the call cost. */
export interface PricedAnswer extends ModelAnswer {
  readonly cost: AnswerCost;
}

/** Calls models for tenants, within the limits of the operator. */
export class ModelCaller {
  readonly #dependencies: ModelCallerDependencies;
  readonly #now: () => number;

  constructor(dependencies: ModelCallerDependencies) {
    this.#dependencies = dependencies;
    this.#now = dependencies.now ?? Date.now;
  }

  get endpoints(): readonly ModelEndpoint[] {
    return this.#dependencies.endpoints;
  }

  get budget(): number | undefined {
    return this.#dependencies.budget;
  }

  /**
   * Finds an endpoint by its name.
   *
   * @throws RequestError 404: the operator has configured no endpoint with this name.
   */
  findEndpoint(name: string): ModelEndpoint {
    const endpoint = this.endpoints.find((candidate) => candidate.name === name);
    if (endpoint === undefined) {
      const names = this.endpoints.map((candidate) => candidate.name).join(", ");
      throw new RequestError(
        404,
        names === ""
          ? "this server calls no models: start it with --model-endpoint NAME=URL"
          : `there is no model endpoint ${JSON.stringify(name)}: use one of ${names}`,
      );
    }
    return endpoint;
  }

  async readSpending(tenantId: string): Promise<DailySpending> {
    return this.#dependencies.store.read.modelSpending.read(tenantId, toDay(this.#now()));
  }

  /**
   * Calls a model. Failures of the endpoint are part of the answer and are not thrown.
   *
   * @throws RequestError 404: there is no such endpoint. 429: the limit on calls or on costs is reached. 422: the cost
   * of the call can't be limited, because no price is known.
   */
  async call(call: TenantCall): Promise<PricedAnswer> {
    const { tenantId, endpointName, request, session, onDelta, signal } = call;
    const { keys, rate, transport } = this.#dependencies;
    const endpoint = this.findEndpoint(endpointName);
    const endCall = rate.begin(tenantId);
    try {
      const reservation = await this.#reserve(tenantId, endpoint, request);
      const key =
        session === undefined ? undefined : keys.find({ tenantId, session, endpointName });
      const answer = await callModel({
        endpoint,
        key,
        request,
        tenantId,
        transport,
        ...(onDelta === undefined ? {} : { onDelta }),
        ...(signal === undefined ? {} : { signal }),
      });
      const cost = await this.#settle(tenantId, { endpoint, request, answer, reservation });
      return { ...answer, cost };
    } finally {
      endCall();
    }
  }

  /** Reserves the highest cost that a call may have. Returns this cost, and the day to which it is charged. */
  async #reserve(
    tenantId: string,
    endpoint: ModelEndpoint,
    request: ModelRequest,
  ): Promise<Reservation> {
    const { store, budget } = this.#dependencies;
    const day = toDay(this.#now());
    const estimate = await this.#price(tenantId, endpoint, {
      model: request.model,
      ...estimateTokens(request),
    });
    if ("reason" in estimate && budget !== undefined && !endpoint.allowsPrivateAddress) {
      throw new RequestError(
        422,
        `the cost of this call can't be limited: ${estimate.reason} Set a price with "millrace prices set", or start the server without --model-budget`,
      );
    }
    const dollars = "reason" in estimate ? 0 : estimate.total;
    await store.write.modelSpending.reserve(tenantId, { day, dollars, budget });
    return { day, dollars };
  }

  /** Replaces the reserved cost with that of the answer. Returns the cost of the answer, or why it is unknown. */
  async #settle(
    tenantId: string,
    { endpoint, request, answer, reservation }: EndedCall,
  ): Promise<AnswerCost> {
    const { usage, failure } = answer;
    const cost: AnswerCost =
      usage === undefined
        ? { reason: "The endpoint reported no usage." }
        : await this.#price(tenantId, endpoint, { model: request.model, ...usage });
    let dollars = 0;
    if (!("reason" in cost)) {
      dollars = cost.total;
    } else if (usage === undefined && failure?.status === undefined) {
      // The provider may charge for a call that was canceled or broke off.
      const outputChars = answer.text.length + answer.thinking.length;
      const estimate = await this.#price(tenantId, endpoint, {
        model: request.model,
        inputTokens: estimateTokens(request).inputTokens,
        outputTokens: estimateTextTokens(outputChars),
      });
      dollars = "reason" in estimate ? 0 : estimate.total;
    }
    await this.#dependencies.store.write.modelSpending.settle(
      tenantId,
      reservation.day,
      dollars - reservation.dollars,
    );
    return cost;
  }

  #price(
    tenantId: string,
    endpoint: ModelEndpoint,
    usage: Omit<Parameters<PriceReads["priceCall"]>[1], "provider" | "timeMs">,
  ): Promise<CallPrice> {
    const call = { ...usage, provider: findProvider(endpoint) ?? null, timeMs: this.#now() };
    return this.#dependencies.store.read.prices.priceCall(tenantId, call);
  }
}

/** The cost that was reserved for a call, in US dollars, and the day to which it is charged. */
interface Reservation {
  readonly day: string;
  readonly dollars: number;
}

interface EndedCall {
  readonly endpoint: ModelEndpoint;
  readonly request: ModelRequest;
  readonly answer: ModelAnswer;
  readonly reservation: Reservation;
}

/** The day of a time in UTC. */
const toDay = (timeMs: number): string => new Date(timeMs).toISOString().slice(0, 10);

/**
 * The provider whose prices apply; `undefined` if the model's name determines it. Public prices do not apply to a model
 * on this machine or in a private network, so its price is unknown unless the tenant sets one.
 */
export function findProvider({ url, allowsPrivateAddress }: ModelEndpoint): string | undefined {
  const { hostname } = new URL(url);
  if (allowsPrivateAddress) {
    return localProvider;
  }
  return providersByHost.find(([pattern]) => pattern.test(hostname))?.[1];
}

const localProvider = "local";

const providersByHost: readonly (readonly [host: RegExp, provider: string])[] = [
  [/(?:^|\.)anthropic\.com$/, "anthropic"],
  [/(?:^|\.)openai\.com$/, "openai"],
  [/\.azure\.com$/, "azure"],
  [/(?:^|\.)groq\.com$/, "groq"],
  [/(?:^|\.)mistral\.ai$/, "mistral"],
  [/(?:^|\.)deepseek\.com$/, "deepseek"],
  [/(?:^|\.)x\.ai$/, "xai"],
  [/(?:^|\.)together\.(?:ai|xyz)$/, "together"],
  [/(?:^|\.)fireworks\.ai$/, "fireworks"],
  [/(?:^|\.)openrouter\.ai$/, "openrouter"],
];
