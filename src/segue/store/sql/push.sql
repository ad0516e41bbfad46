-- Web Push: the devices of owners, and the sessions with news that their devices were not told of.

-- columns: subscription
id, account, user_id, endpoint, p256dh, auth, vapid_key, site, created_at, visible_until

-- name: add
-- A device belongs to the user who is logged in on it: the newest one.
INSERT INTO push_subscriptions (/*columns subscription*/)
VALUES (:id, :account, :user_id, :endpoint, :p256dh, :auth, :vapid_key, :site, :now, 0)
ON CONFLICT (id) DO UPDATE
SET account = excluded.account, user_id = excluded.user_id, p256dh = excluded.p256dh, auth = excluded.auth,
    vapid_key = excluded.vapid_key, site = excluded.site, created_at = excluded.created_at;

-- name: of_owner
SELECT /*columns subscription*/
FROM push_subscriptions
WHERE account = :account AND user_id = :user_id
ORDER BY created_at DESC, id;

-- name: remove
DELETE FROM push_subscriptions
WHERE id = :id AND account = :account AND user_id = :user_id
RETURNING id;

-- name: show
-- The page is visible on the device until then: it is told nothing that the page shows.
UPDATE push_subscriptions
SET visible_until = :until
WHERE id = :id AND account = :account AND user_id = :user_id;

-- name: skip_old_news
-- Of an owner whose first device subscribes: it is told what is said from now on.
UPDATE activity
SET pushed_news = news
WHERE account = :account AND user_id = :user_id AND pushed_news < news;

-- name: news
-- Sessions with news that was not pushed, of owners with a device that subscribed with this key.
SELECT activity.session_id, activity.account, activity.user_id, activity.news, activity.read_news,
       activity.pushed_news, sessions.key
FROM (
    SELECT DISTINCT account, user_id
    FROM push_subscriptions
    WHERE vapid_key = :vapid_key
) AS owners
JOIN activity ON activity.account = owners.account AND activity.user_id = owners.user_id
     AND activity.active_at > :since AND activity.pushed_news < activity.news
JOIN sessions ON sessions.id = activity.session_id
LIMIT :limit;

-- name: claim
-- Of several servers, one pushes a message.
UPDATE activity
SET pushed_news = :news
WHERE session_id = :session_id AND pushed_news = :pushed_news
RETURNING session_id;

-- name: unread
-- The chats of an owner with unread messages.
SELECT sessions.key, activity.news - activity.read_news AS unread
FROM activity
JOIN sessions ON sessions.id = activity.session_id
WHERE activity.account = :account AND activity.user_id = :user_id AND activity.read_news < activity.news
LIMIT :limit;
