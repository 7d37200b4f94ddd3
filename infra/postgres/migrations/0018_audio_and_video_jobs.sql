-- Up Migration

-- Not every job has a length: speech is charged by its characters.
alter table jobs alter column duration_seconds drop not null;

-- How far the provider says it is, in percent; null when it says nothing.
alter table jobs add column progress smallint check (progress between 0 and 100);

-- Prompt that the provider proposed instead of the one that it refused (JOB-7).
alter table jobs add column suggested_prompt text;

-- Down Migration

alter table jobs drop column suggested_prompt;
alter table jobs drop column progress;
alter table jobs alter column duration_seconds set not null;
