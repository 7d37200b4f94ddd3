-- Tables, indexes, views, triggers, partitions and grants. The functions are in ../functions, one in each file.
--
-- Amounts are bigint nano units (1e-9). Days are UTC days of the database clock.
--
-- Locking: the row of an account is the mutex of everything that the account owns (balances, diem days, usage of keys,
-- holds, operations). A statement that moves money first locks the accounts that it needs, in the order of their ids,
-- and reads the rest afterwards with a fresh snapshot. One order everywhere, so no deadlock can form.

-- Roles belong to the whole cluster, and several databases may be migrated at once: a lost race is a success.
do $$
begin
  for attempt in 1..5 loop
    begin
      if not exists (select from pg_roles where rolname = 'farebox_app') then
        create role farebox_app nologin;
      end if;
      if not (select rolsuper from pg_roles where rolname = current_user) then
        execute format('grant farebox_app to %I', current_user);
      end if;
      exit;
    exception
      -- Another owner made the role, and decides who may take it.
      when insufficient_privilege then exit;
      when duplicate_object or unique_violation or internal_error then
      perform pg_sleep(0.05 * attempt);
    end;
  end loop;
end $$;

-- Declarations of the functions that tables, views and triggers name. The files of ../functions replace them in the
-- same transaction.
create function ledger_now() returns timestamptz language sql volatile as 'select clock_timestamp()';
create function usage_digits(text) returns text language sql immutable parallel safe as 'select null::text';
create function is_sound_operation(text, text, text, bigint, bigint, bigint, bigint, bigint, bigint) returns boolean
language sql immutable parallel safe as 'select false';
do $$
declare
  named text;
begin
  foreach named in array array[
    'refuse_change', 'refuse_second_end', 'refuse_seal_change', 'refuse_audit_change', 'describe_refund',
    'note_limit_change', 'notify_key_change', 'notify_account_change', 'check_key_parent', 'keep_final_top_ups',
    'note_job_state', 'note_job_progress', 'lock_job_of_event', 'note_job_event'
  ] loop
    execute format('create function %I() returns trigger language plpgsql as %L', named,
      'begin raise exception ''this function is only declared''; end');
  end loop;
end $$;

-- How a price splits over currencies (ledger_split).
create type ledger_parts as (diem bigint, bundled bigint, usd bigint, due bigint);

--
-- Accounts and keys
--

create table accounts (
  id uuid primary key default gen_random_uuid(),
  name text not null check (length(name) between 1 and 200),
  status text not null default 'active' check (status in ('active', 'suspended')),
  diem_daily_allocation bigint not null default 0 check (diem_daily_allocation >= 0),
  usd_posted bigint not null default 0,
  usd_held bigint not null default 0 check (usd_held between 0 and usd_posted),
  bundled_posted bigint not null default 0,
  bundled_held bigint not null default 0 check (bundled_held between 0 and bundled_posted),
  vcu_posted bigint not null default 0 check (vcu_posted >= 0),
  created_at timestamptz not null default ledger_now(),
  -- Time at which the personal data was removed. The account stays suspended for ever, and its books stay.
  erased_at timestamptz,
  check (erased_at is null or status = 'suspended')
) with (fillfactor = 50);

-- Diem of one UTC day, made on first use with the day's allocation. The rest of yesterday is not in today's row.
create table diem_days (
  account_id uuid not null references accounts,
  day date not null,
  -- Amount that the day started with. A later change of the account's allocation starts with the next day.
  allocation bigint not null check (allocation >= 0),
  posted bigint not null,
  held bigint not null default 0 check (held between 0 and posted),
  primary key (account_id, day)
) with (fillfactor = 80);

-- A key may be the child of another key of its account. Its spending counts towards its own limits and towards its
-- parent's, and it may do no more than both allow at the moment of the call. A child has no children, so that every
-- call counts against two keys at most, and its operation can name them both.
create table api_keys (
  id uuid primary key default gen_random_uuid(),
  account_id uuid not null references accounts,
  secret_hash bytea not null unique check (length(secret_hash) = 32),
  key_type text not null check (key_type in ('ADMIN', 'INFERENCE')),
  description text not null default '' check (length(description) <= 64),
  last6 text not null check (length(last6) = 6),
  limit_usd bigint check (limit_usd >= 0),
  limit_diem bigint check (limit_diem >= 0),
  limit_vcu bigint check (limit_vcu >= 0),
  limit_period text not null default 'EPOCH' check (limit_period in ('EPOCH', 'MONTH', 'LIFETIME')),
  -- Time of the last change of the limits. The ledger check holds earlier admissions to key_limit_changes.
  limits_changed_at timestamptz not null default ledger_now(),
  model_privacy text not null default 'ALL' check (model_privacy in ('ALL', 'PRIVATE_TEXT', 'PRIVATE_ONLY')),
  created_at timestamptz not null default ledger_now(),
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz,
  -- Ids of the models that the key may call; null: all that its privacy setting allows.
  models text[] check (cardinality(models) between 1 and 100),
  -- Key that made this key; null: the operator. Creations are limited by a count of these rows.
  created_by uuid references api_keys,
  -- The public API takes limits up to 9,999,999,999 units, more than a bigint of nano units can say. Such a limit is
  -- here as it was given, and limit_… has the highest bigint, which no key can spend.
  stated_usd numeric check (stated_usd > 0),
  stated_diem numeric check (stated_diem > 0),
  stated_vcu numeric check (stated_vcu > 0),
  parent_id uuid,
  check (parent_id is null or (key_type = 'INFERENCE' and parent_id <> id)),
  unique (id, account_id),
  -- The parent is of the same account, whose row is the lock under which both are counted.
  foreign key (parent_id, account_id) references api_keys (id, account_id)
) with (fillfactor = 80);
create index api_keys_account on api_keys (account_id, created_at);
-- Active keys of an account are listed and counted. The revoked keys only grow in number.
create index api_keys_active on api_keys (account_id, created_at desc, id) where revoked_at is null;
create index api_keys_parent on api_keys (parent_id) where parent_id is not null;

-- Spent and held amounts of a key by UTC day; usd counts bundled credit too. A month or a lifetime is the sum of its
-- days, so a changed limit or period needs no recount, and a refund to a past day counts where the charge did.
create table key_days (
  key_id uuid not null references api_keys,
  day date not null,
  usd_used bigint not null default 0 check (usd_used >= 0),
  usd_held bigint not null default 0 check (usd_held >= 0),
  diem_used bigint not null default 0 check (diem_used >= 0),
  diem_held bigint not null default 0 check (diem_held >= 0),
  primary key (key_id, day)
) with (fillfactor = 70);

-- Limits of a key before each change, so that earlier admissions can still be checked.
create table key_limit_changes (
  key_id uuid not null references api_keys,
  since timestamptz not null,
  until timestamptz not null,
  limit_usd bigint,
  limit_diem bigint,
  limit_period text not null
);
create index key_limit_changes_by_time on key_limit_changes (until);

-- Secrets that a rotation replaced. A replaced secret is known for an hour, and is refused within it.
create table replaced_secrets (
  secret_hash bytea primary key check (length(secret_hash) = 32),
  key_id uuid not null references api_keys,
  works_until timestamptz not null
);
create index replaced_secrets_key on replaced_secrets (key_id);

-- Acts on keys, accounts and credit, each written in the transaction of the act. Acts of one account are written under
-- the lock of its row, so the order of the ids is the order in which they took effect.
create table audit_events (
  id bigint not null generated always as identity,
  created_at timestamptz not null default ledger_now(),
  account_id uuid not null,
  -- Id of an API key, or `operator`.
  actor text not null check (length(actor) between 1 and 100),
  action text not null check (action ~ '^[a-z_]{1,40}\.[a-z_]{1,40}$'),
  target_id text not null check (length(target_id) between 1 and 200),
  -- Null for acts without an HTTP request.
  request_id text,
  changes jsonb not null,
  primary key (created_at, id)
) partition by range (created_at);
create index audit_events_account on audit_events (account_id, id desc);
create index audit_events_of_credit on audit_events (target_id) where action in ('credit.grant', 'credit.adjust');

--
-- The ledger
--

-- The identity of everything that moves money, and its outcome: a repeated call gets the first answer. `(operation_id,
-- kind)` is unique over all time, because the id decides the partition. Four partitions by hash: each has indexes of
-- its own, which are a quarter as large and are cleaned apart.
create table operations (
  operation_id text collate "C" not null,
  kind text collate "C" not null,
  account_id uuid not null,
  state text not null,
  -- UTC day of a charge, fixed when it is admitted: the day of its key's period and of its diem.
  day date,
  key_id uuid,
  -- Requested price of a charge, until a settlement has the final one.
  price_usd bigint,
  price_diem bigint,
  -- Amounts that a hold reserved; null for a charge without a hold.
  held_diem bigint,
  held_bundled bigint,
  held_usd bigint,
  -- Amounts that were finally moved; null while held.
  diem bigint,
  bundled bigint,
  usd bigint,
  -- Refund that undid this charge, or charge that this refund undoes.
  counterpart text,
  created_at timestamptz not null,
  -- Parent of the key when the charge was admitted: it is settled and given back without another look.
  parent_key_id uuid,
  primary key (operation_id, kind),
  constraint operations_check check (is_sound_operation(
    operation_id, kind, state, held_diem, held_bundled, held_usd, diem, bundled, usd))
) partition by hash (operation_id);
-- A partitioned table has no fill factor to pass on. Outcomes are written beside their holds.
create table operations_0 partition of operations for values with (modulus 4, remainder 0) with (fillfactor = 70);
create table operations_1 partition of operations for values with (modulus 4, remainder 1) with (fillfactor = 70);
create table operations_2 partition of operations for values with (modulus 4, remainder 2) with (fillfactor = 70);
create table operations_3 partition of operations for values with (modulus 4, remainder 3) with (fillfactor = 70);
-- The ledger check reads by time. Rows come in the order of time, so a summary of each block is enough, and costs a
-- write nothing.
create index operations_by_time on operations using brin (created_at) with (pages_per_range = 16, autosummarize = on);

-- Open holds only. A resolved hold leaves; its outcome stays in operations, and its snapshot goes to the transfers.
create table holds (
  operation_id text collate "C" primary key,
  account_id uuid not null,
  expires_at timestamptz not null,
  snapshot jsonb not null
  -- Rows live for seconds: the table is cleaned by the number of dead rows, however large it once was.
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
create index holds_expiry on holds (expires_at);

-- Double entry in one row: `amount` is added to the account and taken from the house account, so entries cannot fail to
-- sum to zero. House accounts have no stored balance, because that row would serialise everything. Ids are taken under
-- the lock of the account, so within an account their order is the order of commit.
--
-- Partitions by month. There is no default partition, which would keep the planner from reading pages in the order of
-- an index: `transfers_earlier` has no beginning and `transfers_later` no end.
create table transfers (
  id bigint not null generated always as identity,
  created_at timestamptz not null,
  operation_id text collate "C" not null,
  kind text not null check (kind in ('charge', 'refund', 'top_up', 'grant', 'adjustment')),
  account_id uuid not null,
  house text not null check (house in ('revenue', 'payments', 'issuance', 'adjustments')),
  currency text not null check (currency in ('diem', 'bundled', 'usd', 'vcu')),
  amount bigint not null check (amount <> 0),
  -- UTC day of the diem row and of the usage of the key. A refund has the day of its charge.
  day date not null,
  key_id uuid,
  details jsonb not null,
  -- Snapshot of the charge that a refund gives back (describe_refund).
  sold jsonb,
  primary key (account_id, created_at, id),
  check (kind <> 'charge' or (amount < 0 and house = 'revenue')),
  check (kind <> 'refund' or (amount > 0 and house = 'revenue')),
  check (kind <> 'top_up' or (amount > 0 and house = 'payments')),
  check (kind <> 'grant' or (amount > 0 and house = 'issuance')),
  check (sold is null or kind = 'refund')
) partition by range (created_at);
-- Pages of one currency; pages by time come from the primary key.
create index transfers_usage on transfers (account_id, currency, created_at, id) where kind in ('charge', 'refund');
create index transfers_by_time on transfers using brin (created_at) with (pages_per_range = 16, autosummarize = on);
-- The refunds of one request are shown as one to a wallet, and found without reading all refunds.
create index transfers_refunds_by_request on transfers (account_id, (coalesce(sold, details) ->> 'requestId'))
  where kind = 'refund';

create view entries as
  select id as transfer_id, operation_id, kind, 'account'::text as side, account_id, house, currency, day, amount,
    created_at
  from transfers
  union all
  select id, operation_id, kind, 'house', account_id, house, currency, day, -amount, created_at from transfers;

-- Usage entry of a ledger row (ACCOUNT-11). `amount_nano` is the billed amount: above zero for a charge, below for
-- a refund. A charge that was paid from several currencies has an entry for each; all name the units of the whole.
create view usage_entries as
select account_id, created_at, id, operation_id, kind, currency, key_id,
  to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "timestamp",
  coalesce(what ->> 'sku', kind) as sku,
  what ->> 'modelId' as model_id,
  what ->> 'unit' as unit_name,
  case when what ->> 'units' ~ '^-?\d{1,18}(\.\d{1,18})?$' then what ->> 'units' else '0' end as units,
  coalesce(usage_digits(what ->> 'pricePerUnitUsd'), '0')::bigint as price_nano,
  -amount as amount_nano,
  case kind when 'refund' then concat('Refund: ', details ->> 'reason')
    else coalesce(details ->> 'notes', 'API Inference') end as notes,
  what ->> 'requestId' as request_id,
  usage_digits(what ->> 'inferenceExecutionTime') as execution_ms,
  usage_digits(what ->> 'promptTokens') as prompt_tokens,
  usage_digits(what ->> 'completionTokens') as completion_tokens
from transfers cross join lateral (select coalesce(sold, details) as what) as s
where kind in ('charge', 'refund');

-- Refunds of an account on a UTC day although a provider had been asked and could not be stopped, in nano USD by list
-- price, in whatever currency the charge was paid. Written under the account's lock, in the transaction of the refund.
create table refunded_days (
  account_id uuid not null,
  day date not null,
  usd bigint not null check (usd >= 0),
  primary key (account_id, day)
);

-- Days of the books that were checked and cannot change any more. The ledger check writes a row when a day is over, and
-- from then on reads only later days. A full check compares the rows with their seal. A transfer belongs to the day of
-- its `created_at`, which never changes: a later refund is an entry of its own day, to whatever day it is booked.
create table sealed_days (
  day date primary key,
  transfers bigint not null check (transfers >= 0),
  operations bigint not null check (operations >= 0),
  -- Amounts that the day moved, by currency and kind, in nano units as decimal strings.
  sums jsonb not null,
  -- SHA-256 over the day's rows of sealed_sums in their order.
  sums_digest bytea not null check (length(sums_digest) = 32),
  sealed_at timestamptz not null default clock_timestamp(),
  jobs bigint not null check (jobs >= 0),
  -- Digest over this seal and the one before it (seal_chain).
  chain bytea not null check (length(chain) = 32),
  -- Hashes of rows that never change any more (infra/postgres/checkSlice.ts).
  transfers_hash numeric not null,
  operations_hash numeric not null,
  jobs_hash numeric not null
);

-- Sums of the transfers of a sealed day by account, key, currency and the day to which they are booked.
create table sealed_sums (
  day date not null references sealed_days,
  account_id uuid not null,
  key_id uuid,
  currency text not null,
  booked_day date not null,
  amount numeric not null
);
create index sealed_sums_account on sealed_sums (account_id, booked_day);
create index sealed_sums_day on sealed_sums using brin (day) with (pages_per_range = 16);

-- Balance of an account at the end of a sealed day on which anything of it moved.
create table sealed_balances (
  account_id uuid not null,
  day date not null references sealed_days,
  usd numeric not null,
  bundled numeric not null,
  vcu numeric not null,
  primary key (account_id, day)
);
create index sealed_balances_day on sealed_balances using brin (day) with (pages_per_range = 16);

-- Key by which the cursors of listings are signed, one for all processes. 366 random bits, hashed.
create table signing_key (
  one boolean primary key default true check (one),
  key bytea not null check (length(key) = 32)
);
insert into signing_key (key) values (
  sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
);

--
-- Jobs
--

-- The row that retrieve reads. Only the activities of the job's workflow write it, its state only moves forward, and it
-- outlives the history of the workflow. The order of the states is in domain/jobs.ts.
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
  -- Null for jobs without a length: speech is charged by its characters.
  duration_seconds integer check (duration_seconds > 0),
  -- Price when paid in USD. The amounts that were taken, by currency, are in the ledger under the operation.
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
  -- End of the retention of stored media: for the upkeep, should the job's workflow be gone by then.
  media_expires_at timestamptz,
  -- Progress at the provider in percent; null when it tells none.
  progress smallint check (progress between 0 and 100),
  -- Prompt that the provider proposed instead of the one that it refused (JOB-7).
  suggested_prompt text,
  -- Time of the last handover to the provider. The time for which places are kept is estimated from it.
  submitted_at timestamptz,
  -- SHA-256 of the provider's calls that woke the job: each once, and only a few of them.
  callbacks bytea[] not null default '{}',
  -- A response told the client, by this row alone, that the job stands: its workflow may not withdraw it any more.
  acceptance_sent boolean not null default false,
  check (state not in ('stored', 'deleted', 'expired') or output_key is not null),
  check (state not in ('failed', 'timed_out', 'cancelled') or refund_id is not null)
);
create index jobs_of_account on jobs (account_id, created_at desc, queue_id desc);
create index jobs_stored_of_model on jobs (model_id, stored_at desc) where stored_at is not null;
create index jobs_running on jobs (deadline_at) where state in ('accepted', 'submitted');
create index jobs_media_expiry on jobs (media_expires_at) where state = 'stored';
create index jobs_by_time on jobs (created_at);
-- Lists by filters: every combination is read from a few places of one of these, never by walking an account's jobs.
-- The key is read from the index as well, without a look at the row.
create index jobs_by_kind_and_state on jobs (account_id, kind, state, created_at desc, queue_id desc) include (key_id);
create index jobs_by_model on jobs (account_id, model_id, kind, state, created_at desc, queue_id desc) include (key_id);
-- Most keys list their own jobs and those of their children, newest first.
create index jobs_of_key on jobs (key_id, created_at desc, queue_id desc);
-- A job has a place at its provider from the moment before it is handed over until its row leaves 'submitted', or until
-- the provider is known not to have taken it. Nothing else is counted, so a dead worker leaves no place behind.
create index jobs_at_work on jobs (provider, account_id) include (submitted_at, created_at)
  where state = 'submitted' and submission <> 'not_accepted';
-- All other jobs that still have to be handed over wait in line.
create index jobs_in_line on jobs (provider, account_id, created_at)
  where state = 'accepted' or (state = 'submitted' and submission = 'not_accepted');

-- Timeline of a job. Each event happens once, so repeating a step adds nothing.
create table job_events (
  queue_id uuid not null references jobs (queue_id) on delete cascade,
  event text not null,
  at timestamptz not null default clock_timestamp(),
  ledger_id text,
  detail text,
  primary key (queue_id, event)
) partition by range (queue_id);

-- Everything that happened to a job and that its owner may see, numbered 1, 2, 3 … in the order of the commits: a
-- reader who has read up to a number has lost nothing below it. Only triggers write it. A job has at most about 120
-- rows: a state and an event of the timeline come once, and progress is a whole percent that only grows.
create table job_changes (
  queue_id uuid not null references jobs (queue_id) on delete cascade,
  seq integer not null check (seq > 0),
  kind text not null check (kind in ('state', 'progress', 'timeline')),
  -- The state, the percent, or the name of the event in job_events.
  value text not null,
  at timestamptz not null default clock_timestamp(),
  primary key (queue_id, seq)
) partition by range (queue_id);

-- Idempotency-Key of the queue routes: unique per account and key. The body is compared by its digest.
create table idempotency_keys (
  account_id uuid not null references accounts (id),
  key text not null,
  route text not null,
  body_sha256 bytea not null,
  queue_id uuid not null,
  created_at timestamptz not null default clock_timestamp(),
  -- API key of the order; null: the caller had none.
  key_id uuid,
  primary key (account_id, key)
);
create index idempotency_keys_by_age on idempotency_keys (created_at);

-- Orders that were refused or given up: a late attempt to accept one finds it closed. Written and read under the lock
-- of the account, so that of two attempts one sees the other.
create table closed_orders (
  queue_id uuid primary key,
  closed_at timestamptz not null default clock_timestamp()
);
create index closed_orders_by_age on closed_orders (closed_at);

-- Handovers to a provider in the last minute, for providers with a limit per minute. Written under the provider's lock.
create table provider_starts (
  provider text not null,
  at timestamptz not null,
  account_id uuid not null
);
create index provider_starts_by_time on provider_starts (provider, at);

-- Circuit of a provider, shared by all processes. No row: it never failed.
create table provider_health (
  provider text primary key,
  -- In a row, without an answer in between.
  failures integer not null default 0,
  -- Length of the last pause. Each pause is twice as long as the one before.
  pause_ms integer not null default 0,
  -- Null: closed. In the past: half open, one job probes.
  open_until timestamptz,
  -- The probing job has until then. Should it die, the next one may probe.
  probe_until timestamptz
);

-- Receiver of the events of a job. Written before the job's workflow is asked, so it refers to no job: an order that is
-- refused removes its row. The URL may carry secrets: only its owner's own routes and the delivery read it.
create table job_webhooks (
  queue_id uuid primary key,
  account_id uuid not null references accounts (id),
  url text not null check (length(url) between 1 and 2048),
  events text[] not null check (cardinality(events) between 1 and 6),
  created_at timestamptz not null default clock_timestamp()
);
create index job_webhooks_by_age on job_webhooks (created_at);

-- One row per event of a job. Its id is the `webhook-id`, its body is sent by every attempt, so a receiver that gets it
-- twice sees that it is the same.
create table webhook_deliveries (
  id uuid primary key default gen_random_uuid(),
  queue_id uuid not null references job_webhooks (queue_id) on delete cascade,
  event text not null,
  body text not null,
  state text not null default 'pending' check (state in ('pending', 'delivered', 'failed', 'gone')),
  created_at timestamptz not null default clock_timestamp(),
  next_attempt_at timestamptz,
  unique (queue_id, event)
);

-- `step` names the step of the workflow that made the attempt. A step that is repeated after its attempt was recorded
-- finds it here and does not send again.
create table webhook_attempts (
  delivery_id uuid not null references webhook_deliveries (id) on delete cascade,
  attempt integer not null check (attempt > 0),
  step text not null,
  at timestamptz not null,
  status smallint,
  error text check (error in ('unreachable', 'redirected', 'gone', 'refused')),
  duration_ms integer not null check (duration_ms >= 0),
  primary key (delivery_id, attempt),
  unique (delivery_id, step)
);

-- Secret that signs the events of an account. The previous secret signs too until its time is over.
create table webhook_secrets (
  account_id uuid primary key references accounts (id),
  secret bytea not null check (length(secret) between 24 and 64),
  created_at timestamptz not null default clock_timestamp(),
  previous bytea check (length(previous) between 24 and 64),
  previous_until timestamptz,
  check ((previous is null) = (previous_until is null))
);

--
-- Wallets
--

-- Account of a wallet. Its id is made from the address, so that it is known before there is a row. The row comes with
-- the first top-up or the first key.
create table wallet_accounts (
  account_id uuid primary key references accounts (id),
  family text not null check (family in ('evm', 'solana')),
  -- In its one spelling: evm in lower case with 0x, Solana in base58. A contract has its chain behind its address
  -- ("0x… eip155:8453"): a contract at the same address on another chain may have another owner.
  address text not null check (length(address) between 32 and 100),
  created_at timestamptz not null default clock_timestamp(),
  -- Chain of a contract whose address has none behind it.
  contract_network text,
  unique (family, address)
);

-- Used nonces of sign-ins, each by one request. Kept until nothing that was signed with them is taken any more.
-- Durable, because a forgotten sign-in could be used again.
create table sign_in_nonces (
  -- Made from family, address and nonce: one size whatever clients choose.
  id uuid primary key,
  -- Id of its one use: a statement that is repeated finds its own.
  claim uuid not null,
  remember_until timestamptz not null
);
create index sign_in_nonces_by_age on sign_in_nonces (remember_until);

-- Payments by which wallets top up, one row each, written before anything is handed in. The identity of a payment is
-- what its network lets happen only once; `id` is derived from it. A payment is credited by the same transaction that
-- says so here.
create table top_ups (
  id text collate "C" primary key check (id ~ '^x402-[0-9a-f]{32}$'),
  network text not null,
  asset text not null,
  payer_family text not null check (payer_family in ('evm', 'solana')),
  payer text not null,
  nonce text not null check (length(nonce) between 1 and 200),
  -- Account of the payer's wallet; its row comes with the first credit.
  account_id uuid not null,
  -- Digest of the signed terms: another payment with the same nonce is another payment.
  terms text not null check (terms ~ '^[0-9a-f]{64}$'),
  -- Smallest units of the token, as signed.
  amount bigint not null check (amount > 0),
  decimals smallint not null check (decimals between 0 and 9),
  -- The signed payment, which can be handed in; null when there is nothing left to do with it.
  payment jsonb,
  state text not null default 'recorded' check (
    state in ('recorded', 'settling', 'sent', 'unknown', 'refused', 'credited', 'failed', 'wrong')),
  -- Number of times that it was handed in: again only after a certain refusal.
  settlements smallint not null default 0 check (settlements between 0 and 20),
  -- Its place on the chain, or the place that was told while it is not final.
  transaction text,
  -- Amount read on the chain in smallest units, and credit in nano units.
  credited_units bigint check (credited_units > 0),
  credited_nano bigint check (credited_nano > 0),
  -- Reason of a refused, failed or wrong payment, for the operator.
  reason text,
  request_id text not null,
  created_at timestamptz not null default clock_timestamp(),
  changed_at timestamptz not null default clock_timestamp(),
  -- Time of the first reading of the chain that has no place for the payment any more; null after a reading that has
  -- one.
  gone_at timestamptz,
  -- The most that handing it in may cost, in the smallest units of the network's coin, and the UTC day for which it
  -- counts. Null: nothing was handed in at the service's own expense, or certainly nothing was taken.
  fee_reserved numeric(40) check (fee_reserved >= 0),
  fee_day date,
  unique (network, asset, payer, nonce),
  check ((state = 'credited') = (credited_nano is not null) and (credited_nano is null) = (credited_units is null)),
  check ((payment is null) = (state in ('credited', 'failed', 'wrong'))),
  check ((fee_reserved is null) = (fee_day is null))
);
-- Payments that are not over: few, and read every minute.
create index top_ups_pending on top_ups (changed_at) where state not in ('credited', 'failed', 'wrong');
create index top_ups_by_change on top_ups (changed_at);
-- Open and failed payments of a payer, read before another payment of theirs is taken.
create index top_ups_unpaid on top_ups (payer, changed_at) where state <> 'credited';
-- Fees of a day that bought no credit.
create index top_ups_fees on top_ups (fee_day, network) where fee_day is not null and state <> 'credited';

--
-- Other tables
--

-- Idempotency-Key of the JSON-RPC proxy: its response, for 24 hours. A row without a status is a claim: a node has
-- perhaps been asked already. The account may be a wallet's that has no row yet, so it is no reference.
create table rpc_answers (
  account_id uuid not null,
  key text not null check (length(key) between 1 and 255),
  -- SHA-256 of the network and the body in its one form.
  digest bytea not null check (length(digest) = 32),
  -- Process that has the claim, and until when. It extends the time while it lives.
  owner uuid not null,
  leased_until timestamptz not null,
  -- Number of the request that asks a node. Above 1 an earlier request may have asked already.
  attempt integer not null default 1 check (attempt > 0),
  -- Operation of the charge: the same for every attempt until one is released.
  operation_id text not null check (length(operation_id) between 1 and 200),
  status smallint,
  -- Null beside a status: too large to be kept.
  body bytea,
  body_bytes bigint,
  credits bigint check (credits >= 0),
  request_id text,
  -- Items that came from kept final results.
  cached text,
  created_at timestamptz not null default clock_timestamp(),
  primary key (account_id, key),
  check ((status is null) = (credits is null) and (status is null) = (request_id is null)),
  check (status is not null or body is null)
);
create index rpc_answers_by_age on rpc_answers (created_at);
-- Kept bytes of an account, counted over what is worth counting.
create index rpc_answers_large on rpc_answers (account_id, body_bytes) where body_bytes > 4096 and body is not null;

-- A copy of the characters file, made for searching: the file is the truth, and a process that reads a changed one
-- replaces all rows.
create table characters (
  slug text collate "C" primary key,
  id uuid not null unique,
  name text not null,
  description text,
  author text not null,
  adult boolean not null,
  featured boolean not null,
  pro boolean not null,
  web_enabled boolean not null,
  model_id text not null,
  tags text[] not null,
  categories text[] not null,
  share_url text,
  photo_url text,
  -- Text for the model, never for a client.
  system_prompt text not null,
  imports bigint not null check (imports >= 0),
  rating_count bigint not null check (rating_count >= 0),
  rating_sum bigint not null check (rating_sum >= 0),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- Name, description and tags, a line each.
  search_text text not null,
  search_words tsvector generated always as (to_tsvector('simple', search_text)) stored
);
create index characters_search on characters using gin (search_words);

-- One row: the digest of the file from which the table was filled.
create table characters_source (
  only_row boolean primary key default true check (only_row),
  digest text not null
);

-- A voice that an account had cloned from a sample, by the handle that its requests name it with. The sample is not
-- kept: the row has the service's own name for the voice.
create table cloned_voices (
  id text primary key check (id ~ '^vv_[0-9a-f]{32}$'),
  account_id uuid not null references accounts (id),
  model_id text not null,
  service_voice text not null check (length(service_voice) between 1 and 4096),
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null
);
create index cloned_voices_of_account on cloned_voices (account_id, expires_at);
create index cloned_voices_by_end on cloned_voices (expires_at);

-- Number of voices that an account had cloned on its latest day with any, in UTC: a bound that no restart forgets.
create table voice_cloning_days (
  account_id uuid primary key references accounts (id),
  day date not null,
  cloned integer not null check (cloned > 0)
);

--
-- Partitions
--

-- Tables that grow with use have a partition per month: transfers and audit events by the month of their writing, job
-- events and job changes by the month in which the job was ordered. Unique keys that make a repetition harmless contain
-- the partition key. The functions of ../functions/partitions make the months.
create table partitioned_tables (
  name text primary key,
  -- `time`: by created_at. `job`: by queue_id, a UUID of version 7, whose first 48 bits are Unix milliseconds.
  keyed_by text not null check (keyed_by in ('time', 'job')),
  -- A trigger function that refuses every change of a row; null where rows may be changed.
  guard text
);
insert into partitioned_tables values
  ('audit_events', 'time', 'refuse_audit_change'), ('transfers', 'time', 'refuse_change'),
  ('job_events', 'job', null), ('job_changes', 'job', null);

create table audit_events_other partition of audit_events default;
create table job_events_other partition of job_events default;
create table job_changes_other partition of job_changes default;
do $$
declare
  bound constant timestamptz := date_trunc('month', ledger_now(), 'UTC');
begin
  execute format('create table transfers_earlier partition of transfers for values from (minvalue) to (%L)', bound);
  execute format('create table transfers_later partition of transfers for values from (%L) to (maxvalue)', bound);
end $$;

--
-- Triggers
--

create trigger transfers_append_only before update or delete or truncate on transfers
  for each statement execute function refuse_change();
create trigger transfers_append_only before update or delete or truncate on transfers_earlier
  for each statement execute function refuse_change();
create trigger transfers_append_only before update or delete or truncate on transfers_later
  for each statement execute function refuse_change();
create trigger transfers_describe_refund before insert on transfers for each row
  when (new.kind = 'refund') execute function describe_refund();
create trigger operations_end_once before update of state on operations for each row
  when (old.state <> 'held') execute function refuse_second_end();
create trigger sealed_days_append_only before update or delete or truncate on sealed_days
  for each statement execute function refuse_seal_change();
create trigger sealed_sums_append_only before update or delete or truncate on sealed_sums
  for each statement execute function refuse_seal_change();
create trigger sealed_balances_append_only before update or delete or truncate on sealed_balances
  for each statement execute function refuse_seal_change();
create trigger audit_events_append_only before update or delete or truncate on audit_events
  for each statement execute function refuse_audit_change();
create trigger audit_events_append_only before update or delete or truncate on audit_events_other
  for each statement execute function refuse_audit_change();

create trigger api_keys_limits before update on api_keys for each row
  when ((old.limit_usd, old.limit_diem, old.limit_vcu, old.limit_period)
    is distinct from (new.limit_usd, new.limit_diem, new.limit_vcu, new.limit_period))
  execute function note_limit_change();
create trigger api_keys_parent_made before insert on api_keys for each row
  when (new.parent_id is not null) execute function check_key_parent();
create trigger api_keys_parent_kept before update of parent_id on api_keys for each row
  when (old.parent_id is distinct from new.parent_id) execute function check_key_parent();
-- Every process that keeps keys in memory listens: a change of what a key may do is told to all of them as part of the
-- commit that makes it.
create trigger key_changed
  after update of key_type, model_privacy, models, expires_at, revoked_at, account_id, secret_hash
  on api_keys for each row
  when (
    (old.key_type, old.model_privacy, old.models, old.expires_at, old.revoked_at, old.account_id, old.secret_hash)
    is distinct from
    (new.key_type, new.model_privacy, new.models, new.expires_at, new.revoked_at, new.account_id, new.secret_hash)
  )
  execute function notify_key_change();
create trigger key_removed after delete on api_keys for each row execute function notify_key_change();
create trigger account_changed after update of status on accounts for each row
  when (old.status is distinct from new.status)
  execute function notify_account_change();

create trigger job_inserted after insert on jobs for each row execute function note_job_state();
create trigger job_state_changed after update of state on jobs for each row
  when (old.state is distinct from new.state) execute function note_job_state();
create trigger job_progressed after update of progress on jobs for each row
  when (new.progress is not null and old.progress is distinct from new.progress) execute function note_job_progress();
create trigger job_event_coming before insert on job_events for each row execute function lock_job_of_event();
create trigger job_event_added after insert on job_events for each row execute function note_job_event();

create trigger top_ups_forward before update on top_ups for each row execute function keep_final_top_ups();

--
-- Grants
--

-- The role of the services cannot change history. Partitions have no grants: they are written through their table.
grant usage on schema public to farebox_app;
grant select on entries, usage_entries, sealed_days, sealed_sums, sealed_balances, signing_key, partitioned_tables
  to farebox_app;
grant select, insert on transfers, audit_events, job_changes, key_limit_changes, wallet_accounts, top_ups
  to farebox_app;
grant update (payment, state, settlements, transaction, credited_units, credited_nano, reason, changed_at, gone_at,
  fee_reserved, fee_day) on top_ups to farebox_app;
-- The details of an erased account's jobs are removed by an update of job_events.
grant select, insert, update on accounts, diem_days, api_keys, key_days, operations, job_events to farebox_app;
grant select, insert, update, delete on holds, jobs, idempotency_keys, closed_orders, replaced_secrets, characters,
  characters_source, job_webhooks, webhook_deliveries, webhook_attempts, webhook_secrets, provider_starts,
  provider_health, cloned_voices, voice_cloning_days, sign_in_nonces, rpc_answers, refunded_days to farebox_app;
grant usage, select on sequence transfers_id_seq, audit_events_id_seq to farebox_app;
-- Tables of later migrations. A migration takes rights back where rows must not change.
alter default privileges in schema public grant select, insert, update, delete on tables to farebox_app;
alter default privileges in schema public grant usage, select on sequences to farebox_app;
