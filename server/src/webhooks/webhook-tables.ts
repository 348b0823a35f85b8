/**
 * SQL that creates the tables of webhooks. `sealed` is the secret, encrypted with the key in `token.key`. A delivery's
 * state is 0 while it waits, 1 once it was received and 2 if it failed for good.
 */
export const webhookTables = `
  CREATE TABLE webhooks (
    tenant_id TEXT NOT NULL, id TEXT NOT NULL, name_json TEXT NOT NULL, url TEXT NOT NULL, sealed TEXT NOT NULL,
    is_enabled INTEGER NOT NULL, created_us INTEGER NOT NULL, delivered INTEGER NOT NULL, last_delivered_us INTEGER,
    PRIMARY KEY (tenant_id, id)
  ) WITHOUT ROWID;
  CREATE TABLE webhook_deliveries (
    tenant_id TEXT NOT NULL, id TEXT NOT NULL, webhook_id TEXT NOT NULL, event TEXT NOT NULL, body TEXT NOT NULL,
    state INTEGER NOT NULL, attempts INTEGER NOT NULL, created_us INTEGER NOT NULL, next_us INTEGER,
    last_us INTEGER, last_status INTEGER, last_error TEXT,
    PRIMARY KEY (tenant_id, id)
  );
  CREATE INDEX webhook_deliveries_waiting ON webhook_deliveries (tenant_id, webhook_id, next_us) WHERE state = 0;
  CREATE INDEX webhook_deliveries_latest ON webhook_deliveries (tenant_id, webhook_id, state, created_us);
`;

/**
 * SQL that adds columns for the previous secret, which is encrypted, and for the time until which deliveries are signed
 * with both secrets. Both columns are null if the secret was never changed.
 */
export const previousSecretColumns = `
  ALTER TABLE webhooks ADD COLUMN previous_sealed TEXT;
  ALTER TABLE webhooks ADD COLUMN previous_until_us INTEGER;
`;

/**
 * A row of the table `webhooks`. The columns that end in `_us` are microseconds since the Unix epoch, those that end in
 * `_json` are JSON texts.
 */
export interface WebhookRow {
  readonly tenant_id: string;
  readonly id: string;
  readonly name_json: string;
  readonly url: string;
  readonly sealed: string;
  readonly is_enabled: number;
  readonly created_us: number;
  readonly delivered: number;
  readonly last_delivered_us: number | null;
  readonly previous_sealed: string | null;
  readonly previous_until_us: number | null;
}

/**
 * A row of the table `webhook_deliveries`: a message that is to be sent to a webhook. `_us` means microseconds since
 * the Unix epoch.
 */
export interface DeliveryRow {
  readonly tenant_id: string;
  readonly id: string;
  readonly webhook_id: string;
  readonly event: string;
  readonly body: string;
  readonly state: number;
  readonly attempts: number;
  readonly created_us: number;
  readonly next_us: number | null;
  readonly last_us: number | null;
  readonly last_status: number | null;
  readonly last_error: string | null;
}
