-- Up Migration

-- How many requests came with the key: one that gave up takes its order back only if it was the last to ask for it.
alter table idempotency_keys add column claims integer not null default 1;

-- Down Migration

alter table idempotency_keys drop column claims;
