-- The last transaction of each connection. One whose answer was lost looks here whether it is in. SQLite loses none.
/*pg
CREATE TABLE stamps (
    connection BIGINT PRIMARY KEY,
    number BIGINT NOT NULL,
    at TIMESTAMPTZ NOT NULL DEFAULT now()
) WITH (fillfactor = 50);
*/
