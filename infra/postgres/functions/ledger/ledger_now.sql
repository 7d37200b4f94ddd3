-- The one clock of the ledger. It is a function of its own so that a test database can stand at the edge of a day.
create or replace function ledger_now() returns timestamptz language sql volatile as 'select clock_timestamp()';
