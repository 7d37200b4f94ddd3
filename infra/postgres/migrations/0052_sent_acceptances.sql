-- Up Migration

-- A response told the client, by this row alone, that the job stands: its workflow may not withdraw it any more.
alter table jobs add column acceptance_sent boolean not null default false;

-- Down Migration

alter table jobs drop column acceptance_sent;
