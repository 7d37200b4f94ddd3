-- Up Migration

-- The outcome of an order is decided in closed_orders since 0014. Processes of the release before this one still write both
-- columns while they are replaced, so they cannot be dropped here.
comment on column idempotency_keys.claims is 'Unused; to be dropped in the next release.';
comment on column idempotency_keys.withdrawn is 'Unused; to be dropped in the next release.';

-- Down Migration

comment on column idempotency_keys.claims is null;
comment on column idempotency_keys.withdrawn is null;
