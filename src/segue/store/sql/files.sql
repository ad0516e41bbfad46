-- Files: what users send with a message. The content is read only by `content`.

-- columns: file
id, session_id, name, media_type, size, created_at

-- name: put_content
-- Before the session is locked: a large file takes time to arrive at the database.
INSERT INTO file_contents (file_id, content)
VALUES (:id, :content);

-- name: total
-- Bytes of all files of a locked session.
SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) AS bytes
FROM files
WHERE session_id = :session_id;

-- name: add
INSERT INTO files (/*columns file*/)
VALUES (:id, :session_id, :name, :media_type, :size, :now);

-- name: by_id
SELECT /*columns file*/
FROM files
WHERE id = :id;

-- name: content
SELECT content
FROM file_contents
WHERE file_id = :id;
