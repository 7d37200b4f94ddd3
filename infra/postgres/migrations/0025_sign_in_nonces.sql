-- Up Migration

-- Nonces of sign-ins that were used, each by one request. Kept until nothing that was signed with them is taken any more;
-- durable, because a sign-in that was forgotten could be used again.
create table sign_in_nonces (
  -- Made from family, address and nonce: one size whatever clients choose.
  id uuid primary key,
  -- Of the one use of it: a statement that is repeated finds its own.
  claim uuid not null,
  remember_until timestamptz not null
);
create index sign_in_nonces_by_age on sign_in_nonces (remember_until);
grant select, insert, update, delete on sign_in_nonces to farebox_app;

-- Down Migration

drop table sign_in_nonces;
