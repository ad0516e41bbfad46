-- News: how many messages were said to the owner of a session, how many of them the owner has read, and how many the
-- devices of the owner were told of (decision 0057). Messages from before this migration count as read.
ALTER TABLE activity ADD COLUMN news BIGINT NOT NULL DEFAULT 0;
ALTER TABLE activity ADD COLUMN read_news BIGINT NOT NULL DEFAULT 0;
ALTER TABLE activity ADD COLUMN pushed_news BIGINT NOT NULL DEFAULT 0;

-- Devices that are told of news by Web Push. The id is a hash of the endpoint, which is a secret.
CREATE TABLE push_subscriptions (
    id TEXT PRIMARY KEY,
    account TEXT NOT NULL,
    user_id TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    p256dh TEXT NOT NULL,
    auth TEXT NOT NULL,
    vapid_key TEXT NOT NULL,
    site TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    visible_until BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX push_subscriptions_of_owner ON push_subscriptions (account, user_id, created_at);
