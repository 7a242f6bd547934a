/**
 * Creates one database per call in a running cluster, so that tests cannot see each other. It does
 * not depend on the test runner, because benchmarks and child processes use it too.
 */
import { randomBytes } from 'node:crypto'
import pg from 'pg'

export interface DatabaseOptions {
  /** A database to clone. Nothing may be connected to it meanwhile. */
  readonly template?: string | undefined
}

export interface TestDatabase {
  readonly name: string
  readonly url: string
  /** Removes the database, even if connections are still open. */
  drop(): Promise<void>
}

export async function createDatabase(
  clusterUrl: string,
  options: DatabaseOptions = {},
): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`
  const template = options.template ?? 'template1'
  await execute(clusterUrl, `CREATE DATABASE ${name} TEMPLATE ${pg.escapeIdentifier(template)}`)
  const url = new URL(clusterUrl)
  url.pathname = `/${name}`
  return {
    name,
    url: url.href,
    drop: () => execute(clusterUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  }
}

async function execute(clusterUrl: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: clusterUrl })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
