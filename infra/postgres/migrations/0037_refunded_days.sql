-- Up Migration

-- What an account was refunded on a UTC day although a provider had been asked and could not be stopped, in nano USD by list
-- price, whatever it was paid with. Written under the account's lock, in the transaction of the refund.
create table refunded_days (
  account_id uuid not null,
  day date not null,
  usd bigint not null check (usd >= 0),
  primary key (account_id, day)
);
grant select, insert, update on refunded_days to farebox_app;

-- Down Migration

drop table refunded_days;
