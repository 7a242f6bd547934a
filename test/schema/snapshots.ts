/** The path of the committed schema of each database, and the text above it. */
import { readFileSync, writeFileSync } from 'node:fs'

export type Dialect = 'sqlite' | 'postgres'

const fileOf = (dialect: Dialect): URL =>
  new URL(`../../sql/${dialect}/schema.sql`, import.meta.url)

const heading = `-- What the migrations beside this file lead to. Written by \`npm run schema\`;
-- a test fails when the two differ. Nothing reads it but people.

`

export function readSnapshot(dialect: Dialect): string {
  return readFileSync(fileOf(dialect), 'utf8')
}

export const asSnapshot = (dump: string): string => heading + dump

export function writeSnapshot(dialect: Dialect, dump: string): void {
  writeFileSync(fileOf(dialect), asSnapshot(dump))
}
