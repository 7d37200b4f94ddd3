-- Up Migration

-- The row that retrieve reads. Only the activities of the job's workflow write it, its state only moves forward, and
-- it outlives the workflow's own history. The order of the states is in domain/jobs.ts.
create table jobs (
  queue_id uuid primary key,
  account_id uuid not null references accounts (id),
  key_id uuid,
  kind text not null,
  model_id text not null,
  provider text not null,
  state text not null check (state in
    ('accepted', 'submitted', 'stored', 'deleted', 'expired', 'failed', 'timed_out', 'cancelled')),
  request_id text not null,
  duration_seconds integer not null check (duration_seconds > 0),
  -- What the job costs when paid in USD; what was really taken, per currency, is in the ledger under the operation.
  price_usd_nano bigint not null check (price_usd_nano >= 0),
  charge_operation_id uuid not null,
  charge_id text not null,
  refund_id text,
  -- Write-ahead of the call to the provider: 'sent' without an answer means that the provider may have accepted.
  submission text not null default 'none' check (submission in ('none', 'sent', 'not_accepted', 'acknowledged')),
  operation jsonb,
  output_key text,
  output_content_type text,
  output_bytes bigint,
  output_sha256 text,
  output_seconds double precision,
  failure_code text,
  failure_message text,
  -- Whole milliseconds, so that a listing's cursor names the row exactly.
  created_at timestamptz not null default date_trunc('milliseconds', clock_timestamp()),
  deadline_at timestamptz not null,
  stored_at timestamptz,
  ended_at timestamptz,
  check (state not in ('stored', 'deleted', 'expired') or output_key is not null),
  check (state not in ('failed', 'timed_out', 'cancelled') or refund_id is not null)
);

create index jobs_of_account on jobs (account_id, created_at desc, queue_id desc);
create index jobs_stored_of_model on jobs (model_id, stored_at desc) where stored_at is not null;
create index jobs_running on jobs (deadline_at) where state in ('accepted', 'submitted');

-- What happened to a job and when; each thing happens once, so repeating a step adds nothing.
create table job_events (
  queue_id uuid not null references jobs (queue_id) on delete cascade,
  event text not null,
  at timestamptz not null default clock_timestamp(),
  ledger_id text,
  detail text,
  primary key (queue_id, event)
);

-- Idempotency-Key of the queue routes: unique per account and key, the body compared by its digest.
create table idempotency_keys (
  account_id uuid not null references accounts (id),
  key text not null,
  route text not null,
  body_sha256 bytea not null,
  queue_id uuid not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (account_id, key)
);
create index idempotency_keys_by_age on idempotency_keys (created_at);

grant select, insert, update on jobs to farebox_app;
grant select, insert on job_events to farebox_app;
grant select, insert, update, delete on idempotency_keys to farebox_app;

-- Down Migration

drop table idempotency_keys;
drop table job_events;
drop table jobs;
