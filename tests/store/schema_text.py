"""The schema of a database as text, to compare the schemas of two databases."""

import re
from collections.abc import Iterator

from segue.store.database import Database
from segue.store.queries import translate

_FACTS = translate(
    "schema.facts",
    """
-- Every column, index, key and view as a line of text. A dump of the tables would depend on the order in
-- which they were created.
/*lite
SELECT 'column ' || owner.name || '.' || part.name || ' ' || LOWER(part.type)
       || CASE WHEN part."notnull" THEN ' not null' ELSE '' END
       || COALESCE(' default ' || part.dflt_value, '')
       || CASE WHEN part.pk THEN ' key ' || part.pk ELSE '' END AS fact
FROM sqlite_master AS owner
JOIN pragma_table_info(owner.name) AS part
WHERE owner.type = 'table' AND owner.name NOT LIKE 'sqlite_%'
UNION ALL
SELECT 'unique ' || owner.name || ' ' || (SELECT GROUP_CONCAT(name, ', ') FROM pragma_index_info(part.name))
FROM sqlite_master AS owner
JOIN pragma_index_list(owner.name) AS part
WHERE owner.type = 'table' AND part.origin = 'u'
UNION ALL
SELECT 'foreign key ' || owner.name || '.' || part."from" || ' to ' || part."table" || ' '
       || COALESCE(part."to", '')
       || ' on delete ' || part.on_delete || ' on update ' || part.on_update
FROM sqlite_master AS owner
JOIN pragma_foreign_key_list(owner.name) AS part
WHERE owner.type = 'table'
UNION ALL
SELECT type || ' ' || name || ' ' || sql
FROM sqlite_master
WHERE type <> 'table' AND sql IS NOT NULL
*//*pg
SELECT 'column ' || table_name || '.' || column_name || ' ' || data_type
       || CASE WHEN is_nullable = 'NO' THEN ' not null' ELSE '' END
       || COALESCE(' default ' || column_default, '') AS fact
FROM information_schema.columns
JOIN information_schema.tables USING (table_schema, table_name)
WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'
UNION ALL
SELECT 'index ' || indexname || ' ' || indexdef
FROM pg_indexes
WHERE schemaname = current_schema()
UNION ALL
SELECT 'constraint ' || pg_class.relname || ' ' || pg_get_constraintdef(pg_constraint.oid)
FROM pg_constraint
JOIN pg_class ON pg_class.oid = pg_constraint.conrelid
WHERE pg_constraint.connamespace = to_regnamespace(current_schema())
UNION ALL
SELECT 'view ' || viewname || ' ' || definition
FROM pg_views
WHERE schemaname = current_schema()
*/;
""",
)
_TABLE_TEXTS = translate(
    "schema.table_texts",
    """
-- SQLite stores checks only in the text of their table.
/*lite SELECT name, sql FROM sqlite_master WHERE type = 'table' AND sql IS NOT NULL *//*pg
SELECT '' AS name, '' AS sql WHERE FALSE */;
""",
)


async def schema_of(database: Database) -> str:
    """The schema as sorted lines, independent of the order in which it was created."""
    facts = [row["fact"] for row in await database.read(_FACTS, {})]
    for row in await database.read(_TABLE_TEXTS, {}):
        facts += [f"check {row['name']} {check}" for check in _checks(row["sql"])]
    return "\n".join(sorted(" ".join(fact.split()) for fact in facts))


def _checks(table: str) -> Iterator[str]:
    """Each `CHECK (…)` in the text of a table, up to its closing parenthesis."""
    for start in re.finditer(r"\bCHECK\s*(?=\()", table, re.IGNORECASE):
        depth = 0
        for index in range(start.end(), len(table)):
            depth += {"(": 1, ")": -1}.get(table[index], 0)
            if depth == 0:
                yield table[start.end() : index + 1]
                break
