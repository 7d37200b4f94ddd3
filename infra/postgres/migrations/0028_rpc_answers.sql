-- Up Migration

-- Idempotency-Key of the JSON-RPC proxy: what was answered, for 24 hours. A row without a status is a claim: somebody has
-- perhaps asked a node already. The account may be a wallet's that has no row yet, so it is no reference.
create table rpc_answers (
  account_id uuid not null,
  key text not null check (length(key) between 1 and 255),
  -- SHA-256 of the network and the body in its one form.
  digest bytea not null check (length(digest) = 32),
  -- Whose claim it is now, until when; that process says again and again that it still lives.
  owner uuid not null,
  leased_until timestamptz not null,
  -- The how-manieth request it is that asks a node; above 1 an earlier one may have asked already.
  attempt integer not null default 1 check (attempt > 0),
  -- Of the charge: the same for every attempt until one is released.
  operation_id text not null check (length(operation_id) between 1 and 200),
  status smallint,
  -- Null beside a status: too large to be kept.
  body bytea,
  body_bytes bigint,
  credits bigint check (credits >= 0),
  request_id text,
  -- Which items came from what is kept of final answers.
  cached text,
  created_at timestamptz not null default clock_timestamp(),
  primary key (account_id, key),
  check ((status is null) = (credits is null) and (status is null) = (request_id is null)),
  check (status is not null or body is null)
);
create index rpc_answers_by_age on rpc_answers (created_at);
-- How much of an account's is kept, counted over what is worth counting.
create index rpc_answers_large on rpc_answers (account_id, body_bytes) where body_bytes > 4096 and body is not null;

grant select, insert, update, delete on rpc_answers to farebox_app;

-- Down Migration

drop table rpc_answers;
