import { AlertEvaluator } from "../alerts/alert-evaluator.ts";
import type { ServerSettings } from "../model/options.ts";
import { OutboundClient } from "../outbound/outbound-client.ts";
import { parseAllowedHost } from "../outbound/target-rules.ts";
import type { JudgeDependencies } from "../rules/judge-action.ts";
import { RuleRunner } from "../rules/rule-runner.ts";
import type { Store } from "../store/store.ts";
import { WebhookSender } from "../webhooks/webhook-sender.ts";

/** What the server does by itself: it applies rules, evaluates alerts and sends webhooks. */
export class Automation {
  /** Calls the addresses of webhooks. */
  readonly outbound: OutboundClient;
  readonly sender: WebhookSender;
  readonly rules: RuleRunner;
  readonly alerts: AlertEvaluator;

  /** Does nothing by itself until {@link Automation.start}. */
  constructor(
    store: Store,
    judging: JudgeDependencies,
    { webhookHosts, publicUrl }: ServerSettings,
  ) {
    this.outbound = new OutboundClient({
      allowedHosts: webhookHosts.map(parseAllowedHost),
      flag: "--webhook-host",
    });
    this.sender = new WebhookSender(store, this.outbound, { serverUrl: publicUrl?.url });
    const onEnqueued = (): void => {
      this.sender.wake();
    };
    this.rules = new RuleRunner({ store: store.forClient("rule"), judging }, onEnqueued);
    this.alerts = new AlertEvaluator(store, onEnqueued);
  }

  start(): void {
    this.sender.start();
    this.rules.start();
    this.alerts.start();
  }

  /** Must be called after another server has changed rules, alerts or webhooks. */
  wake(): void {
    this.sender.wake();
    this.rules.wake();
  }

  /** Cancels what is running. Deliveries that were not sent are sent after the next start. */
  async close(): Promise<void> {
    this.outbound.close();
    await Promise.all([this.sender.close(), this.rules.close(), this.alerts.close()]);
  }
}
