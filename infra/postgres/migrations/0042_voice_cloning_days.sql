-- Up Migration

-- How many voices an account had cloned on its latest day with any, in UTC: a bound that no restart forgets.
create table voice_cloning_days (
  account_id uuid primary key references accounts (id),
  day date not null,
  cloned integer not null check (cloned > 0)
);
grant select, insert, update, delete on voice_cloning_days to farebox_app;

-- Down Migration

drop table voice_cloning_days;
