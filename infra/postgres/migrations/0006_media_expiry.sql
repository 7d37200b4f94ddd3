-- Up Migration

-- When stored media has outlived its retention: for the upkeep, should the job's workflow be gone by then.
alter table jobs add column media_expires_at timestamptz;
create index jobs_media_expiry on jobs (media_expires_at) where state = 'stored';

-- Down Migration

drop index jobs_media_expiry;
alter table jobs drop column media_expires_at;
