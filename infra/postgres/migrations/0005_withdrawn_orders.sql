-- Up Migration

-- The request that gave this order up has decided to take it back: whoever comes with the key now sees that through first.
alter table idempotency_keys add column withdrawn boolean not null default false;

-- Down Migration

alter table idempotency_keys drop column withdrawn;
