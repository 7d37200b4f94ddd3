-- Up Migration

-- Not every job has a length: speech is charged by its characters.
alter table jobs alter column duration_seconds drop not null;

-- How far the provider says it is, in percent; null when it says nothing.
alter table jobs add column progress smallint check (progress between 0 and 100);

-- What the provider proposed instead of the prompt that it refused (specification 7).
alter table jobs add column suggested_prompt text;

-- Down Migration

alter table jobs drop column suggested_prompt;
alter table jobs drop column progress;
alter table jobs alter column duration_seconds set not null;
