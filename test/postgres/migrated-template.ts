/**
 * A database with our schema, created once per run, which test files clone. It contains a function
 * that empties it: `test_reset.empty()` restores its first state in a few milliseconds. A new
 * database would need copied files, and the removal of an old one a checkpoint.
 *
 * What must hold: nothing is connected to it, or it could not be cloned.
 */
import { githubDeclarations } from '../../src/channels/github-channels.ts'
import pg from 'pg'
import { systemMachine } from '../../src/open-store.ts'
import { openPostgres } from '../../src/stores/open-postgres.ts'
import { createDatabase } from './create-database.ts'

/** Rows that the migrations themselves wrote are kept in `test_reset` under their table's name. */
const ownWayBack = `
CREATE SCHEMA test_reset;

CREATE VIEW test_reset.tables AS
  SELECT tablename FROM pg_tables WHERE schemaname = 'holdfast' AND tablename <> 'migration';

DO $$
DECLARE name text; filled boolean;
BEGIN
  FOR name IN SELECT tablename FROM test_reset.tables LOOP
    EXECUTE format('SELECT EXISTS (SELECT FROM holdfast.%I)', name) INTO filled;
    IF filled THEN
      EXECUTE format('CREATE TABLE test_reset.%I AS TABLE holdfast.%I', name, name);
    END IF;
  END LOOP;
END $$;

CREATE FUNCTION test_reset.empty() RETURNS void LANGUAGE plpgsql AS $$
DECLARE name text;
BEGIN
  -- Whoever still writes has ended before anything is removed.
  PERFORM pg_terminate_backend(pid, 10000) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid();
  -- Without foreign keys' triggers, tables can go in any order.
  PERFORM set_config('session_replication_role', 'replica', true);
  FOR name IN SELECT tablename FROM test_reset.tables LOOP
    EXECUTE format('DELETE FROM holdfast.%I', name);
    IF to_regclass(format('test_reset.%I', name)) IS NOT NULL THEN
      EXECUTE format(
        'INSERT INTO holdfast.%I OVERRIDING SYSTEM VALUE SELECT * FROM test_reset.%I', name, name);
    END IF;
  END LOOP;
  PERFORM setval(format('holdfast.%I', sequencename)::regclass, start_value, false)
    FROM pg_sequences WHERE schemaname = 'holdfast';
END $$;`

/** Returns its name. */
export async function makeMigratedTemplate(clusterUrl: string): Promise<string> {
  const { name, url } = await createDatabase(clusterUrl)
  const store = await openPostgres(url, { ...systemMachine, channels: githubDeclarations })
  await store.close()
  await execute(url, ownWayBack)
  return name
}

/** Closes all connections, and restores the state in which the database was cloned. */
export function emptyMigrated(url: string): Promise<void> {
  return execute(url, 'SELECT test_reset.empty()')
}

async function execute(url: string, statements: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statements)
  } finally {
    await client.end()
  }
}
