/** Tables and views in our schema of PostgreSQL although Holdfast has not made its tables there. */
import { SetupError } from '../../errors.ts'

/** Their names. What belongs to an extension does not count. */
export const selectForeign = `SELECT c.relname AS name FROM pg_class c
  WHERE c.relnamespace = to_regnamespace('holdfast') AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
    AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass
      AND d.objid = c.oid AND d.deptype = 'e')
    AND NOT EXISTS (SELECT FROM pg_class m JOIN pg_attribute a ON a.attrelid = m.oid
      WHERE m.oid = to_regclass('holdfast.migration') AND m.relkind = 'r'
        AND a.attname = 'version')
  ORDER BY 1`

/** Before anything of ours is added to them. */
export function refuseForeign(names: readonly string[]): void {
  const [name] = names
  if (name === undefined) return
  throw new SetupError(
    'store_foreign',
    `the schema "holdfast" of this database has a table "${name}" that Holdfast did not create`,
    { hint: 'Use another database, for example a new one: createdb NAME.' },
  )
}
